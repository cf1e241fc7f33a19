import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { callRef } from "../../../shared/ids.ts";
import { errorForLog } from "../../../shared/log.ts";
import { runAttempt } from "./attempt.ts";
import type { Works } from "../deps.ts";

/** Attempts between acceptance and the carrier's answer, per node. */
const ATTEMPTS_AT_ONCE = 500;

/** Of these, at most so many with pre-checks: other people's slow servers must not keep every attempt waiting. */
const WITH_PRE_CHECKS_AT_ONCE = 300;
/** Attempts that are remembered when they are over. */
const REMEMBERED = 10_000;

/** The attempts under way in this process. */
export interface Attempts {
  /** Takes an order and starts its attempt; false: there is no room, or this process is shutting down. One that is under way, or was lately, counts as taken. */
  take(order: DialJob): boolean;
  /** Resolves when every attempt has come to its end, or after `limitMs`. */
  settled(limitMs: number): Promise<void>;
}

/** Runs attempts side by side, so many and no more: back-pressure is the scheduler's to feel. */
export function createAttempts(w: Works): Attempts {
  const running = new Map<string, Promise<void>>();
  // an order that the bus delivers twice must not be run again when its first run has ended without a trace: given back, the lead may be another's by now
  const over = new Set<string>();
  let checking = 0;

  const end = (ref: string): void => {
    running.delete(ref);
    over.add(ref);
    const oldest = over.size > REMEMBERED ? over.values().next().value : undefined;
    if (oldest !== undefined) over.delete(oldest);
  };
  const start = async (ref: string, order: DialJob): Promise<void> => {
    const checks = order.pre_checks.length > 0 ? 1 : 0;
    checking += checks;
    try {
      await runAttempt(w, order);
    } catch (error) {
      w.log.error({ call_ref: ref, error: errorForLog(error) }, "an attempt broke off; the lead's sweep takes it up");
    } finally {
      checking -= checks;
      end(ref);
    }
  };

  return {
    take(order) {
      const ref = callRef(order.lead_id, order.claim_no);
      if (running.has(ref) || over.has(ref)) return true;
      if (
        w.stopping() ||
        running.size >= ATTEMPTS_AT_ONCE ||
        (order.pre_checks.length > 0 && checking >= WITH_PRE_CHECKS_AT_ONCE)
      )
        return false;
      running.set(ref, start(ref, order));
      return true;
    },
    async settled(limitMs) {
      const timer = new AbortController();
      await Promise.race([Promise.all(running.values()), w.clock.wait(limitMs, timer.signal)]);
      timer.abort();
    },
  };
}
