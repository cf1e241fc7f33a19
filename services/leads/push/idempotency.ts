import { plusSeconds } from "../../../shared/time/clock.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { refusal, type Refusal } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import type { LeadDoc } from "../leads.model.ts";
import { messageFor } from "./lead-document.ts";
import type { PushKeyDoc } from "./push-keys.model.ts";

/** How long a key stands for its push: a day. */
const KEY_SECONDS = 86_400;

/** JSON with the keys of every object in order, so that two spellings of one value are one text. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((v) => canonical(v ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value)
    .filter(([, v]) => v !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${fields.map(([k, v]) => `${JSON.stringify(k)}:${canonical(v)}`).join(",")}}`;
}

/** A push that may be repeated: the id of its key, and a hash of what was pushed. */
export interface KeyedPush {
  id: string;
  body_hash: string;
}

/** A key belongs to the token or person who used it; `row` is the row's place in a bulk push. Keys themselves are not stored. */
export const keyedPush = (by: By, key: string, lead: unknown, row?: number): KeyedPush => ({
  id: sha256(JSON.stringify([by.kind, by.id, row === undefined ? "push" : `row ${row}`, key])),
  body_hash: sha256(canonical(lead)),
});

/** The key's document for a lead that is about to be written. */
export const keyDocument = (push: KeyedPush, doc: LeadDoc, now: Date): PushKeyDoc => ({
  _id: push.id,
  body_hash: push.body_hash,
  lead_id: doc._id,
  message: messageFor(doc),
  expires_at: plusSeconds(now, KEY_SECONDS),
});

/** IDEMPOTENCY_KEY_REUSED where the key stands for another push than this. */
export const reusedKeyRefusal = (earlier: Pick<PushKeyDoc, "body_hash">, push: KeyedPush): Refusal | null =>
  earlier.body_hash === push.body_hash
    ? null
    : refusal(
        "IDEMPOTENCY_KEY_REUSED",
        "this Idempotency-Key was used within the last 24 hours for another lead; use a new key for a new lead",
      );
