import { plusMs } from "../../../shared/time/clock.ts";
import { callRef } from "../../../shared/ids.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { isLive } from "../call/call-state-machine.ts";
import type { CallDoc } from "../call/calls.model.ts";
import type { DialerParts } from "../deps.ts";
import { limitsMoney, ownersOf, tookOf, type Charged } from "./spend-amounts.ts";
import {
  awaitPrice,
  legTook,
  NOTHING,
  postpone,
  settle,
  type Ledger,
  type Reservation,
  type Took,
} from "./spend-reservations.ts";
import type { SpendLedgerDoc } from "./spend-ledgers.model.ts";

/** What settling needs. */
type SettleDeps = Pick<DialerParts, "calls" | "clock" | "env" | "log" | "spendLedgers">;

/** Between the call's name and that of a leg that it is handed on to, in the name of a reservation. */
const LEG = "~";
/** The last part of the name of a leg that no call of ours stands for. */
const REDIRECT = `${LEG}redirect`;

/** The name of the reservation for a leg that a call is handed on to. */
export const handedOnRef = (call_ref: string, at: Date): string => `${call_ref}${LEG}${at.getTime().toString(36)}`;
/** The name of the reservation for an inbound call that is redirected: it has no call of ours, and counts at its worst case. */
export const redirectRef = (call_ref: string): string => `${call_ref}${REDIRECT}`;

const callRefOf = (ref: string): string => ref.split(LEG)[0] ?? ref;

/** A carrier's price is waited for this long after the end of its call: longer than it is polled for. */
const PRICE_WITHIN_MS = 3_600_000;
/** A call that is live, and one whose end is being written, is asked for again after this long. */
const LIVE_AGAIN_MS = 5 * 60_000;
const CLOSING_AGAIN_MS = 30_000;

/** Every reservation of a call and of the legs that it was handed on to, settled; the call's own by `own`. Pure. */
function settledAll(ledger: Ledger, ref: string, ended_at: Date, own: (ledger: Ledger) => Ledger, now: Date): Ledger {
  const legs = ledger.reserved.filter((r) => r.ref !== ref && callRefOf(r.ref) === ref);
  return own(legs.reduce((l, leg) => settle(l, leg.ref, legTook(leg, ended_at), now).ledger, ledger));
}

/**
 * Counts what an ended call took, and gives back the rest of what was reserved for it. `awaited`: the carrier may yet name its price; until then what it
 * took by our own stays reserved. Idempotent. Throws where a ledger can't be written.
 */
export async function settleSpend(
  { clock, env, spendLedgers }: Pick<SettleDeps, "clock" | "env" | "spendLedgers">,
  call: CallDoc,
  awaited: boolean,
): Promise<void> {
  if (call.order?.spend_ceilings === undefined) return;
  const now = clock.now();
  const took = tookOf(env, call);
  for (const { id, ceiling } of ownersOf(call.order)) {
    const own = (ledger: Ledger): Ledger =>
      awaited && limitsMoney(ceiling)
        ? awaitPrice(ledger, call._id, took, plusMs(now, PRICE_WITHIN_MS), now).ledger
        : settle(ledger, call._id, took, now).ledger;
    await spendLedgers.step(id, now, (ledger) => ({
      ledger: settledAll(ledger, call._id, call.ended_at ?? now, own, now),
      result: null,
    }));
  }
}

/**
 * Gives back the reservation of an attempt of which no call came to be: a tombstone makes sure that none will. A call that is there keeps it. Not
 * for what must not fail: what is left behind is found by the sweep.
 */
export async function giveBackUndialled(
  { calls, clock, log, spendLedgers }: SettleDeps,
  order: Charged & { lead_id: string; claim_no: number },
): Promise<void> {
  const owners = ownersOf(order);
  if (owners.length === 0) return;
  const ref = callRef(order.lead_id, order.claim_no);
  try {
    const now = clock.now();
    const call = await calls.findOrVoid(ref, order, now);
    if (call.state !== "VOID" && call.ended !== "not_dialled") return;
    for (const { id } of owners) await spendLedgers.step(id, now, (ledger) => settle(ledger, ref, NOTHING, now));
  } catch (error) {
    log.warn({ call_ref: ref, error: errorForLog(error) }, "a reservation could not be given back; a sweep does it");
  }
}

/** What becomes of a reservation that is due, by the evidence of its call. */
type Verdict = { took: Took } | { again: Date };

/** The attempt that a call's name stands for. */
function attemptOf(ref: string): { lead_id: string; claim_no: number } {
  const [lead_id = "", claim_no = ""] = ref.split(".");
  return { lead_id, claim_no: Number(claim_no) };
}

async function verdictOn({ calls, clock, env }: SettleDeps, r: Reservation): Promise<Verdict> {
  if (r.ref.endsWith(REDIRECT) || r.unpriced === true) return { took: r };
  const now = clock.now();
  const ref = callRefOf(r.ref);
  const call = await calls.findOrVoid(ref, attemptOf(ref), now);
  if (isLive(call)) return { again: plusMs(now, LIVE_AGAIN_MS) };
  if (call.state === "ENDED" && call.closed_at === undefined) return { again: plusMs(now, CLOSING_AGAIN_MS) };
  const isLeg = r.ref !== ref && call.state === "ENDED";
  return { took: isLeg ? legTook(r, call.ended_at ?? now) : tookOf(env, call) };
}

/** Ledgers looked into in one pass, reservations of one at a time, and for how long other nodes leave it alone. */
const LEDGERS_PER_PASS = 20;
const RESERVATIONS_AT_ONCE = 200;
const CLAIM_MS = 30_000;

async function settleDue(deps: SettleDeps, { _id, reserved }: SpendLedgerDoc, now: Date): Promise<void> {
  const due = reserved.filter(({ until }) => until <= now).slice(0, RESERVATIONS_AT_ONCE);
  const judged = await Promise.all(due.map(async (r) => ({ ref: r.ref, verdict: await verdictOn(deps, r) })));
  await deps.spendLedgers.step(_id, now, (ledger) => ({
    ledger: judged.reduce(
      (l, { ref, verdict }) =>
        "took" in verdict ? settle(l, ref, verdict.took, now).ledger : postpone(l, ref, verdict.again).ledger,
      ledger,
    ),
    result: null,
  }));
}

/** Settles reservations whose call never came to be, or is over: their owner died before it could. */
export async function sweepSpend(deps: SettleDeps): Promise<void> {
  for (let n = 0; n < LEDGERS_PER_PASS; n++) {
    const now = deps.clock.now();
    const ledger = await deps.spendLedgers.takeDue(now, plusMs(now, CLAIM_MS));
    if (ledger === null) return;
    await settleDue(deps, ledger, now);
  }
}
