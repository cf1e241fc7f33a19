import type { Model } from "mongoose";
import { takeLongestDue } from "../../../shared/database/take-due.ts";
import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import { batched } from "../../../shared/batching.ts";
import { fail } from "../../../shared/errors.ts";
import { GuardedCollection } from "../../../shared/database/guarded-collection.ts";
import { insertEach } from "../../../shared/database/write-batches.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import { INTENT_DEADLINE_MS, lastAnswerAt } from "./call-deadlines.ts";
import { RANK, type Transition } from "./call-state-machine.ts";
import { calleeKeyOf, isSame, tombstone } from "./new-calls.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { CALLEE_BUSY, FORMER_CALL_OPEN } from "../../../shared/contracts/records/explanation.ts";
import type { CallDoc, StoredOrder } from "./calls.model.ts";
import { anyOf, phoneOf, spellingsOf } from "../../../shared/numbering/spellings.ts";

/** Reads and writes of `calls`; transitions come from the state machine. */
export interface Calls {
  /** Writes an intent record, an inbound call or a tombstone; false: its place is taken, or its callee by another call of the tenant. */
  insert(call: CallDoc): Promise<boolean>;
  /** The call of this attempt, or a tombstone in its place. */
  findOrVoid(ref: string, baton: { lead_id: string; claim_no: number }, now: Date): Promise<CallDoc>;
  find(ref: string): Promise<CallDoc | null>;
  /** The calls of a lead without their orders, newest first. */
  newestOfLead(lead_id: string, limit: number): Promise<CallDoc[]>;
  /** All calls of these leads. */
  ofLeads(lead_ids: readonly string[]): Promise<CallDoc[]>;
  /** Deletes those of these calls that are over; how many. */
  remove(refs: readonly string[]): Promise<number>;
  /** Makes a transition; null: its guard no longer holds, or the carrier's id belongs to another call. */
  apply(move: Transition): Promise<CallDoc | null>;
  /** Claims the call whose poll is due longest and keeps other nodes off until `next_due`. */
  takeDue(now: Date, next_due: Date): Promise<CallDoc | null>;
  /** Live calls whose lead's lease this node renews. */
  ownedBy(node: string, after: string | null, limit: number): Promise<CallDoc[]>;
  /** A call that may be live to this number and keeps an attempt from being dialled. null: none. */
  inTheWay(sought: Sought): Promise<InTheWay | null>;
  /** From when the newest calls, at most `limit`, count for a cap whose windows reach back to `since`, but `ref`. */
  counted(cap_keys: readonly string[], since: Date, limit: number, ref?: string): Promise<Date[]>;
  /** Our name of the call that has this name at the carrier; null: it is none of ours. */
  refOfCarrier(provider: Provider, call_id: string): Promise<string | null>;
  /** Which of these carrier ids already belong to calls, as the call's name or as its leg's: a carrier may show an ended call by its leg alone. */
  knownNames(provider: Provider, call_ids: string[]): Promise<Set<string>>;
}

/** For which attempt calls are sought: all but its own (`ref`), live at `now`. */
interface Sought extends Pick<DialJob, "lead_id" | "reseller_id" | "merchant_id" | "to"> {
  ref: string;
  now: Date;
}
type OpenCall = Pick<CallDoc, "_id" | "lead_id" | "callee" | "hang_up" | "due_at" | "open_until"> & {
  order?: Pick<StoredOrder, "reseller_id" | "merchant_id">;
};
/** A call that keeps another from being dialled: a former one, of an attempt that is over, or one of the same tenant that is under way. */
export interface InTheWay {
  call: OpenCall;
  why: typeof FORMER_CALL_OPEN | typeof CALLEE_BUSY;
}
const OPEN_FIELDS = {
  lead_id: 1,
  callee: 1,
  hang_up: 1,
  due_at: 1,
  open_until: 1,
  "order.reseller_id": 1,
  "order.merchant_id": 1,
} as const;
/** Attempts of one moment whose callees' calls are sought in one go. */
const SOUGHT_AT_ONCE = 200;

/** Why a call is in this attempt's way; null: it is not. Of another tenant's calls only one that is to end is. */
function inTheWayOf(call: OpenCall, sought: Sought): InTheWay | null {
  const { ref, lead_id, to, now } = sought;
  if (
    call.callee === undefined ||
    phoneOf(call.callee) !== phoneOf(to) ||
    call._id === ref ||
    (call.open_until ?? now) <= now
  )
    return null;
  if (call.lead_id === lead_id || call.hang_up !== undefined) return { call, why: FORMER_CALL_OPEN };
  const isOwn = call.order !== undefined && calleeKeyOf({ ...call.order, to }) === calleeKeyOf(sought);
  return isOwn ? { call, why: CALLEE_BUSY } : null;
}

/** Records written in one go: attempts of one moment share a round trip, each still acknowledged by a majority before its carrier is asked. */
const INSERTS_AT_ONCE = 200;

const NAMES = ["carrier_call_id", "carrier_leg_id"] as const;

async function knownNames(model: Model<CallDoc>, provider: Provider, call_ids: string[]): Promise<Set<string>> {
  const found = await Promise.all(
    NAMES.map((name) => model.find({ provider, [name]: { $in: call_ids } }, { [name]: 1 }).lean<CallDoc[]>()),
  );
  return new Set(NAMES.flatMap((name, i) => (found[i] ?? []).flatMap((call) => call[name] ?? [])));
}

/** A call counts from the last instant at which its phone can have begun to ring, so that no two calls are ever nearer than a cap allows. */
const countsFrom = ({ created_at, deadline_at }: Pick<CallDoc, "created_at" | "deadline_at">): Date =>
  lastAnswerAt(deadline_at ?? plusMs(created_at, INTENT_DEADLINE_MS));

async function counted(
  model: Model<CallDoc>,
  cap_keys: readonly string[],
  since: Date,
  limit: number,
  ref: string | undefined,
): Promise<Date[]> {
  const created_at = {
    $gt: plusMs(since, since.getTime() - lastAnswerAt(plusMs(since, INTENT_DEADLINE_MS)).getTime()),
  };
  const calls = await model
    .find(
      { cap_key: anyOf(cap_keys), created_at, ...(ref === undefined ? {} : { _id: { $ne: ref } }) },
      { created_at: 1, deadline_at: 1 },
    )
    .sort({ created_at: -1 })
    .limit(limit)
    .lean<CallDoc[]>();
  return calls.map(countsFrom);
}

/** Inserts calls; false: the place, or the callee, is taken. */
function inserting(model: Model<CallDoc>): Calls["insert"] {
  const insertOne = batched((calls: CallDoc[]) => insertEach(model, calls), { maxItems: INSERTS_AT_ONCE });
  /** Another call has the callee though the limit that its carrier was given has passed, or a version before 0.3.0 ended it: it gives way. */
  const freeCallee = async ({ callee_key, created_at }: CallDoc): Promise<boolean> => {
    if (callee_key === undefined) return false;
    const stale = { callee_key, $or: [{ open_until: { $lte: created_at } }, { rank: { $gte: RANK.ENDED } }] };
    return (await model.updateOne(stale, { $unset: { callee_key: 1 } })).modifiedCount > 0;
  };
  const insert = async (call: CallDoc): Promise<boolean> => {
    const written = await insertOne(call);
    if (written === "failed")
      fail("STORE_UNAVAILABLE", `The record of the call ${call._id} was refused by the database.`);
    if (written === "written") return true;
    const there = await model.findById(call._id).lean<CallDoc>();
    if (there !== null) return isSame(there, call);
    return (await freeCallee(call)) && insert(call);
  };
  return insert;
}

/** The repository on its model. `mark` gives an unguessable word each time, by which a write is known again. */
export function createCalls(model: Model<CallDoc>, mark: () => string): Calls {
  const guarded = new GuardedCollection(model, { mark, projection: {} });
  const find = (ref: string): Promise<CallDoc | null> => model.findById(ref).lean<CallDoc>();
  const insert = inserting(model);

  const inTheWay = batched(
    async (sought: Sought[]) => {
      const earliest = new Date(Math.min(...sought.map(({ now }) => now.getTime())));
      const open = await model
        .find(
          // a call that a version before 0.3.0 ended keeps these fields
          {
            callee: { $in: sought.flatMap(({ to }) => spellingsOf(to)) },
            open_until: { $gt: earliest },
            rank: { $lt: RANK.ENDED },
          },
          OPEN_FIELDS,
        )
        .lean<OpenCall[]>();
      return sought.map((one) => open.map((call) => inTheWayOf(call, one)).find((found) => found !== null) ?? null);
    },
    { maxItems: SOUGHT_AT_ONCE },
  );

  return {
    insert,
    find,
    inTheWay,
    async findOrVoid(ref, { lead_id, claim_no }, now) {
      const known = await find(ref);
      if (known) return known;
      const empty = tombstone(lead_id, claim_no, now);
      if (await insert(empty)) return empty;
      return (
        (await find(ref)) ?? fail("STORE_UNAVAILABLE", `The call ${ref} is taken and yet can't be read; ask again.`)
      );
    },
    apply: (move) => guarded.transition(move),
    takeDue: (now, next_due) => takeLongestDue(model, now, next_due),
    ownedBy: (node, after, limit) =>
      model
        .find({ tended_by: node, ...(after === null ? {} : { _id: { $gt: after } }) })
        .sort({ _id: 1 })
        .limit(limit)
        .lean<CallDoc[]>(),
    newestOfLead: (lead_id, limit) =>
      model.find({ lead_id }, { order: 0 }).sort({ claim_no: -1 }).limit(limit).lean<CallDoc[]>(),
    ofLeads: (lead_ids) => model.find({ lead_id: { $in: [...lead_ids] } }).lean<CallDoc[]>(),
    async remove(refs) {
      const over = { rank: RANK.ENDED, due_at: null, "recording.due_at": null };
      return (await model.deleteMany({ _id: { $in: [...refs] }, ...over })).deletedCount;
    },
    counted: (cap_keys, since, limit, ref) => counted(model, cap_keys, since, limit, ref),
    async refOfCarrier(provider, call_id) {
      const call = await model.findOne({ provider, carrier_call_id: call_id }, { _id: 1 }).lean<Pick<CallDoc, "_id">>();
      return call?._id ?? null;
    },
    knownNames: (provider, call_ids) => knownNames(model, provider, call_ids),
  };
}
