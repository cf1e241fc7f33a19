import * as fc from "fast-check";
import { arrayCutter, lineCutter, type RawRow, type RowCutter } from "../../../services/gateway/bulk/row-cutter.ts";

const MAX_BYTES = 1000;
const said = (row: RawRow): string => ("bytes" in row ? row.bytes.toString() : row.code);

/** Cuts a text that arrives in pieces of these sizes (repeated). */
function cut(cutter: RowCutter, text: string, sizes: readonly number[] = [text.length + 1]): string[] {
  const bytes = Buffer.from(text);
  const rows: RawRow[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    rows.push(...cutter.take(bytes.subarray(at, at + size)));
    at += size;
  }
  return [...rows, ...cutter.end()].map(said);
}
const pieces = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

describe("lines", () => {
  test("blank lines are passed over without a row each, in pieces of any size", () => {
    const blank = Buffer.from("\n".repeat(500) + " \r\n".repeat(500));
    const cutter = lineCutter(MAX_BYTES);
    const cutAt = (at: number) => [...cutter.take(blank.subarray(0, at)), ...cutter.take(blank.subarray(at))];
    expect([0, 1, 499, 501, 502, 1999].flatMap(cutAt)).toEqual([]);
    expect([...cutter.take(Buffer.from("  1\n")), ...cutter.end()].map(said)).toEqual(["  1"]);
  });
  test.each([
    ["", []],
    ["\n \r\n\t\n", []],
    ["1\n2\n", ["1", "2"]],
    ["1\n2", ["1", "2"]],
    ["1\r\n\n2", ["1\r", "2"]],
    ["{broken\n1", ["{broken", "1"]],
    [`"${"x".repeat(MAX_BYTES)}"\n1`, ["BODY_TOO_LARGE", "1"]],
    [`1\n${"x".repeat(MAX_BYTES + 1)}`, ["1", "BODY_TOO_LARGE"]],
  ])("%j", (text, rows) => {
    expect(cut(lineCutter(MAX_BYTES), text)).toEqual(rows);
  });
  test("whatever the values and wherever the body is cut, they come out as they were", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), pieces, (values, sizes) => {
        const text = values.map((v) => JSON.stringify(v)).join("\n");
        expect(cut(lineCutter(1_000_000), text, sizes)).toEqual(values.map((v) => JSON.stringify(v)));
      }),
    );
  });
});

describe("an array", () => {
  test.each([
    ["[]", []],
    [" \n[ ] \n", []],
    ["[1,2]", ["1", "2"]],
    ['[ {"a":[1,{"b":"],}"}]} , "x\\"],[" ]', [' {"a":[1,{"b":"],}"}]} ', ' "x\\"],[" ']],
    ["[1,nope,3]", ["1", "nope", "3"]],
    ["[1,]", ["1", ""]],
    ["[1,,2]", ["1", "", "2"]],
    ["[1", ["MALFORMED_JSON"]],
    ["[", ["MALFORMED_JSON"]],
    ['["x', ["MALFORMED_JSON"]],
    ["[1,2", ["1", "MALFORMED_JSON"]],
    ["[1] x [2]", ["1", "MALFORMED_JSON"]],
    ["[1}, 2]", ["MALFORMED_JSON"]],
    ['[{"a":1}},2]', ["MALFORMED_JSON"]],
    [`[${"x".repeat(MAX_BYTES + 1)},1]`, ["BODY_TOO_LARGE", "1"]],
  ])("%j", (text, rows) => {
    for (const sizes of [[1], [3], [10_000]]) expect(cut(arrayCutter(MAX_BYTES), text, sizes)).toEqual(rows);
  });
  test.each(["", "  ", "{}", '{"a":[1]}', "1", "x[1]", "\ufefe[1]", "\ufeff\ufeff[1]"])("%j is none", (text) => {
    expect(() => cut(arrayCutter(MAX_BYTES), text)).toThrow("no JSON array");
  });
  test("whatever the values and wherever the body is cut, they come out as they were", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), pieces, fc.constantFrom(undefined, 1, "\t"), (values, sizes, indent) => {
        expect(
          cut(arrayCutter(1_000_000), JSON.stringify(values, null, indent), sizes).map(
            (row) => JSON.parse(row) as unknown,
          ),
        ).toEqual(JSON.parse(JSON.stringify(values)));
      }),
    );
  });
  test("no bytes, however odd, make more than they are or break the reader", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("[", "]", "{", "}", ",", '"', "\\", " ", "1", "é"), maxLength: 60 }),
        pieces,
        (text, sizes) => {
          const [whole, split] = [
            () => cut(arrayCutter(50), `[${text}`),
            () => cut(arrayCutter(50), `[${text}`, sizes),
          ];
          expect(split()).toEqual(whole());
          expect(whole().length).toBeLessThanOrEqual(text.length + 2);
        },
      ),
    );
  });
});
