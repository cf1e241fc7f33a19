import { plusMs } from "../../../shared/clock.ts";
import type { Queue } from "../memory/queue-schedule.ts";
import type { Works } from "../deps.ts";

const HEADS_AT_ONCE = 1000;
/** Pages read in one scan; with more queues than that the next scan goes on where this one ended. */
const PAGES_AT_ONCE = 20;
/** Scans look this much further ahead than to the next scan, which may come late. */
const MARGIN_MS = 500;
const UNKNOWN_AT_ONCE = 500;

/** How far ahead due leads are looked for: a lead that becomes due before the next scan is called in its time. */
export const lookAheadMs = (intervalMs: number): number => intervalMs + MARGIN_MS;

interface Place {
  own: boolean;
  after: string | null;
}

/** The full scan: every queue with a lead that is due soon comes onto the agenda, whatever was heard of it. */
export function createScan({ ground, agenda }: Works): () => Promise<void> {
  let place: Place = { own: false, after: null };
  return async () => {
    const until = plusMs(ground.clock.now(), lookAheadMs(ground.env.SCHEDULER_INTERVAL_MS)).toISOString();
    const began = place;
    for (let i = 0; i < PAGES_AT_ONCE; i++) {
      const { heads, next } = await ground.bus.call("leads.heads", {
        until,
        own: place.own,
        after: place.after,
        limit: HEADS_AT_ONCE,
      });
      for (const { due_at, ...queue } of heads) {
        agenda.know(queue);
        agenda.hear(queue.queue, Date.parse(due_at));
      }
      place = next === null ? { own: !place.own, after: null } : { own: place.own, after: next };
      // once around, from wherever it began
      if (place.own === began.own && (place.after ?? "") >= (began.after ?? "") && i > 0) break;
    }
  };
}

/** Whose these queues are; those heard of for the first time are asked for by their first lead, and left out when they have none. */
export async function knownQueues({ ground, agenda }: Works, names: readonly string[]): Promise<Queue[]> {
  const unknown = names.filter((name) => agenda.owner(name) === null);
  const until = plusMs(ground.clock.now(), lookAheadMs(ground.env.SCHEDULER_INTERVAL_MS)).toISOString();
  for (let i = 0; i < unknown.length; i += UNKNOWN_AT_ONCE) {
    const { leads } = await ground.bus.call("leads.dueOf", {
      queues: unknown.slice(i, i + UNKNOWN_AT_ONCE).map((queue) => ({ queue, limit: 1 })),
      until,
    });
    for (const { queue = "", template_id, reseller_id, merchant_id, configurations_override } of leads)
      agenda.know({ queue, template_id, reseller_id, merchant_id, configurations_override });
  }
  return names.flatMap((name) => {
    const queue = agenda.owner(name);
    return queue ? [queue] : [];
  });
}
