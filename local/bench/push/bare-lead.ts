import { randomUUID } from "node:crypto";
import type { Collection } from "mongodb";

/** A lead as the product stored it. */
export interface StoredLead extends Record<string, unknown> {
  _id: string;
  created_at: Date;
  due_at: Date;
}

/** What of a push the bare server reads. */
export interface BareBody {
  request_id: string;
  payload: Record<string, unknown>;
}

/** The document of another push: a stored lead of the product itself, with an id, a request, a callee and times of its own, so that it can't differ from what the product writes. */
export const bareLead = (stored: StoredLead, { request_id, payload }: BareBody, now: Date): StoredLead => ({
  ...stored,
  _id: randomUUID(),
  request_id,
  phone_number: payload["customer_mobile_number"],
  payload,
  due_at: new Date(now.getTime() + stored.due_at.getTime() - stored.created_at.getTime()),
  outbox_at: now,
  expiry_from: now,
  created_at: now,
  updated_at: now,
});

/** Gives a collection the indexes of another. */
export async function copyIndexes(from: Collection<StoredLead>, to: Collection<StoredLead>): Promise<void> {
  const indexes = (await from.indexes()).filter(({ name }) => name !== "_id_");
  await to.createIndexes(indexes.map(({ v: _v, ...index }) => index));
}
