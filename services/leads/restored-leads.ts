import type { Model } from "mongoose";
import { DIALLED_MODES, RESTORED } from "../../shared/contracts/records/lead.ts";
import type { Ids } from "../../shared/ids.ts";
import type { Clock } from "../../shared/time/clock.ts";
import { LEAD_STATE, type LeadDoc, type LeadState } from "./leads.model.ts";
import { leadsRepository } from "./leads.repository.ts";
import { parkRestored } from "./rules/lead-state-machine.ts";

/** Leads parked in one write. */
const BATCH = 500;

/** Unfinished leads that are called by us: those of sessions and inbound calls ring nobody. Those that were parked for this already stay as they are. */
const MAY_BE_CALLED: Record<string, unknown> = {
  finished_at: null,
  status: { $in: ["BACKLOG", "RETRY", "PROCESSING"] },
  execution_mode: { $in: [...DIALLED_MODES] },
  call_direction: "OUTBOUND",
  phone_number: { $gt: "" },
  join_by: null,
  "faults.code": { $ne: RESTORED },
};

/**
 * Parks every unfinished lead that may have been called since the copy that this database was restored from was made, before any process works with it; how many.
 * May be run again: those that are parked for this stay as they are.
 */
export async function parkRestoredLeads(model: Model<LeadDoc>, ids: Ids, clock: Clock): Promise<number> {
  const leads = leadsRepository(model, ids);
  let parked = 0;
  const park = async (some: LeadState[]): Promise<void> => {
    const made = await leads.transitionMany(some.map((lead) => parkRestored(lead, clock.now())));
    parked += made.filter((lead) => lead !== null).length;
  };
  let batch: LeadState[] = [];
  // by an index of unfinished leads whose fields parking does not change
  for await (const lead of model
    .find(MAY_BE_CALLED, LEAD_STATE)
    .hint("unfinished_of_owner")
    .lean<LeadState[]>()
    .cursor()) {
    batch.push(lead);
    if (batch.length < BATCH) continue;
    await park(batch);
    batch = [];
  }
  if (batch.length > 0) await park(batch);
  return parked;
}
