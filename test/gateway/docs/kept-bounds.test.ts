import { openApi } from "../../../services/gateway/docs/openapi.ts";
import { ROUTES } from "../../../services/gateway/routes/index.ts";
import { configurationIssues } from "../../../services/config/rules/configuration-validation.ts";
import { WRITTEN_PHONE } from "../../../shared/contracts/define.ts";
import { ConfigurationInput } from "../../../shared/contracts/records/configuration.ts";
import { TemplateInput } from "../../../shared/contracts/records/template.ts";
import { toE164 } from "../../../shared/phone.ts";
import { isRecord } from "../../../shared/json.ts";

/** Patterns that the document states and a service checks with words of its own: what the service takes they must match, and what they refuse it must refuse. */
const patternOf = (field: unknown): RegExp => {
  const pattern = isRecord(field) ? field["x-pattern"] : undefined;
  if (typeof pattern !== "string") throw new Error("the field has no pattern");
  return new RegExp(pattern);
};

test("time zones: the pattern refuses nothing that the service takes, and an offset neither of them", () => {
  const pattern = patternOf(ConfigurationInput.properties.timezone);
  for (const zone of [
    ...Intl.supportedValuesOf("timeZone"),
    "UTC",
    "Etc/GMT+5",
    "America/Port-au-Prince",
    "Asia/Kolkata",
    "US/Eastern",
    "Etc/GMT-14",
    "America/Argentina/ComodRivadavia",
  ])
    expect([zone, pattern.test(zone), configurationIssues({ timezone: zone })]).toEqual([zone, true, []]);
  for (const zone of ["+02:00", "1", "Europe Paris", "BST", "EST5EDT", "GMT0", "utc"])
    expect([zone, pattern.test(zone), configurationIssues({ timezone: zone }).length]).toEqual([zone, false, 1]);
});

test("languages: the pattern takes tags and refuses what is none", () => {
  const pattern = patternOf(TemplateInput.properties.language);
  for (const tag of ["en", "en-US", "zh-Hant-TW", "sl-rozaj-biske", "de-DE-u-co-phonebk"])
    expect([tag, pattern.test(tag), Intl.getCanonicalLocales(tag).length]).toEqual([tag, true, 1]);
  for (const tag of ["", "e", "en_US", "english please", "-"]) {
    expect([tag, pattern.test(tag)]).toEqual([tag, false]);
    expect(() => Intl.getCanonicalLocales(tag)).toThrow();
  }
});

test("phone numbers: what the pattern refuses is no number", () => {
  const pattern = new RegExp(WRITTEN_PHONE);
  for (const text of ["+14155550100", "+1 (415) 555-0100", "+44.20.7946.0958", "tel:+14155550100", '="+14155550100.0"'])
    expect([text, pattern.test(text), toE164(text) !== null]).toEqual([text, true, true]);
  for (const text of ["4155550100", "0014155550100", "+1415", "+0415555", "4.91511E+11"])
    expect([text, pattern.test(text), toE164(text)]).toEqual([text, false, null]);
  expect(JSON.stringify(openApi(ROUTES, "1")).split(JSON.stringify(WRITTEN_PHONE)).length).toBeGreaterThan(5);
});
