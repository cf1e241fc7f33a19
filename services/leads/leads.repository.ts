import { IS_PARKED } from "./rules/faults.ts";
import type { Model, PipelineStage } from "mongoose";
import { within, type Scope } from "../../shared/contracts/records/identity.ts";
import { parseCallRef, type Ids } from "../../shared/ids.ts";
import { GuardedCollection } from "../../shared/database/guarded-collection.ts";
import { batched } from "../../shared/batching.ts";
import { PAGE_ORDER, type PageFilter } from "../../shared/page.ts";
import { insertEach, type Written } from "../../shared/database/write-batches.ts";
import { filterQuery, type LeadFilter } from "./lists/lead-filters.ts";
import { carrying } from "./events/carried-events.ts";
import { owingOf, type OwingLead } from "./events/published-event.ts";
import { outboxRepository, type OutboxRepository } from "./events/outbox.repository.ts";
import {
  LEAD_STATE,
  type HistoryEntry,
  type LeadDoc,
  type LeadState,
  type NewLead,
  type Owing,
} from "./leads.model.ts";
import type { LeadTransition } from "./rules/lead-transition.ts";

/** A lead as its claim reads it. */
export type ClaimedDoc = Omit<LeadDoc, "history" | "meta" | "outbox">;
/** What an abort needs to know: whether the lead waits, and whether it will owe a webhook event. */
export type BriefDoc = Pick<LeadDoc, "_id" | "status"> & Owing;
/** A finished lead as its webhook event needs it. */
export type OwedDoc = LeadState & Pick<LeadDoc, "meta">;

/** What resuming needs to know. */
export type RestingDoc = Pick<LeadDoc, "_id" | "due_at" | "created_at" | "aged_from" | "faults">;
/** Which parked leads are sought. */
export interface RestingFilter {
  lead_ids?: readonly string[];
  template_id?: string;
  code?: string;
}

/** Reads and guarded writes of the collection `leads`. What a person reads takes a scope; transitions carry their own guard. */
export interface LeadsRepository extends OutboxRepository {
  /** Writes new leads, all in one go, each for itself. Throws when nothing is known of any of them. */
  insert(leads: readonly NewLead[]): Promise<Written[]>;
  /** The existing ids among these; for services that issued them. */
  existing(lead_ids: readonly string[]): Promise<Set<string>>;
  /** Makes a transition; the lead as it is afterwards, or null when the guard no longer matched (shared/database/guarded-collection.ts). */
  transition(transition: LeadTransition): Promise<LeadState | null>;
  /** Makes transitions in one go, in order; null where the guard no longer matched. */
  transitionMany(transitions: readonly LeadTransition[]): Promise<(LeadState | null)[]>;
  /** The same for claims, whose owners get the payload. */
  claimMany(claims: readonly LeadTransition[]): Promise<(ClaimedDoc | null)[]>;
  /** What is needed to abort each of the leads that are in the scope. */
  briefs(scope: Scope, lead_ids: readonly string[]): Promise<BriefDoc[]>;
  byId(scope: Scope, lead_id: string): Promise<LeadDoc | null>;
  /** For the owners of leases, which are services. */
  byLease(lead_id: string): Promise<LeadState | null>;
  /** The payload of a lead; null: there is no such lead. */
  payloadOf(lead_id: string): Promise<LeadDoc["payload"] | null>;
  /** The lead whose session a link is for. */
  byLink(link_hash: string): Promise<LeadDoc | null>;
  /** Gives a lead a link; the one before is void. */
  setLink(lead_id: string, link_hash: string): Promise<void>;
  byRequest(scope: Scope, request_id: string, after: PageFilter, limit: number): Promise<LeadDoc[]>;
  /** A lead with its history; null when it is not in the scope. */
  withHistory(scope: Scope, lead_id: string): Promise<(LeadDoc & { history: HistoryEntry[] }) | null>;
  page(scope: Scope, filter: LeadFilter, after: PageFilter, limit: number): Promise<LeadDoc[]>;
  /** Groups the leads that a filter lets through; throws the database's MaxTimeMSExpired after `maxTimeMs`. */
  figures<Group>(scope: Scope, filter: LeadFilter, stages: PipelineStage[], maxTimeMs: number): Promise<Group[]>;
  /** Whether a lead of this owner and template has not finished yet; by indexes that contain unfinished leads only. */
  anyUnfinished(of: { reseller_id: string; merchant_id?: string; template_id?: string }): Promise<boolean>;
  expiredLeases(now: Date, limit: number): Promise<LeadState[]>;
  /** Session leads that nobody has joined in time. */
  unjoined(now: Date, limit: number): Promise<LeadState[]>;
  /** Parked leads of a scope that are due later than this, the longest parked first. */
  resting(scope: Scope, which: RestingFilter, now: Date, limit: number): Promise<RestingDoc[]>;
  /** How many leads are parked by the code of their faults, of at most `limit` of them; by an index that contains no others. */
  parkedByCode(limit: number): Promise<{ code: string; count: number }[]>;
  owedEvents(now: Date, limit: number): Promise<OwedDoc[]>;
  /** Calls whose end is owed to the dialer at this moment. */
  owedCallEnds(now: Date, limit: number): Promise<string[]>;
  /** The dialer knows that these calls are to end. */
  callEndsTold(refs: readonly string[]): Promise<void>;
  /** These are told later, unless another process has done so meanwhile. */
  postponeCallEnds(refs: readonly string[], at: Date): Promise<void>;
  /** The webhook service has the events: these leads owe none any longer. */
  eventsEnqueued(lead_ids: readonly string[]): Promise<void>;
  /** These leads hand their events over later, unless another process has done so meanwhile. */
  postponeEvents(lead_ids: readonly string[], at: Date): Promise<void>;
}

/** Leads pushed one by one at the same moment that go to the database in one insert; each still gets its own answer. */
const INSERTS_PER_BATCH = 100;

/** Leads read by the owners of their leases at the same moment. */
const READS_PER_BATCH = 100;

/** The history is read by the timeline only; it must not weigh on everything else. */
const PLAIN = { history: 0, outbox: 0 } as const;
const CLAIMED = { history: 0, meta: 0 } as const;
const BRIEF = { status: 1, "payload.reporting_webhook_url": 1 } as const;
/** Bytes of randomness in the mark of a write. */
const MARK_BYTES = 9;

/** What a list shows. */
const SUMMARY = { payload: 0, meta: 0, history: 0, outbox: 0 } as const;

/** Hears of writes that made events. */
type OnEvents = (lead_ids: readonly string[], leads: readonly OwingLead[]) => void;

/** The repository over a mongoose model. Every filter value is a plain string, number or date put there by us. `onEvents` runs after writes that made events, with the ids of their leads, and with the leads as they were read afterwards where they were. */
export const leadsRepository = (
  model: Model<LeadDoc>,
  ids: Pick<Ids, "base64url">,
  onEvents: OnEvents = () => undefined,
): LeadsRepository => ({
  ...writes(model, ids, onEvents),
  ...outboxRepository(model),
  ...reads(model),
  ...parkedReads(model),
});

const statesIn = (model: Model<LeadDoc>, filter: Record<string, unknown>) =>
  model.find(filter, LEAD_STATE).lean<LeadState[]>();

/** The leads that owe the end of these calls. */
const endsOf = (refs: readonly string[]) => ({
  _id: { $in: refs.flatMap((ref) => parseCallRef(ref)?.lead_id ?? []) },
  "call_end.ref": { $in: [...refs] },
});

/** The leads that have events by these transitions. */
const withEvents = (transitions: readonly LeadTransition[]): string[] =>
  transitions.flatMap(({ filter, events }) => (events.length > 0 ? String(filter["_id"]) : []));

/** A lead as a write reads it: with its outbox, which is for the publisher alone. */
type WithOutbox<Read> = Read & Pick<LeadDoc, "outbox">;

function withoutOutbox<Read extends object>(doc: WithOutbox<Read> | null): Omit<WithOutbox<Read>, "outbox"> | null {
  if (doc === null) return null;
  const { outbox: _outbox, ...rest } = doc;
  return rest;
}

function writes(model: Model<LeadDoc>, ids: Pick<Ids, "base64url">, onEvents: OnEvents) {
  const mark = (): string => ids.base64url(MARK_BYTES);
  const guarded = new GuardedCollection<LeadDoc, WithOutbox<LeadState>>(model, {
    mark,
    projection: { ...LEAD_STATE, outbox: 1 },
  });
  const claims = new GuardedCollection<LeadDoc, WithOutbox<ClaimedDoc>>(model, { mark, projection: CLAIMED });
  const insertMany = (leads: readonly LeadDoc[]): Promise<Written[]> => insertEach(model, leads);
  const insertOne = batched(insertMany, { maxItems: INSERTS_PER_BATCH });
  /** Also after a write that failed: it may have been made. `leadsOf`: the leads with their outboxes, as they are behind it. */
  const telling = async <T>(lead_ids: readonly string[], write: Promise<T>, leadsOf: (of: T) => OwingLead[]) => {
    if (lead_ids.length === 0) return write;
    let leads: OwingLead[] = [];
    try {
      const done = await write;
      leads = leadsOf(done);
      return done;
    } finally {
      onEvents(lead_ids, leads);
    }
  };
  const readBack = (docs: readonly (OwingLead | null)[]): OwingLead[] =>
    docs.flatMap((doc) => (doc === null ? [] : owingOf(doc)));
  return {
    insert: (leads) =>
      telling(
        leads.map(({ _id }) => _id),
        leads.length === 1 ? Promise.all(leads.map((lead) => insertOne(lead))) : insertMany(leads),
        (written) => readBack(leads.map((lead, i) => (written[i] === "written" ? lead : null))),
      ),
    transition: async (t) =>
      withoutOutbox(await telling(withEvents([t]), guarded.transition(carrying(t)), (doc) => readBack([doc]))),
    transitionMany: async (some) =>
      (await telling(withEvents(some), guarded.transitionMany(some.map(carrying)), readBack)).map(withoutOutbox),
    claimMany: async (some) =>
      (await telling(withEvents(some), claims.transitionMany(some.map(carrying)), readBack)).map(withoutOutbox),
    async eventsEnqueued(lead_ids) {
      await model.updateMany({ _id: { $in: [...lead_ids] } }, { $unset: { report_due_at: 1 } });
    },
    async setLink(_id, link_hash) {
      await model.updateOne({ _id }, { $set: { link_hash } });
    },
    async callEndsTold(refs) {
      await model.updateMany(endsOf(refs), { $unset: { call_end: 1 } });
    },
    async postponeCallEnds(refs, at) {
      await model.updateMany(endsOf(refs), { $set: { "call_end.due_at": at } });
    },
    async postponeEvents(lead_ids, at) {
      await model.updateMany(
        { _id: { $in: [...lead_ids] }, report_due_at: { $exists: true } },
        { $set: { report_due_at: at } },
      );
    },
  } satisfies Partial<LeadsRepository>;
}

function reads(model: Model<LeadDoc>) {
  const byId = batched(
    async (lead_ids: string[]): Promise<(LeadState | null)[]> => {
      const found = new Map((await statesIn(model, { _id: { $in: lead_ids } })).map((lead) => [lead._id, lead]));
      return lead_ids.map((id) => found.get(id) ?? null);
    },
    { maxItems: READS_PER_BATCH },
  );
  const summaries = (filters: Record<string, unknown>[], limit: number): Promise<LeadDoc[]> =>
    model.find({ $and: filters }, SUMMARY).sort(PAGE_ORDER).limit(limit).lean<LeadDoc[]>();
  return {
    async existing(lead_ids) {
      const found = await model.find({ _id: { $in: [...lead_ids] } }, { _id: 1 }).lean<{ _id: string }[]>();
      return new Set(found.map((lead) => lead._id));
    },
    briefs: (scope, lead_ids) =>
      model.find({ _id: { $in: [...lead_ids] }, ...within(scope) }, BRIEF).lean<BriefDoc[]>(),
    byId: (scope, lead_id) => model.findOne({ _id: lead_id, ...within(scope) }, PLAIN).lean<LeadDoc>(),
    byLease: byId,
    byLink: (link_hash) => model.findOne({ link_hash }, PLAIN).lean<LeadDoc>(),
    payloadOf: async (lead_id) =>
      (await model.findOne({ _id: lead_id }, { payload: 1 }).lean<Pick<LeadDoc, "payload">>())?.payload ?? null,
    byRequest: (scope, request_id, after, limit) => summaries([{ ...within(scope), request_id }, after], limit),
    async withHistory(scope, lead_id) {
      const lead = await model.findOne({ _id: lead_id, ...within(scope) }).lean<LeadDoc>();
      return lead && { ...lead, history: lead.history ?? [] };
    },
    page: (scope, filter, after, limit) => summaries([within(scope), filterQuery(filter), after], limit),
    figures: <Group>(scope: Scope, filter: LeadFilter, stages: PipelineStage[], maxTimeMs: number) =>
      model
        .aggregate<Group>([{ $match: { $and: [within(scope), filterQuery(filter)] } }, ...stages])
        .option({ maxTimeMS: maxTimeMs })
        .exec(),
    anyUnfinished: async (of) => (await model.findOne({ ...of, finished_at: null }, { _id: 1 }).lean()) !== null,
    expiredLeases: (now, limit) =>
      statesIn(model, { lease_until: { $lt: now } })
        .sort({ lease_until: 1 })
        .limit(limit),
    unjoined: (now, limit) =>
      statesIn(model, { join_by: { $lte: now }, lease_until: null })
        .sort({ join_by: 1 })
        .limit(limit),
    async owedCallEnds(now, limit) {
      const owed = await model
        .find({ "call_end.due_at": { $lte: now } }, { call_end: 1 })
        .sort({ "call_end.due_at": 1 })
        .limit(limit)
        .lean<Pick<LeadDoc, "call_end">[]>();
      return owed.flatMap(({ call_end }) => call_end?.ref ?? []);
    },
    owedEvents: (now, limit) =>
      model
        .find({ report_due_at: { $lte: now } }, { ...LEAD_STATE, meta: 1 })
        .sort({ report_due_at: 1 })
        .limit(limit)
        .lean<OwedDoc[]>(),
  } satisfies Partial<LeadsRepository>;
}

function parkedReads(model: Model<LeadDoc>) {
  return {
    resting: (scope, { lead_ids, template_id, code }, now, limit) =>
      model
        .find(
          {
            $and: [
              within(scope),
              {
                "faults.parked_at": IS_PARKED,
                due_at: { $gt: now },
                ...(lead_ids === undefined ? {} : { _id: { $in: [...lead_ids] } }),
                ...(template_id === undefined ? {} : { template_id }),
                ...(code === undefined ? {} : { "faults.code": code }),
              },
            ],
          },
          { due_at: 1, created_at: 1, aged_from: 1, faults: 1 },
        )
        .sort({ "faults.parked_at": 1 })
        .limit(limit)
        .lean<RestingDoc[]>(),
    async parkedByCode(limit) {
      const groups = await model.aggregate<{ _id: string; count: number }>([
        { $match: { "faults.parked_at": IS_PARKED } },
        { $limit: limit },
        { $group: { _id: "$faults.code", count: { $sum: 1 } } },
      ]);
      return groups.map(({ _id, count }) => ({ code: _id, count }));
    },
  } satisfies Partial<LeadsRepository>;
}
