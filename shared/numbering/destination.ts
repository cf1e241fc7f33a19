import { isSupportedCountry } from "libphonenumber-js/min";
import { parsePhoneNumberFromString } from "libphonenumber-js/max";
import { countryOf, isE164, toE164 } from "../phone.ts";
import { shortNumberIssue } from "./short-number.ts";
import { SPECIAL_NUMBER_PREFIXES, SPECIAL_NUMBERS, type SpecialNumber } from "./special-number-table.ts";

/** Which numbers calls may reach: no emergency and short numbers, whoever asks, and else what the deployment lets pass. Pure. */

/** In a list of countries: numbers of no country, as satellite and international free-phone numbers. */
const NO_COUNTRY = "001";

/** What the deployment lets pass: `countries` absent, every country. */
export interface Allowed {
  readonly countries?: readonly string[];
  readonly special: readonly SpecialNumber[];
}

/** Digits that are dropped from the end of a number which libphonenumber does not know: networks ignore digits that are too many. */
const SURPLUS_DIGITS = 7;

const kinds = new Map<string, SpecialNumber | null>();
const MAX_KINDS = 20_000;

const BY_TYPE: Readonly<Record<string, SpecialNumber | null>> = {
  PREMIUM_RATE: "premium",
  SHARED_COST: "shared_cost",
};

/** What libphonenumber takes a number for; undefined: it knows none like it. */
const typeOf = (e164: string): string | undefined => parsePhoneNumberFromString(e164, { extract: false })?.getType();

function findKind(e164: string): SpecialNumber | null {
  const digits = e164.slice(1);
  const listed = SPECIAL_NUMBER_PREFIXES.find(([prefix]) => prefix.test(digits));
  if (listed) return listed[1];
  for (let surplus = 0; surplus <= SURPLUS_DIGITS; surplus++) {
    const shorter = e164.slice(0, e164.length - surplus);
    const type = isE164(shorter) ? typeOf(shorter) : undefined;
    if (type !== undefined && (surplus === 0 || type in BY_TYPE)) return BY_TYPE[type] ?? null;
  }
  return null;
}

/** What special number a number in E.164 is, by libphonenumber's types and the table beside; null: none. A premium number with digits too many is one. */
export function specialNumberOf(e164: string): SpecialNumber | null {
  const known = kinds.get(e164);
  if (known !== undefined) return known;
  const kind = findKind(e164);
  if (kinds.size >= MAX_KINDS) kinds.clear();
  kinds.set(e164, kind);
  return kind;
}

const KIND_NAMES: Readonly<Record<SpecialNumber, string>> = {
  premium: "a premium-rate number",
  satellite: "a number of a satellite or international network",
  shared_cost: "a shared-cost number",
};

/** Why a number as a person writes it is not called: the end of a sentence that begins with the number or its field. null: it may be called, or is no phone number at all. */
export function destinationIssue(text: string, allowed: Allowed): string | null {
  const never = shortNumberIssue(text);
  if (never !== null) return never;
  const e164 = toE164(text);
  if (e164 === null) return null;
  const special = specialNumberOf(e164);
  if (special !== null && !allowed.special.includes(special))
    return `is ${KIND_NAMES[special]}, which this deployment does not call`;
  const country = countryOf(e164);
  return allowed.countries?.includes(country ?? NO_COUNTRY) === false
    ? `is a number of ${country ?? "no country"}, which is not among the countries that this deployment calls`
    : null;
}

/** Whether a list of countries can name this. */
const isCountryWord = (word: string): boolean =>
  word === NO_COUNTRY || (/^[A-Z]{2}$/.test(word) && isSupportedCountry(word));

const wordsOf = (text: string | undefined): string[] =>
  (text ?? "")
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");

const isSpecial = (word: string): word is SpecialNumber => SPECIAL_NUMBERS.some((kind) => kind === word);

/** The deployment's own level, of its variables CALL_COUNTRIES and CALL_SPECIAL_NUMBERS: every country where none is listed, no special number where none is. */
export function deploymentDestinations(countriesText: string | undefined, specialText: string | undefined): Allowed {
  const countries = wordsOf(countriesText);
  const special = wordsOf(specialText).filter(isSpecial);
  return { special, ...(countries.length === 0 ? {} : { countries }) };
}

/** What is wrong with these two variables, as sentences. */
export const destinationVariableIssues = (
  countriesText: string | undefined,
  specialText: string | undefined,
): string[] => [
  ...wordsOf(countriesText)
    .filter((word) => !isCountryWord(word))
    .map(
      (word) =>
        `CALL_COUNTRIES holds "${word}", which is no ISO country with telephone numbers; write two capital letters (GB, not UK), or 001 for numbers of no country`,
    ),
  ...wordsOf(specialText)
    .filter((word) => !isSpecial(word))
    .map((word) => `CALL_SPECIAL_NUMBERS holds "${word}"; it may hold ${SPECIAL_NUMBERS.join(", ")}`),
];
