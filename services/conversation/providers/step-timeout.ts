import type { Clock } from "../../../shared/time/clock.ts";
import { startTimer } from "../../../shared/time/timer.ts";
import { abortedError } from "./model-errors.ts";
import { ModelError } from "./port.ts";

/** Waits for a promise until the signal aborts; then it rejects with MODEL_ABORTED. */
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

/** A request in steps, each with a time limit of its own. */
export interface StepTimeout {
  /** Aborts with the asker's signal, or when a step took too long. */
  readonly signal: AbortSignal;
  /** Waits for one step, at most `ms`; rejects with MODEL_TIMEOUT or MODEL_ABORTED. */
  wait<T>(step: Promise<T>, ms: number): Promise<T>;
}

/** Limits the steps of one request. `what` names the model in the error. */
export function stepTimeout(clock: Clock, signal: AbortSignal, what: string): StepTimeout {
  const late = new AbortController();
  const either = AbortSignal.any([signal, late.signal]);
  return {
    signal: either,
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
