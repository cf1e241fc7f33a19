import { OWN_QUEUE } from "../../../shared/contracts/records/lead.ts";
import type { LeadDoc } from "../leads.model.ts";

/** What decides in which queue a lead waits; leads of older versions have none yet. */
export type Queued = Pick<LeadDoc, "_id" | "template_id" | "merchant_id" | "configurations_override"> & {
  queue?: string;
};

/** The character after OWN_QUEUE's last one: where names of own queues end. */
const BEHIND_OWN = "p;";
/** What of a merchant's id goes into a queue's name: all that fits into the 64 characters a name may have, 108 of a UUID's 122 random bits. */
const MERCHANT_MARK_CHARS = 27;

/**
 * The queue a lead waits in: a gate that defers one of its leads defers them all. It is the template's; a reseller's template
 * serves many merchants, each with a queue of its own; a playground lead that changes the configuration has a queue to itself.
 */
export function queueName(lead: Omit<Queued, "queue">, template_of: "merchant" | "reseller"): string {
  if (lead.configurations_override) return OWN_QUEUE + lead._id;
  if (template_of === "merchant" || lead.merchant_id === null) return lead.template_id;
  return `${lead.template_id}.${lead.merchant_id.replaceAll("-", "").slice(0, MERCHANT_MARK_CHARS)}`;
}

/** Whether a queue is a playground lead's own: that lead changes the configuration, and there is no other in it. */
export const isOwnQueue = (queue: string): boolean => queue.startsWith(OWN_QUEUE);

/** The queue of a lead that may be from before there were queues: whose its template was is not written in it, a queue for each merchant is right either way. */
export const queueOf = (lead: Queued): string => lead.queue ?? queueName(lead, "reseller");

/** A part of the queues' names: from `from` on (itself included), up to `to` (left out). */
export interface Part {
  from: string;
  to: string;
}

/** The names in 16 parts, in order, by the first hexadecimal digit of the id that each begins with: ids are random, so the parts are alike. */
export function partsOf(own: boolean): Part[] {
  const prefix = own ? OWN_QUEUE : "";
  const digits = [..."123456789abcdef"].map((digit) => prefix + digit);
  return [prefix, ...digits].map((from, i) => ({ from, to: digits[i] ?? (own ? BEHIND_OWN : OWN_QUEUE) }));
}
