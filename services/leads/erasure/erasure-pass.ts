import type { Bus, ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { LEADS_PER_ERASURE, type ErasedCounts, type ErasedKind } from "../../../shared/contracts/requests/erasures.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { LeadDeps } from "../deps.ts";
import type { EventLog } from "../events/event-log.repository.ts";
import type { LegalHolds } from "../holds/legal-holds.repository.ts";
import { abort } from "../rules/lead-state-machine.ts";
import { erase, type ErasableLead } from "../rules/lead-erasure.ts";
import type { Erasures, TakenErasure } from "./erasures.repository.ts";
import type { LeadsOfNumber } from "./leads-of-number.ts";

/** A process that does not say how far it is within this counts as gone. */
const TURN_MS = 60_000;
/** What was still under way is looked at again after this. */
const AGAIN_MS = 15_000;
/** One that a legal hold keeps from going on is looked at again after this. */
const HELD_MS = 60_000;
/** An erasure ends this long after it was asked for, at the earliest: a push that was judged before has written its lead by then. */
const LAST_LOOK_MS = 60_000;
/** Leads aborted in one write. */
const ABORTS_PER_WRITE = 250;
/** Leads that are counted as waiting, at most. */
const MAX_COUNTED = 10_000;

/** What erasing needs. */
export interface ErasureDeps extends Pick<LeadDeps, "clock" | "leads" | "log" | "onFinished"> {
  bus: Bus;
  erasures: Erasures;
  events: Pick<EventLog, "erase">;
  holds: Pick<LegalHolds, "covering">;
  ofNumber(taken: TakenErasure): LeadsOfNumber;
  /** Whether the archive may have something of this reseller, or of any (null). */
  mayHaveArchived(reseller_id: string | null): Promise<boolean>;
}

/** What is asked of a service, and what it answers. */
type Order = ParamsOf<"dialer.eraseNumber">;
type Answer = ResultOf<"dialer.eraseNumber">;

/** The services beside this one that keep something of a lead; each has the same action for it. */
const HOLDERS: readonly ((bus: Bus, order: Order) => Promise<Answer>)[] = [
  (bus, order) => bus.call("dialer.eraseNumber", order),
  (bus, order) => bus.call("webhook.eraseNumber", order),
  (bus, order) => bus.call("conversation.eraseNumber", order),
];
/** Those that keep something of a number. */
const LISTERS = [...HOLDERS, (bus: Bus, order: Order) => bus.call("blacklist.eraseNumber", order)];

const plus = (a: ErasedCounts, b: ErasedCounts): ErasedCounts => {
  const sum: ErasedCounts = { ...a };
  for (const [kind, n] of Object.entries(b) as [ErasedKind, number][]) sum[kind] = (sum[kind] ?? 0) + n;
  return sum;
};

const orderOf = ({ _id, reseller_id, merchant_id, phone_number }: TakenErasure, lead_ids: string[]) => ({
  erasure_id: _id,
  reseller_id,
  merchant_id,
  phone_number,
  lead_ids,
});

/** Aborts what waits, so that no claim comes in between; how many. */
async function abortWaiting({ clock, leads, onFinished }: ErasureDeps, taken: TakenErasure, of: LeadsOfNumber) {
  const { kind, id } = taken.requested_by;
  let aborted = 0;
  for (;;) {
    const now = clock.now();
    const waiting = await of.waiting(ABORTS_PER_WRITE);
    const done = await leads.transitionMany(
      waiting.map((lead) => abort(lead, { reason: "the number is erased", by: `${kind}:${id}`, at: now }, now)),
    );
    const finished = done.filter((lead) => lead !== null);
    for (const lead of finished) onFinished(lead);
    aborted += finished.length;
    if (finished.length === 0) return aborted;
  }
}

/** Has every holder erase what it has of these leads, one after the other; then what the log of events and the leads themselves have. Those of which something is under way stay as they are. */
async function eraseBatch(deps: ErasureDeps, taken: TakenErasure, batch: ErasableLead[]): Promise<ErasedCounts> {
  const { bus, clock, events, leads } = deps;
  let ready = batch;
  let erased: ErasedCounts = {};
  for (const holder of HOLDERS) {
    const lead_ids = ready.map(({ _id }) => _id);
    const answer = await holder(bus, orderOf(taken, lead_ids));
    const waiting = new Set(answer.waiting);
    ready = ready.filter(({ _id }) => !waiting.has(_id));
    erased = plus(erased, answer.erased);
  }
  const counted = await Promise.all(ready.map(({ _id }) => events.erase(_id, taken.phone_number)));
  const now = clock.now();
  const gone = await leads.transitionMany(ready.map((lead) => erase(lead, taken.phone_number, now)));
  return plus(erased, {
    events: counted.reduce((a, b) => a + b, 0),
    leads: gone.filter((lead) => lead !== null).length,
  });
}

/** Where the archive has the number; undefined: it has nothing of the scope. */
async function archiveFolders({ bus, mayHaveArchived }: ErasureDeps, { reseller_id, phone_number }: TakenErasure) {
  if (!(await mayHaveArchived(reseller_id))) return undefined;
  return (await bus.call("blacklist.archiveFolders", { phone_numbers: [phone_number] })).folders[0];
}

/** What is known of the number itself: the archive, calls to us that were blocked, wishes that were uttered meanwhile. */
async function eraseNumber(
  deps: ErasureDeps,
  taken: TakenErasure,
): Promise<{ erased: ErasedCounts; pending: boolean }> {
  const folders = await archiveFolders(deps, taken);
  const order = { ...orderOf(taken, []), ...(folders === undefined ? {} : { archive_folders: folders }) };
  const answers: Answer[] = [];
  for (const lister of LISTERS) answers.push(await lister(deps.bus, order));
  return {
    erased: answers.map((answer) => answer.erased).reduce(plus, {}),
    pending: answers.some((answer) => answer.pending),
  };
}

/** Whether a legal hold covers the number; the erasure waits then. Asked before each step. */
async function isHeld({ clock, erasures, holds }: ErasureDeps, taken: TakenErasure): Promise<boolean> {
  const hold = await holds.covering(taken.reseller_id, taken.phone_number);
  if (hold === null) return false;
  await erasures.hold(taken, hold._id, plusMs(clock.now(), HELD_MS));
  return true;
}

/** Goes on with an erasure as far as it gets now. What is left to do is found anew each time: the leads that still have the number. */
async function advance(deps: ErasureDeps, taken: TakenErasure): Promise<void> {
  const { clock, erasures, log } = deps;
  const of = deps.ofNumber(taken);
  const save = (erased: ErasedCounts, waiting: number, ms: number): Promise<boolean> =>
    erasures.progress(taken, erased, waiting, plusMs(clock.now(), ms));
  if (await isHeld(deps, taken)) return;
  const leads_aborted = await abortWaiting(deps, taken, of);
  if (!(await save({ leads_aborted }, taken.waiting, TURN_MS))) return;
  for (let after = ""; ;) {
    const batch = await of.ready(after, LEADS_PER_ERASURE);
    const last = batch.at(-1);
    if (last === undefined) break;
    if (await isHeld(deps, taken)) return;
    if (!(await save(await eraseBatch(deps, taken, batch), taken.waiting, TURN_MS))) return;
    after = last._id;
  }
  if (await isHeld(deps, taken)) return;
  const { erased, pending } = await eraseNumber(deps, taken);
  const waiting = await of.count(MAX_COUNTED);
  if (!(await save(erased, waiting, AGAIN_MS))) return;
  const now = clock.now();
  if (waiting > 0 || pending || now < plusMs(taken.created_at, LAST_LOOK_MS)) return;
  if (await erasures.finish(taken, now))
    log.info({ event: "erasure.done", erasure_id: taken._id, reseller_id: taken.reseller_id }, "a number is erased");
}

/** One pass: the erasure that has been due for longest. True when there was one. A service out of reach holds it up: it goes on when its turn is over. */
export async function eraseDue(deps: ErasureDeps): Promise<boolean> {
  const now = deps.clock.now();
  const taken = await deps.erasures.takeDue(now, plusMs(now, TURN_MS));
  if (!taken) return false;
  await advance(deps, taken);
  return true;
}
