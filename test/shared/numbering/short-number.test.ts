import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, test } from "@jest/globals";
import { getCountryCallingCode, isSupportedCountry } from "libphonenumber-js/min";
import { toE164 } from "../../../shared/phone.ts";
import { isShortNumber, shortNumberIssue, shortNumberOf } from "../../../shared/numbering/short-number.ts";

/** Emergency numbers as the countries themselves name them, beside libphonenumber's list: national, by ISO country. */
const EMERGENCIES: Record<string, string[]> = {
  AE: ["999", "998", "997"],
  AR: ["911", "100", "107"],
  AT: ["112", "122", "133", "144"],
  AU: ["000", "112"],
  BD: ["999"],
  BE: ["112", "101"],
  BG: ["112"],
  BR: ["190", "192", "193"],
  CA: ["911"],
  CH: ["117", "118", "144"],
  CL: ["131", "132", "133"],
  CN: ["110", "119", "120"],
  CO: ["123"],
  CZ: ["112", "150", "155", "158"],
  DE: ["110", "112"],
  DK: ["112"],
  EG: ["122", "123"],
  ES: ["112"],
  FI: ["112"],
  FR: ["112", "15", "17", "18"],
  GB: ["999", "112"],
  GR: ["100", "112", "166", "199"],
  HK: ["999"],
  HU: ["104", "105", "107", "112"],
  ID: ["110", "112", "118"],
  IE: ["999", "112"],
  IL: ["100", "101", "102"],
  IN: ["100", "101", "102", "108", "112"],
  IT: ["112", "113", "115", "118"],
  JM: ["110", "119"],
  JP: ["110", "119"],
  KE: ["999", "112"],
  KR: ["112", "119"],
  MA: ["19", "15"],
  MX: ["911"],
  MY: ["999"],
  NG: ["112", "199"],
  NL: ["112"],
  NO: ["110", "112", "113"],
  NZ: ["111"],
  OM: ["9999"],
  PE: ["105", "116"],
  PH: ["911"],
  PL: ["112", "997", "998", "999"],
  PT: ["112"],
  RO: ["112"],
  RU: ["101", "102", "103", "112"],
  SA: ["911", "997", "999"],
  SE: ["112", "90000"],
  SG: ["995", "999"],
  TH: ["191", "1669"],
  TR: ["112", "155"],
  TW: ["110", "119"],
  UA: ["101", "102", "103", "112"],
  US: ["911", "112"],
  VN: ["113", "114", "115"],
  ZA: ["10111", "10177", "112"],
};

/** Short numbers that are no emergency, as they are written internationally, and whose they are. */
const SHORT: [string, string][] = [
  ["+49116117", "DE"],
  ["+49 (0)116 117", "DE"],
  ["+4911833", "DE"],
  ["+44101", "GB"],
  ["+33 3631", "FR"],
  ["+34016", "ES"],
  ["+91155260", "IN"],
  ["+35350808", "IE"],
];

/** Ordinary numbers: some begin or end as an emergency number does, some are as short as one. */
const ORDINARY = [
  "+33112345678",
  "+33 1 17 18 15 00",
  "+441912345678",
  "+4911234567",
  "+498911212345",
  "+4930110110",
  "+19125550123",
  "+14159110911",
  "+12129999999",
  "+919112345678",
  "+390612345678",
  "+61299991999",
  "+27101112222",
  "+46900001234",
  "+96814441444",
  "+6834002",
  "+50055555",
  "+298201234",
  "+376712345",
];

describe("emergency numbers of every country are known", () => {
  test.each(Object.entries(EMERGENCIES))("%s", (country, numbers) => {
    if (!isSupportedCountry(country)) throw new Error(`${country} is no country`);
    const code = getCountryCallingCode(country);
    for (const national of numbers) {
      const spellings = [`+${code}${national}`, `+${code} ${national.split("").join("-")}`, national, `+${national}`];
      for (const text of spellings) expect([text, shortNumberOf(text)?.emergency]).toEqual([text, true]);
      expect(shortNumberIssue(`+${code}${national}`)).toMatch(/^is an emergency number.*, which is never called$/);
    }
  });
  test("there are enough of them for the table to mean something", () =>
    expect(Object.keys(EMERGENCIES).length).toBeGreaterThanOrEqual(40));
  test("112 and 911 in every country, also where no list names them", () => {
    for (const code of ["1", "7", "44", "49", "224", "378", "998"])
      for (const national of ["112", "911"]) expect(shortNumberOf(`+${code}${national}`)?.emergency).toBe(true);
  });
});

test.each(SHORT)("the short number %s is one of %s", (text, country) => {
  expect(shortNumberOf(text) ?? shortNumberOf(text.replace(" (0)", ""))).toEqual({ country, emergency: false });
  expect(shortNumberIssue(text)).toBe(`is a short number of ${country}, which is never called`);
});

test.each(ORDINARY)("the ordinary number %s is none", (text) => {
  expect([toE164(text) === null, shortNumberIssue(text)]).toEqual([false, null]);
});

test("no ordinary number of any country is taken for one", () => {
  const file = createRequire(import.meta.url).resolve("libphonenumber-js/examples.mobile.json");
  const examples = Object.entries(JSON.parse(readFileSync(file, "utf8")) as Record<string, string>);
  const taken = examples.flatMap(([country, national]) => {
    const text = isSupportedCountry(country) ? `+${getCountryCallingCode(country)}${national}` : "";
    return isShortNumber(text) ? [text] : [];
  });
  expect([examples.length > 200, taken]).toEqual([true, []]);
});

test.each(["", "nobody", "tel:112", "+49\u0661\u0661\u0660", "1".repeat(200), "+", "-"])(
  "%j is no number at all",
  (text) => expect(shortNumberOf(text)).toBeNull(),
);
