import { IANAZone } from "luxon";

/** ICU's own, which the tz database does not have. */
const NO_PLACE = /^SystemV\//i;

/**
 * Whether a text names a time zone as the tz database does: `UTC`, or a name with a slash, links such as Asia/Kolkata or US/Eastern included. The runtime takes more: offsets, which
 * have no daylight saving time, and ICU's former abbreviations, of which BST is Bangladesh's and IST India's whatever a British or Irish client meant.
 */
export const isTimeZone = (name: string): boolean =>
  name === "UTC" || (name.includes("/") && !NO_PLACE.test(name) && IANAZone.isValidZone(name));

/** What is wrong with a text that is no time zone: the end of a sentence that begins with its field. */
export const NO_TIME_ZONE =
  "is no time zone of the tz database; write UTC, or a place such as Europe/London: abbreviations mean several zones";
