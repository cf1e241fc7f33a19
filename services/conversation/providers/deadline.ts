import type { Clock } from "../../../shared/clock.ts";
import { startTimer } from "../timer.ts";
import { abortedError } from "./model-errors.ts";
import { ModelError } from "./port.ts";

/** Waits for a promise, but no longer than until the signal aborts; it rejects with MODEL_ABORTED then. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(abortedError());
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  aborted.catch(() => undefined);
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** A patience: told to wait, it aborts when the wait lasts too long. */
export interface Patience {
  /** Aborts with the caller's signal, or when patience is at its end. */
  readonly signal: AbortSignal;
  readonly late: boolean;
  /** Waits for one step, at most so long; MODEL_TIMEOUT or MODEL_ABORTED otherwise. */
  wait<T>(step: Promise<T>, ms: number): Promise<T>;
}

/** Patience with a model under the caller's signal. `what` names the model in the fault. */
export function patienceOf(clock: Clock, signal: AbortSignal, what: string): Patience {
  const late = new AbortController();
  const either = AbortSignal.any([signal, late.signal]);
  return {
    signal: either,
    get late() {
      return late.signal.aborted;
    },
    async wait(step, ms) {
      const stop = startTimer(clock, ms, () => late.abort());
      try {
        return await unlessAborted(step, either);
      } catch (error) {
        if (late.signal.aborted && !signal.aborted)
          throw new ModelError("MODEL_TIMEOUT", `${what} was silent for ${ms} ms`, true);
        throw signal.aborted ? abortedError() : error;
      } finally {
        stop();
      }
    },
  };
}
