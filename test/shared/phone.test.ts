import * as fc from "fast-check";
import { countryOf, toE164 } from "../../shared/phone.ts";

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
];

const REFUSED: [string, string][] = [
  ["empty", ""],
  ["a word", "not-a-number"],
  ["no plus", "14155550100"],
  ["only a plus", "+"],
  ["plus zero", "+04155550100"],
  ["double plus", "++14155550100"],
  ["00 instead of a plus", "0014155550100"],
  ["sixteen digits", "+1415555010012345"],
  ["too short for its country", "+1415555010"],
  ["too long for its country", "+141555501001"],
  ["no such calling code", "+99999999999"],
  ["an area code that can't be", "+10000000000"],
  ["an emergency number", "+911"],
  ["Arabic-Indic digits", "+\u0661\u0664\u0661\u0665\u0665\u0665\u0665\u0660\u0661\u0660\u0660"],
  ["one Arabic-Indic digit", "+1415555010\u0660"],
  ["full-width digits", "\uff0b\uff11\uff14\uff11\uff15\uff15\uff15\uff15\uff10\uff11\uff10\uff10"],
  ["full-width plus", "\uff0b14155550100"],
  ["right-to-left mark", "\u200f+14155550100"],
  ["mark inside", "+1415\u200e5550100"],
  ["override", "\u202e+14155550100"],
  ["zero-width space", "+1415\u200b5550100"],
  ["no-break space", "+1\u00a04155550100"],
  ["soft hyphen", "+1415\u00ad5550100"],
  ["newline after", "+14155550100\n"],
  ["newline before", "\n+14155550100"],
  ["tab inside", "+1415\t5550100"],
  ["NUL", "+14155550100\0"],
  ["space before", " +14155550100"],
  ["space after", "+14155550100 "],
  ["tel:", "tel:+14155550100"],
  ["ext", "+14155550100;ext=5"],
  ["x5", "+14155550100x5"],
  ["phone-context", "+14155550100;phone-context=x"],
  ["comma pause", "+14155550100,,5"],
  ["letters", "+1415FLOWERS"],
  ["two numbers", "+14155550100 +14155550101"],
  ["sip", "sip:14155550100@example.com"],
];

describe("toE164", () => {
  test.each(TAKEN)("%s is %s", (text, e164) => {
    expect(toE164(text)).toBe(e164);
  });

  test.each(REFUSED)("refuses %s", (_what, text) => {
    expect(toE164(text)).toBeNull();
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
    fc.assert(
      fc.property(fc.array(gap, { minLength: 10, maxLength: 10 }), (gaps) => {
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
