import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { queueOf, type Queued } from "../rules/queue-names.ts";

/**
 * Notifies every scheduler of waiting leads: one broadcast for each queue, with its first due lead. It is a hint: a full scan
 * finds what it misses.
 */
export function announceQueues(
  { bus }: Pick<ServiceDeps, "bus">,
  leads: readonly (Queued & { due_at?: Date })[],
): void {
  const waiting = leads.flatMap((lead) =>
    lead.due_at ? [{ lead_id: lead._id, queue: queueOf(lead), due_at: lead.due_at }] : [],
  );
  for (const [queue, of] of Map.groupBy(waiting, (w) => w.queue)) {
    const first = of.reduce((soonest, w) => (w.due_at < soonest.due_at ? w : soonest));
    bus.broadcast("lead.queued", { lead_id: first.lead_id, queue, due_at: first.due_at.toISOString() });
  }
}
