import { CALLEE_MARK, OWN_QUEUE } from "../../../shared/contracts/records/lead.ts";
import { zoneMark } from "../../../shared/numbering/callee-zones.ts";
import type { LeadDoc } from "../leads.model.ts";

/** What decides in which queue a lead waits; leads of older versions have none yet. */
export type Queued = Pick<LeadDoc, "_id" | "template_id" | "merchant_id" | "configurations_override"> & {
  queue?: string;
  phone_number?: string | null;
};

/** The character after OWN_QUEUE's last one: where names of own queues end. */
const BEHIND_OWN = "p;";
const NAME_CHARS = 64;
/** What of a merchant's id goes into a queue's name: all that fits, 108 of a UUID's 122 random bits; before the mark of the callees' zones 68 at least. */
const MERCHANT_MARK_CHARS = 27;

/** A queue's name with the mark of where the callee may be: the calling window may be closed there while it is open for others. */
function marked(base: string, phone_number: string | null | undefined): string {
  const mark = phone_number ? zoneMark(phone_number) : null;
  return mark === null ? base : `${base.slice(0, NAME_CHARS - CALLEE_MARK.length - mark.length)}${CALLEE_MARK}${mark}`;
}

/**
 * The queue a lead waits in: a gate that defers one of its leads defers them all. It is the template's, for callees in one set of time zones; a reseller's template
 * serves many merchants, each with queues of its own; a playground lead that changes the configuration has a queue to itself.
 */
export function queueName(lead: Omit<Queued, "queue">, template_of: "merchant" | "reseller"): string {
  if (lead.configurations_override) return OWN_QUEUE + lead._id;
  if (template_of === "merchant" || lead.merchant_id === null) return marked(lead.template_id, lead.phone_number);
  const merchant = lead.merchant_id.replaceAll("-", "").slice(0, MERCHANT_MARK_CHARS);
  return marked(`${lead.template_id}.${merchant}`, lead.phone_number);
}

/** The queue that a waiting lead belongs into: its own, with the mark of where its callee may be. One of 0.2.0, or of an older table of zones, may wait in another. */
export function rightQueue({ queue, phone_number }: Pick<LeadDoc, "queue" | "phone_number">): string {
  if (isOwnQueue(queue)) return queue;
  return marked(queue.split(CALLEE_MARK)[0] ?? queue, phone_number);
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
