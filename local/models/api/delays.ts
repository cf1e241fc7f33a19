import type { Clock } from "../../../shared/time/clock.ts";
import { ApiError } from "./chat-request.ts";

/** How long the simulator takes for what a real model would have to work for, ms. */
export interface DelayTimes {
  /** From the end of an upload, or of somebody's speech, to its words. */
  stt_ms: number;
  /** To the first token of an answer. */
  first_token_ms: number;
  /** Between tokens. */
  token_ms: number;
  /** To the first sound of speech. */
  first_audio_ms: number;
}

/** Longest of each. */
export const MOST_DELAY_MS = 60_000;

const NAMES = ["stt_ms", "first_token_ms", "token_ms", "first_audio_ms"] as const;

/** The delays that hold now; tests change them while the simulator runs. */
export class Delays {
  readonly now: DelayTimes;

  constructor(times: Partial<DelayTimes>) {
    this.now = { stt_ms: 0, first_token_ms: 0, token_ms: 0, first_audio_ms: 0, ...times };
  }

  /** Takes `{stt_ms?, first_token_ms?, token_ms?, first_audio_ms?}`; throws ApiFault 400 for anything else. */
  order(body: unknown): void {
    const fields: Readonly<Record<string, unknown>> = typeof body === "object" && body !== null ? { ...body } : {};
    const next: Partial<DelayTimes> = {};
    for (const [field, value] of Object.entries(fields)) {
      const name = NAMES.find((one) => one === field);
      if (name === undefined)
        throw new ApiError(400, `Unknown delay '${field}': one of ${NAMES.join(", ")}.`, field, "invalid_value");
      if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > MOST_DELAY_MS)
        throw new ApiError(400, `'${name}' must be a whole number from 0 to ${MOST_DELAY_MS}.`, name, "invalid_value");
      next[name] = value;
    }
    Object.assign(this.now, next);
  }
}

/** Waits; rejects when the signal aborts. */
export async function delay(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (ms > 0) await clock.wait(ms, signal);
  signal.throwIfAborted();
}
