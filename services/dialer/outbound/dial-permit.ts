import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { GRANT_VALID_MS } from "../../../shared/contracts/scheduler.ts";
import type { DialerParts } from "../deps.ts";
import type { EarlyStop } from "./early-stop.ts";

/** When a dial request may be sent, in monotonic milliseconds of this process: not before and not after. */
export interface DialPermit {
  notBeforeMs: number;
  notAfterMs: number;
}

/** An attempt waits this long for its permit; a longer wait is the queue's. */
const MAX_WAIT_MS = 2000;
/** From the last reading of the clock until the request has left. */
const SENDING_MS = 20;

/** Whether calls of this order are rate-limited at all. */
const isLimited = ({ env }: Pick<DialerParts, "env">, { provider, rate_limit }: DialJob): boolean =>
  env[`${provider}_CALLS_PER_SECOND`] > 0 || rate_limit !== null;

/**
 * The permit to place this call, acquired right before the intent; null: nothing limits it. Permits are never returned: one that was not used is lost.
 * The span is by our own monotonic clock and begins with the request, so that neither a slow bus nor a wrong clock can put a call into another window.
 */
export async function acquirePermit(deps: DialerParts, order: DialJob): Promise<DialPermit | EarlyStop | null> {
  if (!isLimited(deps, order)) return null;
  const { clock, permitPace } = deps;
  const { askedMs, answer } = await permitPace.inTurn(async () => {
    const askedMs = clock.monotonicMs();
    const min_wait_ms = permitPace.leadMs();
    const answer = await deps.bus.call("scheduler.grant", {
      provider: order.provider,
      rate_limit: order.rate_limit,
      max_wait_ms: MAX_WAIT_MS,
      ...(min_wait_ms > 0 ? { min_wait_ms } : {}),
    });
    return { askedMs, answer };
  });
  if (!answer.granted) return { kind: "release", due_at: new Date(answer.retry_at), reason: answer.why };
  const permit = {
    notBeforeMs: clock.monotonicMs() + answer.send_in_ms,
    notAfterMs: askedMs + answer.send_in_ms + GRANT_VALID_MS - SENDING_MS,
  };
  return permit.notBeforeMs <= permit.notAfterMs
    ? permit
    : { kind: "release", due_at: clock.now(), reason: "the right to place the call came too late" };
}

/** Waits until the permit's instant; a process that shuts down waits no longer. */
export async function waitForPermit({ clock, draining }: DialerParts, permit: DialPermit | null): Promise<void> {
  if (permit === null) return;
  for (;;) {
    const left = permit.notBeforeMs - clock.monotonicMs();
    if (left <= 0 || draining.aborted) return;
    await clock.wait(left, draining);
  }
}

/** True when the permit can't be used any more. */
export const isExpired = ({ clock }: Pick<DialerParts, "clock">, permit: DialPermit | null): boolean =>
  permit !== null && clock.monotonicMs() > permit.notAfterMs;
