/** Numbers that cost more than a call to their country, or that belong to no country: they are called where the deployment allows it. */
export const SPECIAL_NUMBERS = ["premium", "satellite", "shared_cost"] as const;
/** One of them. */
export type SpecialNumber = (typeof SPECIAL_NUMBERS)[number];

/**
 * Numbers beyond countries, and premium ranges, that libphonenumber does not name as such; as of 2026-11-24. By the ITU-T list of E.164 assigned country codes (position on 2016-12-15), and by the
 * codes of the North American plan that are kept for pay-per-call services (area code 900, office code 976 of any area). Digits without a plus; the first that matches counts.
 */
export const SPECIAL_NUMBER_PREFIXES: readonly (readonly [prefix: RegExp, kind: SpecialNumber])[] = [
  /** Inmarsat. */ [/^870/, "satellite"],
  /** Global mobile satellite system: ICO, Ellipso, Iridium, Globalstar. */ [/^881/, "satellite"],
  /** International networks, among them Thuraya, Maritime and aircraft networks. */ [/^88[23]/, "satellite"],
  /** Universal personal numbers and disaster relief: networks of no country, both nearly unused. */ [
    /^8[78]8/,
    "satellite",
  ],
  /** International premium rate service. */ [/^979/, "premium"],
  /** International shared cost service. */ [/^808/, "shared_cost"],
  /** Pay-per-call services of the North American plan. */ [/^1(?:900|976|[2-9]\d\d976)/, "premium"],
];
