import { decodedText } from "../../../shared/text/encoded-text.ts";

const utf16 = (text: string, mark = true): Buffer => Buffer.from(`${mark ? "\ufeff" : ""}${text}`, "utf16le");
const swapped = (bytes: Buffer): Buffer => Buffer.from(bytes).swap16();

test.each<[what: string, bytes: Buffer, type: string | undefined, text: string]>([
  ["UTF-8 of no Content-Type", Buffer.from("José"), undefined, "José"],
  ["UTF-8 with its mark", Buffer.from("\ufeffJosé"), "application/json", "José"],
  ["UTF-8 that is called ASCII", Buffer.from("José"), "text/plain; charset=us-ascii", "José"],
  ["latin1 that says so", Buffer.from("José", "latin1"), "application/json; charset=ISO-8859-1", "José"],
  ["Windows' own", Buffer.from([0x80, 0x31]), 'text/plain;charset="windows-1252"', "€1"],
  ["UTF-16 by its mark", utf16("José"), undefined, "José"],
  ["UTF-16 big-endian by its mark", swapped(utf16("José")), "application/json", "José"],
  ["UTF-16 that says so", utf16("José", false), "application/json; charset=utf-16le", "José"],
  ["a mark, whatever the Content-Type says", Buffer.from("\ufeffJosé"), "application/json; charset=latin1", "José"],
  [
    "a charset beside other parameters",
    Buffer.from("José", "latin1"),
    "application/json; odata=verbose; charset=latin1",
    "José",
  ],
  ["Japanese", Buffer.from([0x83, 0x65]), "text/html; charset=Shift_JIS", "テ"],
])("%s is read", (_what, bytes, type, text) => {
  expect(decodedText(bytes, type)).toEqual({ text, fault: null });
});

test.each<[what: string, bytes: Buffer, type: string | undefined, reason: string]>([
  [
    "latin1 that does not say so",
    Buffer.from("José", "latin1"),
    "application/json",
    "not in the charset utf-8, and nothing says in which it is",
  ],
  [
    "latin1 that is called UTF-8",
    Buffer.from("José", "latin1"),
    "application/json; charset=utf-8",
    "not in the charset utf-8",
  ],
  [
    "a charset that nobody knows",
    Buffer.from("x"),
    "text/plain; charset=klingon",
    "in the charset klingon, which is not known",
  ],
])("%s is a fault, not replaced characters", (_what, bytes, type, reason) => {
  expect(decodedText(bytes, type)).toEqual({ text: "", fault: expect.stringContaining(reason) });
});

test("of a beginning the last character may be half", () => {
  const bytes = Buffer.from("Jos\u00e9").subarray(0, 4);
  expect(decodedText(bytes, undefined, true)).toEqual({ text: "Jos", fault: null });
  expect(decodedText(bytes).fault).not.toBeNull();
});
