import { createHash, randomBytes, randomUUID } from "node:crypto";

/** The source of identifiers; injected, so that tests can predict them. */
export interface Ids {
  /** A random UUID (version 4). */
  uuid(): string;
  /** `bytes` random bytes in lower-case hex. */
  hex(bytes: number): string;
  /** `bytes` random bytes in base64url. */
  base64url(bytes: number): string;
  /** `bytes` random bytes in standard base64. */
  base64(bytes: number): string;
}

/** Identifiers from the operating system's random source. */
export const randomIds: Ids = {
  uuid: () => randomUUID(),
  hex: (bytes) => randomBytes(bytes).toString("hex"),
  base64url: (bytes) => randomBytes(bytes).toString("base64url"),
  base64: (bytes) => randomBytes(bytes).toString("base64"),
};

/** SHA-256 of a text in hex: how tokens are stored. */
export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** True for the canonical text form of a UUID. */
export const isUuid = (text: string): boolean => UUID.test(text);

/** A UUID that follows from a text: the same text, the same UUID, on every node (version 8, from its SHA-256). */
export function uuidOf(text: string): string {
  const hex = sha256(text);
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) % 4) + 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join("-");
}

/** The name of one attempt: (lead_id, claim_no) as one path-safe text. */
export const callRef = (lead_id: string, claim_no: number): string => `${lead_id}.${claim_no}`;

/** The ids that begin with a lead's, as a filter: call references, and events. "/" follows "." in the order of texts. */
export const idsOfLead = (lead_id: string) => ({ $gt: `${lead_id}.`, $lt: `${lead_id}/` });

/** Takes an attempt's name apart; null when it is none. */
export function parseCallRef(ref: string): { lead_id: string; claim_no: number } | null {
  const [lead_id = "", number = "", ...rest] = ref.split(".");
  const claim_no = Number(number);
  return rest.length === 0 && isUuid(lead_id) && Number.isSafeInteger(claim_no) && claim_no > 0
    ? { lead_id, claim_no }
    : null;
}
