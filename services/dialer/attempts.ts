import type { DialOrder } from "../../shared/contracts/dialer.ts";
import { callRef } from "../../shared/ids.ts";
import { errorForLog } from "../../shared/log.ts";
import { runAttempt } from "./attempt.ts";
import type { Works } from "./works.ts";

/** Attempts between acceptance and the carrier's answer, per node. */
const ATTEMPTS_AT_ONCE = 500;

/** The attempts under way in this process. */
export interface Attempts {
  /** Takes an order and starts its attempt; false: there is no room, or this process is shutting down. One that is under way already counts as taken. */
  take(order: DialOrder): boolean;
  /** Resolves when every attempt has come to its end, or after `limitMs`. */
  settled(limitMs: number): Promise<void>;
}

/** Runs attempts side by side, so many and no more: back-pressure is the scheduler's to feel. */
export function createAttempts(w: Works): Attempts {
  const running = new Map<string, Promise<void>>();
  return {
    take(order) {
      const ref = callRef(order.lead_id, order.claim_no);
      if (running.has(ref)) return true;
      if (w.stopping() || running.size >= ATTEMPTS_AT_ONCE) return false;
      running.set(ref, runAttempt(w, order)
        .catch((error: unknown) => { w.log.error({ call_ref: ref, error: errorForLog(error) }, "an attempt broke off; the lead's sweep takes it up"); })
        .finally(() => { running.delete(ref); }));
      return true;
    },
    async settled(limitMs) {
      const over = new AbortController();
      await Promise.race([Promise.all(running.values()), w.clock.wait(limitMs, over.signal)]);
      over.abort();
    },
  };
}
