import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRows } from "../../../local/tools/demo/leads-csv.ts";

/** Files as spreadsheets save them: read as they were meant, or refused by what is wrong with them. */
const folder = mkdtempSync(join(tmpdir(), "leads-csv-"));
afterAll(() => rmSync(folder, { recursive: true }));
function read(bytes: string | Buffer) {
  const file = join(folder, "leads.csv");
  writeFileSync(file, bytes);
  return readRows(file);
}

const HEADER = "request_id,customer_mobile_number,customer_name,expected";
const ROW = "r1,+14155552601,Ada,confirmed";
const comma = `${HEADER}\n${ROW}\n`;
const payload = { customer_mobile_number: "+14155552601", customer_name: "Ada" };

test.each<[what: string, bytes: string | Buffer]>([
  ["commas", comma],
  ["semicolons", comma.replaceAll(",", ";")],
  ["tabs", comma.replaceAll(",", "\t")],
  ["a line that names the delimiter", `sep=;\r\n${comma.replaceAll(",", ";")}`],
  ["a quoted line that names it", `"sep=|"\n${comma.replaceAll(",", "|")}`],
  ["a byte order mark", `\ufeff${comma}`],
  ["a byte order mark and a line that names the delimiter", `\ufeffsep=;\n${comma.replaceAll(",", ";")}`],
  ["UTF-16", Buffer.from(`\ufeff${comma}`, "utf16le")],
  ["UTF-16 with tabs", Buffer.from(`\ufeff${comma.replaceAll(",", "\t")}`, "utf16le")],
  ["CRLF", comma.replaceAll("\n", "\r\n")],
  ["CR alone", comma.replaceAll("\n", "\r")],
  ["blanks around names", comma.replaceAll(",", " , ")],
  ["empty lines at its end", `${comma}\n\n`],
  ["empty columns at its right", `${HEADER},,\n${ROW},,\n`],
  ["empty values behind its last column", `${HEADER}\n${ROW},,\n`],
])("a file with %s is read", (_what, bytes) => {
  expect(read(bytes)).toEqual([{ line: 2, request_id: "r1", expected: "confirmed", payload }]);
});

test("quotes hold delimiters, line ends and quotes; a formula of one text stays as it is, for the API reads it", () => {
  const [row] = read(`${HEADER}\nr1,="+14155552601","Ada, ""the first""\nof her name",confirmed\n`);
  expect(row?.payload).toEqual({
    customer_mobile_number: '="+14155552601"',
    customer_name: 'Ada, "the first"\nof her name',
  });
});

test.each<[what: string, bytes: string | Buffer, message: string]>([
  ["latin1", Buffer.from(comma.replace("Ada", "José"), "latin1"), "not in the charset utf-8"],
  ["a repeated column", `${HEADER},customer_name\n${ROW},Bob\n`, "customer_name stands twice"],
  [
    "a column that differs in its case",
    comma.replace("request_id", "Request_ID"),
    "request_id missing (written Request_ID)",
  ],
  ["a column that is no variable", `${HEADER},__proto__\n${ROW},x\n`, '"__proto__" is no name of a variable'],
  ["a column without a name and with values", `${HEADER},,city\n${ROW},x,Rome\n`, '"" is no name of a variable'],
  ["a short row", `${HEADER}\nr1,+14155552601\n`, "line 2: 2 values, the header names 4"],
  ["a long row", `${HEADER}\n${ROW},x\n`, "line 2: 5 values, the header names 4"],
  ["nothing in it", "", "is empty"],
  ["a header alone", `${HEADER}\n`, "no rows below its header"],
  ["a quote that is not closed", `${HEADER}\nr1,"+14155552601,Ada,confirmed\n`, "is no CSV file"],
])("a file with %s is refused by that", (_what, bytes, message) => {
  expect(() => read(bytes)).toThrow(message);
});
