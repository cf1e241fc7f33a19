import { Schema } from "mongoose";
import {
  ENDED_KINDS,
  type EndedCounts,
  type EndedKind,
  type RetentionDays,
  type RetentionKind,
  type RetentionRecord,
} from "../../../shared/contracts/requests/retention.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { whenPresent } from "../../../shared/database/partial-indexes.ts";
import type { CounterSum } from "./lead-counters.model.ts";

/** A place in the order of the leads of a reseller by their ends. */
export interface EndedAt {
  finished_at: Date;
  lead_id: string;
}

/** A run of retention, and how far it is. */
export interface RetentionRun {
  started_at: Date;
  finished_at: Date | null;
  /** The kind that it is at, and behind which lead it goes on. */
  kind: RetentionKind;
  after: EndedAt;
  /** When the first lead of this kind ended that had to wait; absent: none had to. */
  waits_from?: Date;
  waiting: number;
  ended: EndedCounts;
}

/**
 * Leads of one batch that go now, and what they add to the counters. It is written before anything of it is done: whoever goes on after a process died
 * adds the same figures under the same number, and deletes the same leads.
 */
export interface LeadFold {
  /** Counts up with each fold of the reseller. */
  no: number;
  lead_ids: string[];
  add: CounterSum[];
}

/** How long the records of a reseller are kept, and the run that ends them. `_id`: the reseller. */
export interface RetentionDoc {
  _id: string;
  days: RetentionDays;
  /** What ends is written to the archive first; absent: it is not. */
  archive?: boolean;
  /** It was so once: the archive may have something of the reseller. */
  archived?: true;
  set_by: NonNullable<RetentionRecord["set_by"]>;
  updated_at: Date;
  /** When a process takes it next; while one is at it, when that counts as gone. Absent: nothing is set. */
  due_at?: Date;
  /** Times it was taken: the fencing token of who has it. */
  turn: number;
  run?: RetentionRun;
  /** The fold that is not done yet. */
  fold?: LeadFold | null;
  /** Folds there were. */
  folds?: number;
  /** Kind -> what belongs to leads that ended before then has ended already. Of leads themselves there is none: they are gone. */
  done_to: Partial<Record<RetentionKind, Date>>;
}

const Free = Schema.Types.Mixed;

/** Collection `retentions`; owner: the leads service. */
export const retentionSchema = new Schema<RetentionDoc>(
  {
    _id: { type: String, required: true },
    days: { type: Free, required: true },
    archive: Boolean,
    archived: Boolean,
    set_by: { type: Free, required: true },
    updated_at: { type: Date, required: true },
    due_at: Date,
    turn: { type: Number, required: true },
    run: Free,
    fold: Free,
    folds: Number,
    done_to: { type: Free, default: {} },
  },
  SCHEMA_OPTIONS,
);
retentionSchema.index({ due_at: 1 }, { name: "due", ...whenPresent("due_at") });

/** Nothing is set: nothing ends. */
export const NO_DAYS: RetentionDays = {
  recordings_days: null,
  transcripts_days: null,
  deliveries_days: null,
  leads_days: null,
};

/** The period of a kind, days; null: it never ends. */
export const daysOf = (days: RetentionDays, kind: RetentionKind): number | null => days[`${kind}_days`];

const NONE = Object.fromEntries(ENDED_KINDS.map((kind) => [kind, 0])) as Record<EndedKind, number>;

/** Document -> what is shown; null: nothing was ever set. */
export const toRetention = (reseller_id: string, d: RetentionDoc | null): RetentionRecord => ({
  reseller_id,
  ...(d?.days ?? NO_DAYS),
  archive: d?.archive ?? false,
  set_by: d?.set_by ?? null,
  updated_at: d?.updated_at.toISOString() ?? null,
  next_run_at: d?.due_at?.toISOString() ?? null,
  last_run: d?.run
    ? {
        started_at: d.run.started_at.toISOString(),
        finished_at: d.run.finished_at?.toISOString() ?? null,
        waiting: d.run.waiting,
        ended: { ...NONE, ...d.run.ended },
      }
    : null,
});
