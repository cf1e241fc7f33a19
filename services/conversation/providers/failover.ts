import type { Clock } from "../../../shared/time/clock.ts";
import { ModelError } from "./port.ts";

/** How long a failed endpoint is not asked first: every request to it would cost its time-outs. */
export const COOL_DOWN_MS = 30_000;
/** Tries at each endpoint. */
const TRIES = 2;

/** The order of two endpoints by their health. */
export interface Failover<T> {
  /** The endpoints in the order in which to ask them. */
  endpoints(): readonly T[];
  /** Reports a failed question. One that its asker aborted says nothing about the endpoint. */
  failed(endpoint: T, error: unknown): void;
}

/** Called when the first endpoint fails and the second takes over for a while. */
export type FailoverListener = (error: ModelError) => void;

/** Prefers the first endpoint, unless it failed a moment ago and there is a second. */
export function failover<T>(first: T, second: T | null, clock: Clock, onFailover?: FailoverListener): Failover<T> {
  let coolDownUntil = -Infinity;
  return {
    endpoints() {
      if (second === null) return [first];
      return clock.monotonicMs() < coolDownUntil ? [second, first] : [first, second];
    },
    failed(endpoint, error) {
      if (endpoint !== first || second === null) return;
      if (error instanceof ModelError && error.code === "MODEL_ABORTED") return;
      coolDownUntil = clock.monotonicMs() + COOL_DOWN_MS;
      onFailover?.(error instanceof ModelError ? error : new ModelError("MODEL_ERROR", "the endpoint failed", true));
    },
  };
}

/** Asks the endpoints in order, each once more after a retryable error; throws the last error, or the first after which `isFinal` is true. */
export async function askInOrder<T, Answer>(
  { endpoints, failed }: Failover<T>,
  ask: (endpoint: T) => Promise<Answer>,
  isFinal: () => boolean,
): Promise<Answer> {
  let last: unknown;
  for (const endpoint of endpoints()) {
    for (let tries = 1; tries <= TRIES; tries++) {
      try {
        return await ask(endpoint);
      } catch (error) {
        last = error;
        if (isFinal()) throw error;
        if (!(error instanceof ModelError && error.retryable)) break;
      }
    }
    failed(endpoint, last);
  }
  throw last;
}
