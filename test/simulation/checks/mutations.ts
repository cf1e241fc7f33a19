import { isPlain, type Doc } from "../collection/values.ts";
import type { Update } from "../collection/update.ts";
import type { Faults } from "./faults.ts";
import type { Operation } from "../engine/database.ts";

type Change = (o: Operation) => Operation | null;

const set = (o: Operation): Doc => (isPlain(o.update) && isPlain(o.update["$set"]) ? o.update["$set"] : {});
const inc = (o: Operation): Doc => (isPlain(o.update) && isPlain(o.update["$inc"]) ? o.update["$inc"] : {});
const without = (o: Operation, ...fields: string[]): Operation => ({
  ...o,
  filter: Object.fromEntries(Object.entries(o.filter).filter(([k]) => !fields.includes(k))) as Doc,
});
/** The update with more in the details of what it adds to the history. */
function withHistory(update: Operation["update"], more: Doc): Update {
  const { $push, ...rest } = update as Doc & { $push: { history: { $each: Doc[] } & Doc } };
  const { $each, ...how } = $push.history;
  const told = $each.map((entry) => ({ ...entry, details: { ...(entry["details"] as Doc), ...more } }));
  return { ...rest, $push: { history: { ...how, $each: told } } } as Update;
}
const onLeads = (o: Operation): boolean => o.collection === "leads" && o.update !== null;
const inserts = (o: Operation, collection: string, state: string): boolean =>
  o.verb === "insert" && o.collection === collection && o.docs[0]?.["state"] === state;

const SECOND_MS = 1000;
const LONG_MS = 10 * SECOND_MS;
const VERY_LONG_MS = 600 * SECOND_MS;
/** The same expression with every long span in it so long. */
const spanning = (v: unknown, ms: number): unknown => {
  if (Array.isArray(v)) return v.map((inner) => spanning(inner, ms));
  if (!isPlain(v)) return v;
  return Object.fromEntries(
    Object.entries(v).map(([k, inner]) => [
      k,
      k === "$literal" && typeof inner === "number" && inner > LONG_MS ? ms : spanning(inner, ms),
    ]),
  );
};
/** Leases of lines last so long. */
const leased = (o: Operation, ms: number): Operation =>
  o.collection === "numbers" && Array.isArray(o.update) ? { ...o, update: spanning(o.update, ms) as Update } : o;

const onWindows = (o: Operation): boolean => o.collection === "rate_windows" && Array.isArray(o.update);
const takesPermits = (o: Operation): boolean => onWindows(o) && o.verb === "change";
const givesBack = (o: Operation): boolean => onWindows(o) && o.verb === "update";
/** The stages of a pipeline, their $set changed. */
const stagesOf = (o: Operation, change: (set: Doc) => Doc): Update =>
  (o.update as Doc[]).map((stage) => ({ $set: change(stage["$set"] as Doc) }));
/** The expression with every $add to a permit's first instant left out. */
const atOnce = (v: unknown): unknown => {
  if (Array.isArray(v)) return v.map(atOnce);
  if (!isPlain(v)) return v;
  const sum: unknown = v["$add"];
  if (Array.isArray(sum) && sum[0] === "$granted_at") return "$granted_at";
  return Object.fromEntries(Object.entries(v).map(([k, inner]) => [k, atOnce(inner)]));
};
/** The expression with the entry that takes a returned permit's place set before all others. */
const longAgo = (v: unknown): unknown => {
  const parts = isPlain(v) && Array.isArray(v["$concatArrays"]) ? (v["$concatArrays"] as unknown[]) : [];
  const [, , ...later] = parts;
  return { $concatArrays: [[new Date(0)], [new Date(0)], ...later] };
};

/** The mutation whose scheduler is told that the callee's clock does not count. */
export const CALLEE_ZONE_IGNORED = "callee-zone-ignored";
/** The mutation whose carrier does not ask `may_leave`. */
export const LEAVES_LATE = "leaves-late";

/** The mutation whose processes take their instants from their own wall clocks. */
export const OWN_CLOCK = "own-wall-clock";

/** A call that is not remembered as one that may still be live. */
const forgetful = (o: Operation): Operation =>
  inserts(o, "calls", "DIALING")
    ? { ...o, docs: o.docs.map(({ callee: _callee, callee_key: _key, open_until: _until, ...rest }) => rest) }
    : o;

/** Mutants whose guard is needed in one kind of storm only are sought in that. */
export const WEATHER: Readonly<Record<string, Partial<Faults>>> = {
  "no-tombstone": { pause: 0.08, pauseMaxMs: 60_000, crash: 0, idleCrash: 0, storeLost: 0 },
  "settle-without-fence": { pause: 0.08, pauseMaxMs: 60_000, crash: 0, idleCrash: 0, storeReplyLost: 0.03 },
  "no-fence-at-answer": { pause: 0.08, pauseMaxMs: 60_000, callbackLate: 0.3 },
  "ledger-without-revision": { storeSlow: 1, crash: 0, idleCrash: 0, pause: 0 },
};

/** Faults of our own making, each at one guard of the machines: the simulator must find every one. What they stand for, and what they do to a write. */
export const MUTATIONS: Record<string, Change> = {
  /** The carrier is asked without an intent record. */
  "no-intent": (o) => (inserts(o, "calls", "DIALING") ? null : o),
  /**
   * "Never dialled" is said without the tombstone that makes it true. The other guards of the same are gone too: the line, whose first lease is short,
   * is held long, and former calls are not remembered.
   */
  "no-tombstone": (o) => (inserts(o, "calls", "VOID") ? null : leased(forgetful(o), VERY_LONG_MS)),
  /** Nobody knows whom a call is to: two leads with one number ring it at once. */
  "callee-not-kept": (o) =>
    inserts(o, "calls", "DIALING")
      ? { ...o, docs: o.docs.map(({ callee: _callee, callee_key: _key, ...rest }) => rest) }
      : o,
  /** Two schedulers may both claim. */
  "claim-without-guard": (o) =>
    onLeads(o) && set(o)["status"] === "PROCESSING" ? without(o, "status", "due_at", "claim_no") : o,
  /** A lead is given back by whoever once held it. */
  "release-without-fence": (o) =>
    onLeads(o) && inc(o)["attempt_count"] === -1 && (set(o)["status"] === "RETRY" || set(o)["status"] === "BACKLOG")
      ? without(o, "status", "claim_no", "attempt_count")
      : o,
  /** An attempt is settled by whoever once held the lead. */
  "settle-without-fence": (o) =>
    onLeads(o) &&
    o.filter["status"] === "PROCESSING" &&
    (set(o)["status"] === "FINISHED" || set(o)["status"] === "RETRY")
      ? without(o, "status", "claim_no")
      : o,
  /** A technical fault ends a lead that was not dialled. */
  "fault-finishes": (o) => {
    if (!onLeads(o) || !("faults" in set(o))) return o;
    const { due_at: _due, faults: _faults, held: _held, ...rest } = set(o);
    const ended = { ...rest, status: "FINISHED", outcome: "failed", finished_at: set(o)["updated_at"] };
    return { ...o, update: { ...(o.update as Doc), $set: ended as Doc } };
  },
  /** A decision of the conversation that reads like a word of ours is retried like that. */
  "decision-retried": (o) => {
    const fields = set(o);
    if (!onLeads(o) || fields["outcome"] !== "busy" || fields["status"] !== "FINISHED" || !("meta.variables" in fields))
      return o;
    const { finished_at: _at, report_due_at: _owed, ...rest } = fields;
    const again: Doc = { ...rest, status: "RETRY", outcome: null, due_at: fields["updated_at"] };
    return { ...o, update: { ...(o.update as Doc), $set: again } };
  },
  /** A lead is aborted whatever it is doing. */
  "abort-without-guard": (o) => (onLeads(o) && set(o)["outcome"] === "ABORTED" ? without(o, "status") : o),
  /** FINISHED is written, the report is not owed in the same write. */
  "report-not-owed": (o) => {
    if (!onLeads(o) || !("report_due_at" in set(o))) return o;
    const { report_due_at: _owed, ...rest } = set(o);
    return { ...o, update: { ...(o.update as Doc), $set: rest } };
  },
  /** Anybody who answers is talked to, also on a call that is over. */
  "no-fence-at-answer": (o) =>
    o.collection === "calls" && "joined_at" in set(o) ? without(o, "rank", "hang_up", "$and") : o,
  /** A line counts as free again a second after it was taken, while its call is live. */
  "line-lease-too-short": (o) => leased(o, SECOND_MS),
  /** Grants are given whether or not the window has room. */
  "rate-without-window": (o) => {
    if (!takesPermits(o)) return o;
    return {
      ...without(o, "$expr"),
      update: stagesOf(o, (s) => ("granted_at" in s ? { ...s, granted_at: "$$NOW" } : s)),
    };
  },
  /** A permit is entered in its window as if it were used at once, whenever it may be used. */
  "permit-counted-at-its-beginning": (o) =>
    takesPermits(o) ? { ...o, update: stagesOf(o, (s) => ("ring" in s ? { ...s, ring: atOnce(s["ring"]) } : s)) } : o,
  /** Whatever nobody knows the end of counts as the callee's hang-up. */
  "unknown-end-is-the-callees": (o) => {
    const source = set(o)["meta.hangup_source"];
    if (!onLeads(o) || !isPlain(source) || source["by"] !== "unknown") return o;
    return { ...o, update: withHistory(o.update, { outcome: "customer_hangup" }) };
  },
  /** Instants come from the own wall clock of each process. */
  [OWN_CLOCK]: (o) => o,
  /** Nobody asks what time it is where the callee is. */
  [CALLEE_ZONE_IGNORED]: (o) => o,
  /** A report counts as handed over and was not written down. */
  "delivery-not-stored": (o) => (o.verb === "insert" && o.collection === "deliveries" ? null : o),
};

/** The same for caps on calls per callee. */
export const CAP_MUTATIONS: Record<string, Change> = {
  /** Calls that were placed do not count. */
  "call-not-counted": (o) =>
    inserts(o, "calls", "DIALING") ? { ...o, docs: o.docs.map(({ cap_key: _key, ...rest }) => rest) } : o,
  /** What an attempt did not know the end of gives its place back. */
  "unknown-gives-back": (o) => {
    if (o.collection !== "calls" || set(o)["ended"] === undefined || set(o)["ended"] === "not_dialled") return o;
    return { ...o, update: { ...(o.update as Doc), $unset: { ...((o.update as Doc)["$unset"] as Doc), cap_key: 1 } } };
  },
};

const onLedgers = (o: Operation): boolean => o.collection === "spend_ledgers";
/** A write of a ledger with what it says of a field changed. */
const ledgerWith = (o: Operation, change: (ledger: Doc) => Doc): Operation =>
  o.verb === "insert"
    ? { ...o, docs: o.docs.map((doc) => ({ ...doc, ...change(doc) })) }
    : { ...o, update: { ...(o.update as Doc), $set: { ...set(o), ...change(set(o)) } } };
const writesLedger = (o: Operation): boolean =>
  onLedgers(o) && (o.verb === "insert" || (o.verb === "update" && "reserved" in set(o)));
/** What ended calls took, as it is said of it. */
const counting = (period: unknown, calls: (n: number) => number): Doc =>
  isPlain(period)
    ? { ...period, calls: calls(Number(period["calls"])), minutes: calls(Number(period["minutes"])) }
    : {};

/** The same for spend ceilings. */
export const SPEND_MUTATIONS: Record<string, Change> = {
  /** What an attempt may take is not kept. */
  "reservation-not-counted": (o) => (writesLedger(o) ? ledgerWith(o, () => ({ reserved: [] })) : o),
  /** What an ended call took is forgotten with its reservation. */
  "end-not-counted": (o) =>
    writesLedger(o)
      ? ledgerWith(o, (l) => ({ day: counting(l["day"], () => 0), month: counting(l["month"], () => 0) }))
      : o,
  /** The first end counts twice. */
  "settled-twice": (o) =>
    writesLedger(o) ? ledgerWith(o, (l) => ({ month: counting(l["month"], (n) => (n === 1 ? 2 : n)) })) : o,
  /** Of two dialers that have both read a ledger each writes it: the later one over what the earlier one reserved. */
  "ledger-without-revision": (o) => (onLedgers(o) && o.verb === "update" ? without(o, "rev") : o),
};

/** The mutation whose blacklist answers that a wish is listed, and lists nothing. */
export const WISH_FORGOTTEN = "wish-forgotten";

/** The same for callees who ask not to be called again. */
export const WISH_MUTATIONS: Record<string, Change> = {
  [WISH_FORGOTTEN]: (o) => o,
};

/** The mutation whose dialer says that the account holds a number without having asked. */
export const CARRIER_NOT_ASKED = "carrier-not-asked";
/** The mutation whose numbers lack their unique index. */
export const NUMBER_OF_MANY = "number-of-many";

/** The same for the ownership of numbers. */
export const OWNER_MUTATIONS: Record<string, Change> = {
  [CARRIER_NOT_ASKED]: (o) => o,
  [NUMBER_OF_MANY]: (o) => o,
  /** A slot is reserved by whoever could use the number when it was read. */
  "slot-of-former-owner": (o) =>
    o.collection === "numbers" && o.verb === "change" && "slots.holder" in o.filter
      ? without(o, "reseller_id", "merchant_id")
      : o,
};

/** The same for guards that storms of few leads seldom need: a steady load on an account finds them. */
export const LOAD_MUTATIONS: Record<string, Change> = {
  /** A permit that is given back takes the one before it along. */
  "give-back-of-two": (o) => (givesBack(o) ? { ...o, update: stagesOf(o, (s) => ({ ring: longAgo(s["ring"]) })) } : o),
  /** Nobody asks at the last moment whether a request may still leave. */
  [LEAVES_LATE]: (o) => o,
};
