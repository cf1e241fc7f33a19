import type { Model } from "mongoose";
import type { Scope } from "../../shared/contracts/identity.ts";
import type { LeadDoc } from "./leads.model.ts";
import type { Move } from "./lead-machine.ts";

/** What a list of leads is narrowed by. */
export interface LeadFilter { status?: string; outcome?: string; template_id?: string; merchant_id?: string; include_test?: boolean }

/** Reads and guarded writes of the collection `leads`. What a person reads takes a scope; the machine's moves carry their own guard. */
export interface LeadsRepository {
  insert(lead: LeadDoc): Promise<void>;
  /** Runs a move; the lead as it is afterwards, or null when the guard no longer held. */
  move(move: Move): Promise<LeadDoc | null>;
  byId(scope: Scope, lead_id: string): Promise<LeadDoc | null>;
  /** For holders of a baton, who are no persons. */
  byBaton(lead_id: string): Promise<LeadDoc | null>;
  byRequest(scope: Scope, request_id: string, limit: number): Promise<LeadDoc[]>;
  page(scope: Scope, filter: LeadFilter, after: Record<string, unknown>, limit: number): Promise<LeadDoc[]>;
  /** Whether a lead of this owner and template has not finished yet; by indexes that hold unfinished leads only. */
  anyUnfinished(of: { reseller_id: string; merchant_id?: string; template_id?: string }): Promise<boolean>;
  due(now: Date, limit: number): Promise<LeadDoc[]>;
  lostLeases(now: Date, limit: number): Promise<LeadDoc[]>;
  owedReports(now: Date, limit: number): Promise<LeadDoc[]>;
  /** Takes or postpones an owed report; guarded by the instant seen. */
  reportTaken(lead_id: string, seen: Date): Promise<void>;
  reportLater(lead_id: string, seen: Date, at: Date): Promise<void>;
}

const scoped = (scope: Scope): Record<string, unknown> => ({
  ...(scope.reseller_id === null ? {} : { reseller_id: scope.reseller_id }),
  ...(scope.merchant_id === null ? {} : { merchant_id: scope.merchant_id }),
});

const given = (filter: LeadFilter): Record<string, unknown> => ({
  ...(filter.status ? { status: filter.status } : {}), ...(filter.outcome ? { outcome: filter.outcome } : {}),
  ...(filter.template_id ? { template_id: filter.template_id } : {}), ...(filter.merchant_id ? { merchant_id: filter.merchant_id } : {}),
  ...(filter.include_test ? {} : { is_test: false }),
});

const MAX_QUERY_MS = 8000;

/** The repository over a mongoose model. Every filter value is a plain string, number or date put there by us. */
export function leadsRepository(model: Model<LeadDoc>): LeadsRepository {
  const find = (filter: Record<string, unknown>) => model.find(filter).maxTimeMS(MAX_QUERY_MS).lean<LeadDoc[]>();
  return {
    insert: async (lead) => { await model.create(lead); },
    move: (m) => model.findOneAndUpdate(m.filter, m.update, { returnDocument: "after" }).maxTimeMS(MAX_QUERY_MS).lean<LeadDoc>(),
    byId: (scope, lead_id) => model.findOne({ _id: lead_id, ...scoped(scope) }).maxTimeMS(MAX_QUERY_MS).lean<LeadDoc>(),
    byBaton: (lead_id) => model.findOne({ _id: lead_id }).maxTimeMS(MAX_QUERY_MS).lean<LeadDoc>(),
    byRequest: (scope, request_id, limit) => find({ ...scoped(scope), request_id }).sort({ created_at: -1, _id: -1 }).limit(limit),
    page: (scope, filter, after, limit) => find({ $and: [scoped(scope), given(filter), after] }).sort({ created_at: -1, _id: -1 }).limit(limit),
    anyUnfinished: async (of) => await model.findOne({ ...of, finished_at: null }, { _id: 1 }).maxTimeMS(MAX_QUERY_MS).lean() !== null,
    due: (now, limit) => find({ due_at: { $lte: now } }).sort({ due_at: 1, _id: 1 }).limit(limit),
    lostLeases: (now, limit) => find({ lease_until: { $lt: now } }).sort({ lease_until: 1 }).limit(limit),
    owedReports: (now, limit) => find({ report_due_at: { $lte: now } }).sort({ report_due_at: 1 }).limit(limit),
    reportTaken: async (lead_id, seen) => { await model.updateOne({ _id: lead_id, report_due_at: seen }, { $unset: { report_due_at: 1 } }); },
    reportLater: async (lead_id, seen, at) => { await model.updateOne({ _id: lead_id, report_due_at: seen }, { $set: { report_due_at: at } }); },
  };
}
