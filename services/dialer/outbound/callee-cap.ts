import {
  callsThatDecide,
  judgeCap,
  LONGEST_CAP_WINDOW_MS,
  type CapJudgement,
} from "../../../shared/time/sliding-cap.ts";
import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { CALLEE_CAPPED } from "../../../shared/contracts/records/explanation.ts";
import { spellingsOf } from "../../../shared/numbering/spellings.ts";
import { callRef } from "../../../shared/ids.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import { calleeKeyOf } from "../call/new-calls.ts";
import type { DialerParts } from "../deps.ts";
import type { Release } from "./early-stop.ts";

type CappedCallee = ParamsOf<"dialer.calleeCalls">["callees"][number];

/** A lead whose callee was called often enough is looked at again after this long at the latest: the cap may have been raised meanwhile. */
const CAP_RECHECK_MS = 6 * 3_600_000;

async function judgeCallee(
  { calls }: Pick<DialerParts, "calls">,
  { max_calls_per_callee: cap, ...callee }: CappedCallee,
  now: Date,
  ref?: string,
): Promise<CapJudgement> {
  const counted = await calls.counted(
    spellingsOf(callee.to).map((to) => calleeKeyOf({ ...callee, to })),
    plusMs(now, -LONGEST_CAP_WINDOW_MS),
    callsThatDecide(cap),
    ref,
  );
  return judgeCap(cap, counted, now);
}

/**
 * Its merchant's cap on calls per callee leaves room for this attempt; else the lead waits until it does. Asked early, so that nothing is prepared in vain, and again once the
 * intent is written: an intent has its tenant and callee for itself (`callee_key`), so every other call that counts is written by then and its end is known, and of any number of attempts no more are
 * dialled than fit.
 */
export async function checkCalleeCap(
  deps: Pick<DialerParts, "calls" | "clock">,
  order: DialJob,
): Promise<Release | null> {
  const { max_calls_per_callee: cap } = order;
  if (cap === undefined) return null;
  const now = deps.clock.now();
  const ref = callRef(order.lead_id, order.claim_no);
  const { free_at } = await judgeCallee(deps, { ...order, max_calls_per_callee: cap }, now, ref);
  if (free_at === null) return null;
  const again = Math.min(free_at.getTime(), plusMs(now, CAP_RECHECK_MS).getTime());
  return { kind: "release", due_at: new Date(again), reason: CALLEE_CAPPED };
}

/** What the scheduler explains a lead by. */
export async function calleeCalls(
  deps: Pick<DialerParts, "calls" | "clock">,
  { callees }: ParamsOf<"dialer.calleeCalls">,
): Promise<ResultOf<"dialer.calleeCalls">> {
  const now = deps.clock.now();
  const judged = await Promise.all(callees.map((callee) => judgeCallee(deps, callee, now)));
  return { callees: judged.map(({ free_at, ...counts }) => ({ ...counts, free_at: free_at?.toISOString() ?? null })) };
}
