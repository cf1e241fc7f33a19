import type { Model, PipelineStage } from "mongoose";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { insertNew, updateEach } from "../../../shared/database/write-batches.ts";
import type { Group } from "../lists/lead-summary.ts";
import { OVER } from "../rules/lead-transition.ts";
import type { CounterSum, LeadCounterDoc } from "./lead-counters.model.ts";
import type { LeadFold } from "./retentions.model.ts";

/** What figures are narrowed by. */
interface CounterFilter {
  template_id?: string | undefined;
  merchant_id?: string | undefined;
  from: Date;
  to: Date;
}

/** Writes and reads of the collection `lead_counters`. */
export interface LeadCounters {
  /** Adds a fold of a reseller: once, however often it is asked for, and whoever else adds it or later ones meanwhile. */
  add(reseller_id: string, fold: LeadFold): Promise<void>;
  /** The figures of days that begin in the period, in the groups that live leads have. */
  figures(scope: Scope, filter: CounterFilter, limit: number, maxTimeMs: number): Promise<Group[]>;
}

/** A group of counters: their leads are all over. */
type CounterGroup = Omit<Group, "_id"> & { _id: Omit<Group["_id"], "status"> };

const FIGURES = ["leads", "attempts", "called", "answered", "talk_seconds", "cost", "do_not_call"] as const;
const NOTHING = Object.fromEntries(FIGURES.map((name) => [name, 0])) as Record<(typeof FIGURES)[number], number>;

/** The counter of a group. The outcome is a template's own word: it comes last. */
const idOf = (reseller_id: string, { merchant_id, template_id, day, outcome }: CounterSum): string =>
  [reseller_id, merchant_id ?? "", template_id, day.toISOString().slice(0, "2026-01-01".length), outcome ?? ""].join(
    " ",
  );

const grouping = (limit: number): PipelineStage[] => [
  {
    $group: {
      _id: { template_id: "$template_id", outcome: "$outcome" },
      template: { $max: "$template" },
      ...Object.fromEntries(FIGURES.map((name) => [name, { $sum: `$${name}` }])),
    },
  },
  { $limit: limit },
];

/** The repository over its model. */
export const leadCountersRepository = (model: Model<LeadCounterDoc>): LeadCounters => ({
  async add(reseller_id, { no, add }) {
    if (add.length === 0) return;
    const counters = add.map((sum) => ({ _id: idOf(reseller_id, sum), sum }));
    // Made first: what is added may be refused, which an upsert would take for a counter that is missing.
    await insertNew(
      model,
      counters.map(({ _id, sum }) => ({ ...sum, ...NOTHING, _id, reseller_id, through: 0 })),
    );
    await updateEach(
      model,
      counters.map(({ _id, sum }) => ({
        filter: { _id, through: { $lt: no } },
        update: {
          $set: { through: no, template: sum.template },
          $inc: Object.fromEntries(FIGURES.map((name) => [name, sum[name]])),
        },
      })),
    );
  },
  async figures(scope, { from, to, template_id, merchant_id }, limit, maxTimeMs) {
    const groups = await model
      .aggregate<CounterGroup>([
        {
          $match: {
            $and: [
              within(scope),
              template_id === undefined ? {} : { template_id },
              merchant_id === undefined ? {} : { merchant_id },
              { day: { $gte: from, $lt: to } },
            ],
          },
        },
        ...grouping(limit),
      ])
      .option({ maxTimeMS: maxTimeMs })
      .exec();
    return groups.map(({ _id, ...sums }) => ({ ...sums, _id: { ..._id, status: OVER } }));
  },
});
