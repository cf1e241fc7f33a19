import type { Pcm } from "../speech/port.ts";

/** Writes a talk down as it sounded: the caller left, the agent right. Neither call ever waits, and both may come late by up to LATENESS_MS. */
export interface Recorder {
  /** Sound of the caller; `at_ms` is the clock's monotonic time of its first sample (its arrival will do). */
  heard(pcm: Pcm, at_ms: number): void;
  /** Sound of ours that the caller has heard, or is hearing now: what a clear threw away is never told. */
  played(pcm: Pcm, at_ms: number): void;
  /** The talk is over now; resolves when the recording is kept, or given up. Never throws; the second time it changes nothing. */
  end(): Promise<void>;
}

/** Sound may be told this long after it sounded. */
export const LATENESS_MS = 1500;
