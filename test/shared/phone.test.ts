import * as fc from "fast-check";
import { getCountries, getExampleNumber } from "libphonenumber-js/max";
import examples from "libphonenumber-js/mobile/examples";
import { countryOf, numberIssue, toE164 } from "../../shared/phone.ts";

const TAKEN: [string, string][] = [
  ["+14155550100", "+14155550100"],
  ["+1 (415) 555-0100", "+14155550100"],
  ["+1.415.555.0100", "+14155550100"],
  ["+15550000001", "+15550000001"],
  ["+44 (0)20 7946 0958", "+442079460958"],
  ["+447700900123", "+447700900123"],
  ["+39 06 1234 5678", "+390612345678"],
  ["+91 98765 43210", "+919876543210"],
  ["+4930123456", "+4930123456"],
  ["+ 49 151 12345678", "+4915112345678"],
  ["+33.6.12.34.56.00", "+33612345600"],
  ["+1.415.555.0000", "+14155550000"],
];

/** What spreadsheets, address books and web pages put around a number, and the number that it came from. */
const UNWRAPPED: [what: string, text: string, e164: string][] = [
  ["one decimal", "+919876543210.0", "+919876543210"],
  ["two decimals", "+4915112345678.00", "+4915112345678"],
  ["decimals behind a comma", "+4915112345678,00", "+4915112345678"],
  ["a decimal behind groups", "+33 6 12 34 56 78.0", "+33612345678"],
  ["thousands", "+4.915.112.345.678", "+4915112345678"],
  ["quotes", '"+14155550100"', "+14155550100"],
  ["typographic quotes", "\u201c+14155550100\u201d", "+14155550100"],
  ["single quotes", "'+14155550100'", "+14155550100"],
  ["the apostrophe of a text cell", "'+14155550100", "+14155550100"],
  ["a formula of one text", '="+14155550100"', "+14155550100"],
  ["a formula with a decimal", '="+14155550100.0"', "+14155550100"],
  ["blanks around", "  +14155550100 ", "+14155550100"],
  ["a line end", "+14155550100\r\n", "+14155550100"],
  ["a tab before", "\t+14155550100", "+14155550100"],
  ["no-break spaces", "\u00a0+1\u00a0415\u202f555\u20090100", "+14155550100"],
  ["a zero-width space", "+1415\u200b5550100", "+14155550100"],
  ["a soft hyphen", "+1415\u00ad5550100", "+14155550100"],
  ["a byte order mark", "\ufeff+14155550100", "+14155550100"],
  ["marks of direction", "\u202a+1\u200e4155550100\u202c", "+14155550100"],
  ["isolates", "\u2066+14155550100\u2069", "+14155550100"],
  ["dashes", "+1\u2011415\u2013555\u22120100", "+14155550100"],
  ["tel:", "tel:+1-415-555-0100", "+14155550100"],
  ["TEL:", "TEL: +14155550100", "+14155550100"],
  ["Mexico's former mobile digit", "+52 1 55 1234 5678", "+525512345678"],
  ["Mexico's former prefixes", "+52 044 55 1234 5678", "+525512345678"],
  ["Argentina's mobile prefix at home", "+54 11 15 1234-5678", "+5491112345678"],
];

/** Each with a part of the reason. */
const REFUSED: [what: string, text: string, reason: string][] = [
  ["empty", "", "is not a phone number"],
  ["blanks", " \u00a0", "is not a phone number"],
  ["a word", "not-a-number", "holds n"],
  ["no plus", "14155550100", "no plus and country code"],
  ["no plus, with a decimal", "4915112345678.0", "no plus and country code"],
  ["only a plus", "+", "is not a phone number"],
  ["plus zero", "+04155550100", "is not a phone number"],
  ["double plus", "++14155550100", "a plus behind other characters"],
  ["00 instead of a plus", "0014155550100", "begins with 00"],
  ["sixteen digits", "+1415555010012345", "is not a phone number"],
  ["too short for its country", "+1415555010", "is not a phone number"],
  ["too long for its country", "+141555501001", "is not a phone number"],
  ["no such calling code", "+99999999999", "is not a phone number"],
  ["an area code that can't be", "+10000000000", "is not a phone number"],
  ["an emergency number", "+911", "is not a phone number"],
  ["scientific notation", "4.91511E+11", "scientific notation"],
  ["scientific notation behind a plus", "+4,91511e+12", "scientific notation"],
  ["scientific notation with every digit", "4.915112345678E+12", "scientific notation"],
  ["a decimal that is none of a number", "+919876543210.5", "may be a spreadsheet's decimals"],
  ["two decimals that are none of a number", "+4915112345678.50", "may be a spreadsheet's decimals"],
  ["zeros that may be a group or decimals", "+49 151 123456.00", "may be a spreadsheet's decimals"],
  ["one of a number that is too short with its decimal", "+1 415 555 010.0", "is not a phone number"],
  ["commas between thousands", "+4,915,112,345,678", "may be a spreadsheet's decimals"],
  ["Arabic-Indic digits", "+\u0661\u0664\u0661\u0665\u0665\u0665\u0665\u0660\u0661\u0660\u0660", "holds U+0661"],
  ["one Arabic-Indic digit", "+1415555010\u0660", "holds U+0660"],
  ["full-width digits", "\uff0b\uff11\uff14\uff11\uff15\uff15\uff15\uff15\uff10\uff11\uff10\uff10", "holds U+FF0B"],
  ["full-width plus", "\uff0b14155550100", "holds U+FF0B"],
  ["an override that turns digits round", "\u202e+14155550100", "holds U+202E"],
  ["tab inside", "+1415\t5550100", "holds U+0009"],
  ["two cells", "+14155550100\n+14155550101", "holds U+000A"],
  ["NUL", "+14155550100\0", "holds U+0000"],
  ["ext", "+14155550100;ext=5", "holds ;"],
  ["tel: with ext", "tel:+14155550100;ext=5", "holds ;"],
  ["x5", "+14155550100x5", "holds x"],
  ["comma pause", "+14155550100,,5", "may be a spreadsheet's decimals"],
  ["letters", "+1415FLOWERS", "holds F"],
  ["two numbers", "+14155550100 +14155550101", "a plus behind other characters"],
  ["two numbers with a slash", "+4930123456/7", "holds /"],
  ["a plus behind the number", "14155550100+", "a plus behind other characters"],
  ["sip", "sip:14155550100@example.com", "holds s"],
];

describe("toE164", () => {
  test.each(TAKEN)("%s is %s", (text, e164) => {
    expect(toE164(text)).toBe(e164);
  });

  test.each(UNWRAPPED)("takes %s off the number", (_what, text, e164) => {
    expect([toE164(text), numberIssue(text)]).toEqual([e164, null]);
  });

  test.each(REFUSED)("refuses %s, with the reason", (_what, text, reason) => {
    expect([toE164(text), numberIssue(text)]).toEqual([null, expect.stringContaining(reason)]);
  });

  test("a spreadsheet's decimals never become digits, in any country", () => {
    for (const country of getCountries()) {
      const e164 = getExampleNumber(country, examples)?.number ?? "";
      const read = toE164(e164);
      for (const decimals of [".0", ".00", ",0", ",00"])
        expect([country, toE164(`${e164}${decimals}`)]).toEqual([country, read]);
    }
  });

  test("what it gives it takes again, unchanged", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\+[1-9][0-9]{6,14}$/), (text) => {
        const once = toE164(text);
        if (once !== null) expect(toE164(once)).toBe(once);
      }),
      { numRuns: 2000 },
    );
  });

  test("separators never change the number", () => {
    const digits = [..."14155550123"];
    const gap = fc.constantFrom("", " ", "-", ".");
    // a dot before the last digits may begin decimals
    const gaps = fc
      .tuple(fc.array(gap, { minLength: 8, maxLength: 8 }), fc.constantFrom("", " ", "-"))
      .map(([all, last]) => [...all, last, last]);
    fc.assert(
      fc.property(gaps, (gaps) => {
        const text = `+${digits.map((d, i) => `${d}${gaps[i] ?? ""}`).join("")}`;
        expect(toE164(text)).toBe("+14155550123");
      }),
    );
  });

  test("any text is answered, and an answer is always plain E.164", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: fc.constantFrom(..."+0159 ()-.x;") })),
        (text) => {
          const e164 = toE164(text);
          if (e164 !== null) expect(e164).toMatch(/^\+[1-9][0-9]{6,14}$/);
        },
      ),
      { numRuns: 3000 },
    );
  });

  test("a hostile megabyte costs no time", () => {
    const started = performance.now();
    for (const text of [`+1${" ".repeat(1e6)}`, `+${"1".repeat(1e6)}`, `+1${"(".repeat(1e6)}5`, "+1-".repeat(3e5)])
      expect(toE164(text)).toBeNull();
    expect(performance.now() - started).toBeLessThan(100);
  });
});

describe("countryOf", () => {
  test.each([
    ["+14155550100", "US"],
    ["+16135550123", "CA"],
    ["+442079460958", "GB"],
    ["+390612345678", "IT"],
    ["+77012345678", "KZ"],
    ["+15550000001", "US"],
    ["+80012345678", null],
    ["not a number", null],
    ["", null],
  ])("%s is in %s, asked a second time too", (e164, country) => {
    expect([countryOf(e164), countryOf(e164)]).toEqual([country, country]);
  });
  test("more numbers than are remembered change nothing", () => {
    for (let n = 0; n < 25_000; n++) countryOf(`+1415${5_000_000 + n}`);
    expect([countryOf("+14155000000"), countryOf("+442079460001"), countryOf("no number")]).toEqual(["US", "GB", null]);
  });
});
