import type { HistoryEntry } from "../leads.model.ts";

/** What a transition adds to the lead's history. */
interface HistoryPush {
  history: { $each: HistoryEntry[]; $slice: number };
}

/** One legal transition as a guarded write: it is applied whole or, when the guard no longer matches, not at all. */
export interface LeadTransition {
  filter: Record<string, unknown>;
  update: {
    $set: Record<string, unknown>;
    $unset?: Record<string, 1>;
    $inc?: Record<string, number>;
    $push?: HistoryPush;
  };
}

/** Transitions of one lead that its history keeps; the oldest go first. */
const HISTORY_KEPT = 200;
/** One entry more of its history. */
export const historyEntry = (event: string, at: Date, details: Record<string, unknown>): { $push: HistoryPush } => ({
  $push: { history: { $each: [{ event, at, details }], $slice: -HISTORY_KEPT } },
});

/** A lead as the writer saw it. */
export interface SeenLead {
  lead_id: string;
  due_at: Date;
}

/** The lease of a lead: every write out of PROCESSING names it. claim_no is the fencing token. */
export interface Lease {
  lead_id: string;
  claim_no: number;
}

/** What the history of a lead begins with. */
export const queuedHistory = (now: Date, due_at: Date | null, execution_mode: string): HistoryEntry => ({
  event: "queued",
  at: now,
  details: { due_at: due_at?.toISOString() ?? null, execution_mode },
});

/** Facts that arrive early or late; status is never touched. `details` is what the history keeps of them. `later`: only where another attempt has begun since. */
export const annotate = (
  lease: Lease,
  facts: Record<string, unknown>,
  details: Record<string, unknown>,
  now: Date,
  later = false,
): LeadTransition => ({
  filter: { _id: lease.lead_id, claim_no: later ? { $gt: lease.claim_no } : lease.claim_no },
  update: {
    $set: { ...facts, updated_at: now },
    ...historyEntry("noted", now, { claim_no: lease.claim_no, ...details }),
  },
});
