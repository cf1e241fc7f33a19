/** The stream of events at the NATS server. */
export const EVENT_STREAM = "CALLAGENT_EVENTS";
const PREFIX = "callagent.events.v1";
/** All its subjects. */
export const STREAM_SUBJECTS = `${PREFIX}.>`;
/** Stands where an event has no merchant. */
const NOBODY = "_";

/** An id as one token of a subject: letters, digits and hyphens stay, every other byte is `=` and two hexadecimal digits. */
export const tokenOf = (id: string): string =>
  [...Buffer.from(id, "utf8")]
    .map((byte) => {
      const character = String.fromCodePoint(byte);
      return /[A-Za-z0-9-]/.test(character) ? character : `=${byte.toString(16).padStart(2, "0")}`;
    })
    .join("");

/** The subject of an event: `callagent.events.v1.<reseller>.<merchant or _>.<type>`. */
export const subjectOf = (of: { reseller_id: string; merchant_id: string | null; type: string }): string =>
  `${PREFIX}.${tokenOf(of.reseller_id)}.${of.merchant_id === null ? NOBODY : tokenOf(of.merchant_id)}.${of.type}`;
