import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import type { DeliveryDoc } from "../../../services/webhook/deliveries/deliveries.model.ts";
import type { Deeds } from "../actors/operators.ts";
import type { Scene } from "../engine/scene.ts";

/** What is not done yet, as a sentence; null: all leads are finished, all calls closed, all webhook events delivered. */
export function unfinishedWork({ database, carrier }: Scene, deeds: Deeds): string | null {
  const leads = new Map(database.docs<LeadDoc>("leads").map((l) => [l._id, l]));
  for (const { id } of deeds.accepted) {
    const lead = leads.get(id);
    if (lead && lead.status !== "FINISHED")
      return `lead ${id} is ${lead.status}, due ${lead.due_at?.toISOString() ?? "never"}, lease ${lead.lease_until?.toISOString() ?? "none"}`;
  }
  for (const lead of leads.values()) {
    if (lead.status !== "FINISHED") return `lead ${lead._id} is ${lead.status}`;
    if (lead.report_due_at) return `the webhook event of ${lead._id} is owed`;
  }
  const [live] = carrier.live();
  if (live) return `call ${live.id} is live`;
  for (const call of database.docs<CallDoc>("calls"))
    if (call.state !== "VOID" && !call.closed_at) return `call ${call._id} is ${call.state} and not closed`;
  for (const d of database.docs<DeliveryDoc>("deliveries"))
    if (d.state === "pending") return `delivery ${d._id} is pending until ${d.next_try_at?.toISOString() ?? "never"}`;
  return null;
}
