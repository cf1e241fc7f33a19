/** The stream of events at the NATS server. */
export const EVENT_STREAM = "CALLAGENT_EVENTS";
const PREFIX = "callagent.events.v1";
/** All its subjects. */
export const STREAM_SUBJECTS = `${PREFIX}.>`;
/** Stands where an event has no reseller or merchant. */
const NOBODY = "_";

/** An id as one token of a subject: letters, digits and hyphens stay, every other byte is `=` and two hexadecimal digits. */
export const tokenOf = (id: string): string =>
  [...Buffer.from(id, "utf8")]
    .map((byte) => {
      const character = String.fromCodePoint(byte);
      return /[A-Za-z0-9-]/.test(character) ? character : `=${byte.toString(16).padStart(2, "0")}`;
    })
    .join("");

/** Somebody who reads the stream with a user of their own, and what of it. Null: of all. */
export interface StreamReader {
  name: string;
  reseller_id: string | null;
  merchant_id: string | null;
}

/** Most readers of a deployment. */
export const MAX_READERS = 50;
/** A name is a token of subjects, and of a file's name. */
const READER_NAME = /^[A-Za-z0-9][A-Za-z0-9-]{0,31}$/;
/** Whether a reader may be called so. */
export const isReaderName = (name: string): boolean => READER_NAME.test(name);

/** Readers as EVENTS_READERS names them: `billing, acme=<reseller id>, shop=<reseller id>/<merchant id>`. Null: it is none of that. */
export function streamReadersIn(text: string | undefined): StreamReader[] | null {
  const readers = (text ?? "")
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "")
    .map((one) => {
      const [name = "", whose, ...more] = one.split("=");
      const [reseller_id = null, merchant_id = null, ...rest] = whose?.split("/") ?? [];
      const wrong = !isReaderName(name) || [...more, ...rest].length > 0 || reseller_id === "" || merchant_id === "";
      return wrong ? null : { name, reseller_id, merchant_id };
    });
  const known = readers.filter((reader) => reader !== null);
  const names = new Set(known.map(({ name }) => name));
  return known.length === readers.length && names.size === known.length && known.length <= MAX_READERS ? known : null;
}

/** The subjects of what a reader reads. */
export const subjectsFor = ({ reseller_id, merchant_id }: Omit<StreamReader, "name">): string =>
  [PREFIX, ...[reseller_id, merchant_id].filter((id) => id !== null).map(tokenOf), ">"].join(".");

/** The subjects of a type, with the names of what differs in braces. */
export const subjectForm = (type: string): string => `${PREFIX}.{reseller}.{merchant}.${type}`;

const tokenOrNobody = (id: string | null): string => (id === null ? NOBODY : tokenOf(id));

/** The subject of an event: `callagent.events.v1.<reseller or _>.<merchant or _>.<type>`. */
export const subjectOf = (of: { reseller_id: string | null; merchant_id: string | null; type: string }): string =>
  `${PREFIX}.${tokenOrNobody(of.reseller_id)}.${tokenOrNobody(of.merchant_id)}.${of.type}`;
