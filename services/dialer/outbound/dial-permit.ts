import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { GRANT_VALID_MS } from "../../../shared/contracts/scheduler.ts";
import type { Stop } from "./early-stop.ts";
import type { Works } from "../deps.ts";

/** When a request may be sent, in monotonic milliseconds of this process: not before and not after. */
export interface Grant {
  notBeforeMs: number;
  notAfterMs: number;
}

/** An attempt waits this long for its turn; a longer wait is the queue's. */
const GRANT_WAIT_MS = 2000;

/** From the last look at the clock until the request has left. */
const SENDING_MS = 20;

/** Whether calls of this order are counted at all. */
const isLimited = ({ env }: Works, { provider, rate_limit }: DialJob): boolean =>
  env[`${provider}_CALLS_PER_SECOND`] > 0 || rate_limit !== null;

/**
 * The right to place this call, taken right before the intent; null: nothing limits it. Grants never go back: one that was not used is lost.
 * The span is by our own monotonic clock and begins with the asking, so that neither a slow bus nor a wrong clock can put a call into another window (reliability.md 3.3).
 */
export async function takeGrant(w: Works, order: DialJob): Promise<Grant | Stop | null> {
  if (!isLimited(w, order)) return null;
  const { askedMs, answer } = await w.grantPace.inTurn(async () => {
    const askedMs = w.clock.monotonicMs();
    const min_wait_ms = w.grantPace.ahead();
    return {
      askedMs,
      answer: await w.bus.call("scheduler.grant", {
        provider: order.provider,
        rate_limit: order.rate_limit,
        max_wait_ms: GRANT_WAIT_MS,
        ...(min_wait_ms > 0 ? { min_wait_ms } : {}),
      }),
    };
  });
  if (!answer.granted) return { kind: "release", due_at: new Date(answer.retry_at), reason: answer.why };
  const grant = {
    notBeforeMs: w.clock.monotonicMs() + answer.send_in_ms,
    notAfterMs: askedMs + answer.send_in_ms + GRANT_VALID_MS - SENDING_MS,
  };
  return grant.notBeforeMs <= grant.notAfterMs
    ? grant
    : { kind: "release", due_at: w.clock.now(), reason: "the right to place the call came too late" };
}

/** Waits until the grant's instant; on the way out it waits no longer. */
export async function waitForTurn(w: Works, grant: Grant | null): Promise<void> {
  if (grant === null) return;
  for (;;) {
    const left = grant.notBeforeMs - w.clock.monotonicMs();
    if (left <= 0 || w.stopping()) return;
    await w.clock.wait(left, w.leaving);
  }
}

/** True when the grant can't be used any more. */
export const isSpent = (w: Works, grant: Grant | null): boolean =>
  grant !== null && w.clock.monotonicMs() > grant.notAfterMs;
