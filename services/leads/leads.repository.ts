import type { Model, PipelineStage } from "mongoose";
import { within, type Scope } from "../../shared/contracts/identity.ts";
import type { Ids } from "../../shared/ids.ts";
import { joining } from "../../shared/joining.ts";
import { PAGE_ORDER, type PageFilter } from "../../shared/page.ts";
import { insertEach, type Written } from "../../shared/unordered-insert.ts";
import { given, type LeadFilter } from "./lead-filters.ts";
import type { ClaimedDoc } from "./lead-views.ts";
import type { HistoryEntry, LeadDoc } from "./leads.model.ts";
import type { Move } from "./lead-machine.ts";

/** Reads and guarded writes of the collection `leads`. What a person reads takes a scope; the machine's moves carry their own guard. */
export interface LeadsRepository {
  /** Writes new leads, all in one go, each for itself. Throws when nothing is known of any of them. */
  insert(leads: readonly LeadDoc[]): Promise<Written[]>;
  /** Those of the ids that exist; for those who gave the ids out. */
  existing(lead_ids: readonly string[]): Promise<Set<string>>;
  /** Runs a move; the lead as it is afterwards, or null when the guard no longer held. A move to another status whose answer is lost is looked up before that is a failure. */
  move(move: Move): Promise<LeadDoc | null>;
  /** Runs claims in one go, in order; null where the guard no longer held. */
  claimAll(claims: readonly Move[]): Promise<(ClaimedDoc | null)[]>;
  byId(scope: Scope, lead_id: string): Promise<LeadDoc | null>;
  /** For holders of a baton, who are no persons. */
  byBaton(lead_id: string): Promise<LeadDoc | null>;
  byRequest(scope: Scope, request_id: string, limit: number): Promise<LeadDoc[]>;
  /** Whether there is a lead whose last call has this id. */
  hasCall(scope: Scope, call_id: string): Promise<boolean>;
  /** A lead with its history; null when it is not in the scope. */
  withHistory(scope: Scope, lead_id: string): Promise<LeadDoc & { history: HistoryEntry[] } | null>;
  page(scope: Scope, filter: LeadFilter, after: PageFilter, limit: number): Promise<LeadDoc[]>;
  /** Groups the leads that a filter lets through; throws the database's MaxTimeMSExpired after `maxTimeMs`. */
  figures<Group>(scope: Scope, filter: LeadFilter, stages: PipelineStage[], maxTimeMs: number): Promise<Group[]>;
  /** Whether a lead of this owner and template has not finished yet; by indexes that hold unfinished leads only. */
  anyUnfinished(of: { reseller_id: string; merchant_id?: string; template_id?: string }): Promise<boolean>;
  due(now: Date, limit: number): Promise<LeadDoc[]>;
  lostLeases(now: Date, limit: number): Promise<LeadDoc[]>;
  owedReports(now: Date, limit: number): Promise<LeadDoc[]>;
  /** Takes or postpones an owed report; guarded by the instant seen. */
  reportTaken(lead_id: string, seen: Date): Promise<void>;
  reportLater(lead_id: string, seen: Date, at: Date): Promise<void>;
}

const MAX_QUERY_MS = 8000;
/** Leads pushed one by one at the same moment that go to the database in one insert; each still gets its own answer. */
const INSERTED_AT_ONCE = 100;

/** The history is read by the timeline only; it must not weigh on everything else. */
const PLAIN = { history: 0 } as const;
/** What the holder of the baton is told. */
const CLAIMED = { claim_no: 1, attempt_count: 1, reseller_id: 1, merchant_id: 1, template_id: 1, phone_number: 1, payload: 1, execution_mode: 1, pre_check_defers: 1 } as const;
/** Bytes of randomness in the mark of a write. */
const MARK_BYTES = 9;

/** The move with a mark by which its writer knows it again. */
const marked = (m: Move, last_move: string): Move => ({ filter: m.filter, update: { ...m.update, $set: { ...m.update.$set, last_move } } });

/** What a list shows. */
const SUMMARY = { payload: 0, meta: 0, history: 0 } as const;

/** The repository over a mongoose model. Every filter value is a plain string, number or date put there by us. */
export function leadsRepository(model: Model<LeadDoc>, ids: Pick<Ids, "base64url">): LeadsRepository {
  const find = (filter: Record<string, unknown>) => model.find(filter, PLAIN).maxTimeMS(MAX_QUERY_MS).lean<LeadDoc[]>();
  const findOne = (filter: Record<string, unknown>) => model.findOne(filter, PLAIN).maxTimeMS(MAX_QUERY_MS).lean<LeadDoc>();
  const moved = (m: Move) => model.findOneAndUpdate(m.filter, m.update, { returnDocument: "after", projection: PLAIN }).maxTimeMS(MAX_QUERY_MS).lean<LeadDoc>().exec();
  const insertMany = (leads: readonly LeadDoc[]): Promise<Written[]> => insertEach(model, leads);
  const insertOne = joining(insertMany, INSERTED_AT_ONCE);
  return {
    insert: async (leads) => (leads.length === 1 ? Promise.all(leads.map((lead) => insertOne(lead))) : insertMany(leads)),
    async existing(lead_ids) {
      const found = await model.find({ _id: { $in: [...lead_ids] } }, { _id: 1 }).maxTimeMS(MAX_QUERY_MS).lean<{ _id: string }[]>();
      return new Set(found.map((d) => d._id));
    },
    async move(m) {
      if (!("status" in m.update.$set)) return moved(m);
      const mark = ids.base64url(MARK_BYTES);
      return moved(marked(m, mark)).catch(async (error: unknown) => await findOne({ _id: m.filter["_id"], last_move: mark }) ?? Promise.reject(error));
    },
    async claimAll(claims) {
      const mark = ids.base64url(MARK_BYTES);
      const writes = claims.map((m) => ({ updateOne: marked(m, mark) }));
      const failure: unknown = await model.bulkWrite(writes, { ordered: false }).then(() => null, (error: unknown) => error);
      const applied: Record<string, unknown> = { _id: { $in: claims.map((m) => m.filter["_id"]) }, last_move: mark };
      const mine = await model.find(applied, CLAIMED).maxTimeMS(MAX_QUERY_MS).lean<ClaimedDoc[]>();
      if (failure !== null && mine.length === 0) throw failure;
      const byId = new Map<unknown, ClaimedDoc>(mine.map((d) => [d._id, d]));
      return claims.map(({ filter: { _id } }) => {
        const claimed = byId.get(_id) ?? null;
        byId.delete(_id);
        return claimed;
      });
    },
    byId: (scope, lead_id) => findOne({ _id: lead_id, ...within(scope) }),
    byBaton: (lead_id) => findOne({ _id: lead_id }),
    byRequest: (scope, request_id, limit) => find({ ...within(scope), request_id }).sort({ created_at: -1, _id: -1 }).limit(limit),
    hasCall: async (scope, call_id) => await model.findOne({ call_id, ...within(scope) }, { _id: 1 }).maxTimeMS(MAX_QUERY_MS).lean() !== null,
    async withHistory(scope, lead_id) {
      const lead = await model.findOne({ _id: lead_id, ...within(scope) }).maxTimeMS(MAX_QUERY_MS).lean<LeadDoc>();
      return lead && { ...lead, history: lead.history ?? [] };
    },
    page: (scope, filter, after, limit) => model.find({ $and: [within(scope), given(filter), after] }, SUMMARY).sort(PAGE_ORDER).limit(limit).maxTimeMS(MAX_QUERY_MS).lean<LeadDoc[]>(),
    figures: <Group>(scope: Scope, filter: LeadFilter, stages: PipelineStage[], maxTimeMs: number) =>
      model.aggregate<Group>([{ $match: { $and: [within(scope), given(filter)] } }, ...stages]).option({ maxTimeMS: maxTimeMs }).exec(),
    anyUnfinished: async (of) => await model.findOne({ ...of, finished_at: null }, { _id: 1 }).maxTimeMS(MAX_QUERY_MS).lean() !== null,
    due: (now, limit) => find({ due_at: { $lte: now } }).sort({ due_at: 1, _id: 1 }).limit(limit),
    lostLeases: (now, limit) => find({ lease_until: { $lt: now } }).sort({ lease_until: 1 }).limit(limit),
    owedReports: (now, limit) => find({ report_due_at: { $lte: now } }).sort({ report_due_at: 1 }).limit(limit),
    reportTaken: async (lead_id, seen) => { await model.updateOne({ _id: lead_id, report_due_at: seen }, { $unset: { report_due_at: 1 } }); },
    reportLater: async (lead_id, seen, at) => { await model.updateOne({ _id: lead_id, report_due_at: seen }, { $set: { report_due_at: at } }); },
  };
}
