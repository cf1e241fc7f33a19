import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import type { DueLead } from "../../../shared/contracts/records/lead.ts";
import type { AdmissionInputs, QueueInputs } from "../admission-inputs.ts";
import { admitLead, type Admission } from "../admission/admission.ts";
import type { GateInputs } from "../admission/gates.ts";
import { zonesOf } from "../../../shared/numbering/callee-zones.ts";
import { calleeZonesOf } from "../memory/queue-schedule.ts";
import type { Dropped, StageResult } from "../dispositions.ts";
import type { PickedLead } from "./pick-fairly.ts";

/** A lead that every gate lets pass, but for the slot gate: that shows when a slot is reserved. */
export interface AdmittedLead extends PickedLead {
  plan: Plan;
  configuration: ConfigurationRecord;
  gate_inputs: GateInputs;
}

/** What the stage needs. */
export interface AdmitLeadsDeps extends Pick<ServiceDeps, "bus" | "clock"> {
  inputs: Pick<AdmissionInputs, "countryOf"> & Partial<Pick<AdmissionInputs, "destinations">>;
}

/** Whether each callee is on its reseller's blacklist; null where that is not enforced. */
async function blacklisted(picked: readonly PickedLead[], { bus }: AdmitLeadsDeps): Promise<(boolean | null)[]> {
  const enforced = picked.filter(({ open }) => open.inputs.plan?.configuration?.enforce_blacklist);
  if (enforced.length === 0) return picked.map(() => null);
  const pairs = enforced.map(({ lead: { reseller_id, merchant_id, phone_number } }) => ({
    reseller_id,
    merchant_id,
    phone_number,
  }));
  const { listed } = await bus.call("blacklist.check", { pairs });
  const known = new Map(enforced.map((p, i) => [p, listed[i] ?? true]));
  return picked.map((p) => known.get(p) ?? null);
}

/** The lead that a gate drops. */
export const droppedLead = (
  inputs: QueueInputs,
  lead: DueLead,
  { outcome, reason }: Extract<Admission, { verdict: "dropped" }>,
): Dropped => ({ inputs, lead, outcome, reason });

/** Whether a lead waits among callees of other time zones: the window may be closed for it alone, and it would stand in the way of the others. */
function isMisplaced({ inputs: { queue } }: PickedLead["open"], { phone_number }: DueLead): boolean {
  const zones = calleeZonesOf(queue.queue);
  return zones !== undefined && zones.join(" ") !== zonesOf(phone_number).join(" ");
}

/** Judges the picked leads one by one. A lead that a gate defers stays due; its queue is scheduled already. */
export async function admitLeads(
  picked: readonly PickedLead[],
  deps: AdmitLeadsDeps,
): Promise<StageResult<AdmittedLead>> {
  const at = deps.clock.now();
  const listed = await blacklisted(picked, deps);
  const ok: AdmittedLead[] = [];
  const dropped: Dropped[] = [];
  const misplaced: string[] = [];
  picked.forEach(({ open, lead }, i) => {
    const { plan, pauses } = open.inputs;
    const gate_inputs: GateInputs = {
      at,
      lead: { ...lead, masked: null },
      plan,
      pauses,
      blacklisted: listed[i] ?? null,
      country: deps.inputs.countryOf(lead.phone_number),
      ...(deps.inputs.destinations === undefined ? {} : { destinations: deps.inputs.destinations }),
      slots: null,
      rate: open.rate,
      carrier: open.carrier,
    };
    const admission = admitLead(gate_inputs);
    if (admission.verdict === "dropped") dropped.push(droppedLead(open.inputs, lead, admission));
    else if (admission.verdict === "admitted" && plan?.configuration)
      ok.push({ open, lead, plan, configuration: plan.configuration, gate_inputs });
    else if (admission.verdict === "deferred" && admission.gate === "window" && isMisplaced(open, lead))
      misplaced.push(lead.lead_id);
  });
  return { ok, deferred: misplaced.length === 0 ? [] : [{ kind: "misplaced", lead_ids: misplaced }], dropped };
}
