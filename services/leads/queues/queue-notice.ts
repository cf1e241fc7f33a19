import type { ServiceGround } from "../../../shared/bus.ts";
import type { LeadDoc } from "../leads.model.ts";
import { queueOf } from "../rules/queue-names.ts";

/** Tells every scheduler that leads wait: once for each queue, with the one of it that is due first. A hint: what it misses, the schedulers find by looking. */
export function announce(ground: ServiceGround, leads: readonly LeadDoc[]): void {
  const waiting = leads.flatMap((lead) =>
    lead.due_at ? [{ lead_id: lead._id, queue: queueOf(lead), due_at: lead.due_at }] : [],
  );
  for (const [queue, of] of Map.groupBy(waiting, (w) => w.queue)) {
    const first = of.reduce((soonest, w) => (w.due_at < soonest.due_at ? w : soonest));
    ground.bus.broadcast("lead.queued", { lead_id: first.lead_id, queue, due_at: first.due_at.toISOString() });
  }
}
