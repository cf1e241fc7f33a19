import type { GuardedTransition } from "../../../shared/database/guarded-collection.ts";
import type { LeadTransition } from "../rules/lead-transition.ts";

/**
 * The write of a transition with its events in it: their sequence numbers are counted, and they are appended to the lead's outbox, in the very update that
 * makes them happen. The number of an entry follows from its place: the last one of the outbox has `event_seq`, each before it one less. So no writer needs
 * to know the numbers, and there is never a gap.
 */
export function carrying({ filter, update, events, at }: LeadTransition): GuardedTransition {
  const last = events.at(-1);
  if (last === undefined) return { filter, update };
  return {
    filter,
    update: {
      ...update,
      $set: { ...update.$set, outbox_at: at ?? last.at },
      $inc: { ...update.$inc, event_seq: events.length },
      $push: { ...update.$push, outbox: { $each: [...events] } },
    },
  };
}
