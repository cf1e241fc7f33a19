import type { SoundFormat } from "./audio-format.ts";

/** What the application may ask of a stream. */
export type StreamCommand =
  | { do: "sound"; bytes: Buffer }
  | { do: "mark"; name: string }
  | { do: "clear" }
  | { do: "keys"; digits: string };

/** The numbers a message carries: `sequence` counts all but the first greeting, from 1; `chunk` the frames of sound. `ms`: since the stream began. */
export interface Numbers {
  sequence: number;
  chunk: number;
  ms: number;
}

/** A carrier's own words for what goes over a stream's socket. */
export interface StreamDialect {
  readonly id: string;
  readonly url: string;
  /** Sent with the upgrade. */
  readonly headers: Record<string, string>;
  readonly toAgent: SoundFormat;
  readonly fromAgent: SoundFormat;
  /** Marks that a clear threw away are reported as if they had been reached. */
  readonly reportsClearedMarks: boolean;
  /** Frames may come in another order, or twice, when a fault asks for it. */
  readonly mayShuffle: boolean;
  /** Before everything else, without a number. */
  greeting(): object | null;
  start(n: Numbers): object;
  /** JSON: there are very many of these. */
  media(payload: string, n: Numbers): string;
  digit(digit: string, n: Numbers): object;
  mark(name: string, n: Numbers): object;
  cleared(n: Numbers): object | null;
  error(description: string, n: Numbers): object | null;
  stop(n: Numbers): object | null;
  /** What a message asks for; a string is what the carrier complains about. */
  read(message: Record<string, unknown>): StreamCommand | string;
}
