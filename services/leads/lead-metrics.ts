import type { Model } from "mongoose";
import type { ServiceDeps } from "../../shared/bus/bus.ts";
import { RESTORED } from "../../shared/contracts/records/lead.ts";
import { remembered } from "../../shared/metrics/remembered.ts";
import type { LeadDoc } from "./leads.model.ts";

/** Leads counted of one state: beyond it the exact number says no more, and counting would cost more than it tells. */
const MOST_COUNTED = 100_000;
const READ_EVERY_MS = 15_000;

const PARKED = { "faults.parked_at": { $gt: new Date(0) } };

/** States of leads that are not finished, each by an index. */
const FILTERS: Readonly<Record<string, Record<string, unknown>>> = {
  ...Object.fromEntries(["BACKLOG", "RETRY", "PROCESSING"].map((status) => [status, { status }])),
  parked: PARKED,
  restored: { ...PARKED, "faults.code": RESTORED },
};

/** The model, whose leads that are not finished are counted when the metrics are asked for. */
export function measured(
  { metrics, clock }: Pick<ServiceDeps, "metrics" | "clock">,
  model: Model<LeadDoc>,
): Model<LeadDoc> {
  const counted = async (state: string, filter: Record<string, unknown>) => ({
    labels: { state },
    value: await model.countDocuments(filter, { limit: MOST_COUNTED }),
  });
  metrics.gauge(
    "callagent_leads",
    remembered(clock, READ_EVERY_MS, () =>
      Promise.all(Object.entries(FILTERS).map(([state, filter]) => counted(state, filter))),
    ),
  );
  return model;
}
