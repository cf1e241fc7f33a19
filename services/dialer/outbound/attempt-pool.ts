import { recencyCache } from "../../../shared/cache.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { taskSet, within } from "../../../shared/time/deadline.ts";
import { callRef } from "../../../shared/ids.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { runAttempt } from "./attempt.ts";
import type { DialerParts } from "../deps.ts";

/** Attempts between acceptance and the carrier's answer, per node. */
const MAX_ATTEMPTS = 500;
/** Of these, at most so many with pre-checks: slow servers of clients must not keep every attempt waiting. */
const MAX_WITH_PRE_CHECKS = 300;
/** Attempts that are kept, under way or over. */
const MAX_REMEMBERED = 10_000;

/** The attempts under way in this process. */
export interface AttemptPool {
  /** Takes an order and starts its attempt; false: there is no room, this process is shutting down, or it does not know the time. An order whose attempt is under way, or was lately, counts as taken. */
  take(order: DialJob): boolean;
  /** Resolves when every attempt has ended, or after `limitMs`. */
  drain(limitMs: number): Promise<void>;
}

/** Runs attempts side by side, up to a bound: the scheduler keeps what does not fit. */
export function createAttemptPool(deps: DialerParts): AttemptPool {
  const running = taskSet();
  // an order that the bus delivers twice must not run again when its first run ended without a trace: released, the lead may be another's by now
  const seen = recencyCache<true>({ max: MAX_REMEMBERED });
  let checking = 0;

  const run = async (ref: string, order: DialJob): Promise<void> => {
    const checks = order.pre_checks.length > 0 ? 1 : 0;
    checking += checks;
    try {
      await runAttempt(deps, order);
    } catch (error) {
      deps.log.error(
        { call_ref: ref, error: errorForLog(error) },
        "an attempt failed; the sweep of the lead resumes it",
      );
    } finally {
      checking -= checks;
    }
  };

  return {
    take(order) {
      const ref = callRef(order.lead_id, order.claim_no);
      if (seen.get(ref)) return true;
      if (deps.draining.aborted || running.size >= MAX_ATTEMPTS || !deps.storeClock.known()) return false;
      if (order.pre_checks.length > 0 && checking >= MAX_WITH_PRE_CHECKS) return false;
      seen.set(ref, true);
      running.add(run(ref, order));
      return true;
    },
    async drain(limitMs) {
      await within(deps.clock, limitMs, running.drain());
    },
  };
}
