import type { Clock } from "../../../shared/clock.ts";
import { ModelError } from "./port.ts";

/** How long an endpoint that has failed is not asked first: every question to it would cost its time-outs. */
export const COOL_DOWN_MS = 30_000;

/** Which of two endpoints is asked first. */
export interface Failover<T> {
  /** In the order in which they are to be asked. */
  endpoints(): readonly T[];
  /** Asking it came to nothing; what the asker took back says nothing about its health. */
  failed(one: T, error: unknown): void;
}

/** Told when the first endpoint fails and rests; a second one stands in for it. */
export type FailoverListener = (fault: ModelError) => void;

/** The first one is preferred, unless it failed a moment ago and there is a second. */
export function failover<T>(first: T, second: T | null, clock: Clock, resting?: FailoverListener): Failover<T> {
  let restsUntil = -Infinity;
  return {
    endpoints() {
      if (second === null) return [first];
      return clock.monotonicMs() < restsUntil ? [second, first] : [first, second];
    },
    failed(one, error) {
      if (one !== first || second === null || (error instanceof ModelError && error.code === "MODEL_ABORTED")) return;
      restsUntil = clock.monotonicMs() + COOL_DOWN_MS;
      resting?.(error instanceof ModelError ? error : new ModelError("MODEL_ERROR", "the endpoint failed", true));
    },
  };
}
