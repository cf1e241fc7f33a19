import { getCountries, getCountryCallingCode } from "libphonenumber-js/min";
import { isValidPhoneNumber } from "libphonenumber-js/max";
import { toE164 } from "../phone.ts";
import { SHORT_NUMBER_LINES } from "./short-number-table.ts";

/** Emergency and short numbers: they are never called, whoever asks, from whatever country. */

/** What a number is that is never called. `country`: where it is one, ISO 3166 alpha-2; null: anywhere. */
export interface ShortNumber {
  country: string | null;
  emergency: boolean;
}

/** A country's short numbers as patterns of whole national numbers; null: none is known. */
interface CountryPatterns {
  country: string;
  emergency: RegExp | null;
  short: RegExp | null;
}

/** Every mobile network takes these for emergency calls, in every country (3GPP TS 22.101). */
const EVERYWHERE: ReadonlySet<string> = new Set(["112", "911"]);
/** Longest calling code, digits. */
const LONGEST_CALLING_CODE = 3;
/** A plus or none, and digits with the ASCII separators a person may write between them; as long as E.164 allows. */
const WRITTEN = /^\+?[0-9 ().-]{1,32}$/;

const wholly = (pattern: string | undefined): RegExp | null =>
  pattern === undefined || pattern === "-" ? null : new RegExp(`^(?:${pattern})$`);

const ALL: readonly CountryPatterns[] = SHORT_NUMBER_LINES.map((line) => {
  const [country = "", emergency, short] = line.split(" ");
  return { country, emergency: wholly(emergency), short: wholly(short) };
});

/** The countries of each calling code: a code may be shared (+1, +7, +44), and then the numbers of each of them count. */
const BY_CALLING_CODE: ReadonlyMap<string, readonly CountryPatterns[]> = (() => {
  const codes = new Map<string, string>(getCountries().map((country) => [country, getCountryCallingCode(country)]));
  return Map.groupBy(ALL, ({ country }) => codes.get(country) ?? "");
})();

/** Whether digits are an emergency number somewhere when they are dialled as they stand. */
const isEmergencyAsItStands = (digits: string): boolean => ALL.some(({ emergency }) => emergency?.test(digits));

/** The short number that international digits (no plus) are; null: none. */
function nationally(digits: string): ShortNumber | null {
  for (let length = 1; length <= LONGEST_CALLING_CODE; length++) {
    const countries = BY_CALLING_CODE.get(digits.slice(0, length));
    if (countries === undefined) continue;
    const national = digits.slice(length);
    const emergency = countries.find((c) => c.emergency?.test(national) === true || EVERYWHERE.has(national));
    if (emergency !== undefined) return { country: emergency.country, emergency: true };
    const short = countries.find((c) => c.short?.test(national));
    // small countries have ordinary numbers that are as short, and some are spelled like a service
    return short === undefined || isValidPhoneNumber(`+${digits}`)
      ? null
      : { country: short.country, emergency: false };
  }
  return null;
}

/**
 * The emergency or short number that a text is; null: it is none. `+49110` and `+49116117` are numbers of their country although they are
 * written internationally, and `+911` or `110` are what any country takes for an emergency call when they are dialled as they stand.
 * By libphonenumber's short-number data; where its other tables know a number as an ordinary one, only an emergency number is one.
 */
export function shortNumberOf(text: string): ShortNumber | null {
  if (!WRITTEN.test(text)) return null;
  const digits = text.replaceAll(/\D/g, "");
  if (isEmergencyAsItStands(digits)) return { country: null, emergency: true };
  return text.startsWith("+") ? nationally(digits) : null;
}

/** Whether a text is an emergency or short number. */
export const isShortNumber = (text: string): boolean => shortNumberOf(text) !== null;

/** Why a number as a person writes it is never called: the end of a sentence that begins with its field; null: it is no such number. */
export function shortNumberIssue(text: string): string | null {
  const found = shortNumberOf(text) ?? shortNumberOf(toE164(text) ?? "");
  if (found === null) return null;
  const where = found.country === null ? "" : ` of ${found.country}`;
  return `is ${found.emergency ? "an emergency" : "a short"} number${where}, which is never called`;
}
