import type { MediaEnd } from "../../../shared/hangup-source.ts";

/** What comes in on a leg that carries text: the carrier does speech recognition and synthesis. */
export interface TextLegEvents {
  /** The carrier is ready to speak; `call_id` is its own name of the call, null where it reports none. */
  ready(call_id: string | null): void;
  /** Words of the customer; `final` false while they are still speaking. */
  prompt(text: string, final: boolean): void;
  digit(digit: string): void;
  /** Barge-in; `spoken` is what the customer heard of the utterance. */
  interrupt(spoken: string): void;
  /** Our speech became audible or silent; only carriers that report it. */
  speaking(now: boolean): void;
  /** The customer began or stopped speaking; only carriers that report it. */
  customer(speaking: boolean): void;
  /** The customer was silent for the idle time of the floor; only legs that have `giveFloor`. */
  silence(): void;
  /** The carrier complains about something we sent. */
  fault(): void;
  /** The leg is closed, by either side. Comes once and last. Absent: in order. */
  closed(how?: MediaEnd): void;
}

/** A receiver that ignores everything. */
export const NO_TEXT_EVENTS: TextLegEvents = {
  ready: () => undefined,
  prompt: () => undefined,
  digit: () => undefined,
  interrupt: () => undefined,
  speaking: () => undefined,
  customer: () => undefined,
  silence: () => undefined,
  fault: () => undefined,
  closed: () => undefined,
};

/** How the customer has the floor: how long they may be silent, and whether only DTMF counts. */
export interface Floor {
  idle_ms: number;
  keys_only: boolean;
}

/**
 * A leg of a call that carries text. Optional members belong to XML-driven calls (`giveFloor`, `flush`, `leaveMessage`) or to
 * legs that send DTMF themselves.
 */
export interface TextLeg {
  /** Sets the receiver and delivers the events that came before. Once only. */
  listen(events: TextLegEvents): void;
  /** Adds a piece of text to our speech; `last` ends the utterance. */
  say(text: string, how: { last: boolean; interruptible: boolean }): void;
  /** Gives the customer the floor: what was said is handed over whole. Such a leg measures the silence itself. */
  giveFloor?(floor: Floor): void;
  /** Hands over what was said so far; the floor stays with us. */
  flush?(): void;
  /** Makes the carrier wait for the voicemail beep for at most `patience_seconds`, say the message and end the call; `taken` is called once the carrier has these orders. */
  leaveMessage?(message: string, patience_seconds: number, taken: () => void): void;
  /** Sends DTMF (0-9 * # w) to the callee. */
  sendDtmf?(digits: string): void;
  /** Ends the carrier's session politely; the carrier closes the leg then. */
  end(): void;
  /** Closes the leg; at once where the other side does not answer. */
  close(): void;
}

/** Encoding of audio on a leg: G.711 (one byte a sample) or linear 16 bit little-endian, mono; `rate` in samples a second. */
export interface AudioFormat {
  readonly codec: "pcmu" | "pcma" | "s16le";
  readonly rate: 8000 | 16_000 | 24_000 | 48_000;
}

/** Length of the frames written to a leg. */
export const FRAME_MS = 20;

/** What comes in on a leg that carries audio. */
export interface MediaLegEvents {
  /** The stream is set up; nothing comes before it. `call_id` is the carrier's own name of the call, null where it reports none. */
  ready(call_id: string | null, format: AudioFormat): void;
  /** Audio of the other side in the leg's format, in order, in frames of the carrier's length (20 ms as a rule). */
  audio(frame: Uint8Array): void;
  digit(digit: string): void;
  /** Words that the other side has typed in place of saying them; only legs whose client can. */
  typed?(text: string): void;
  /** All audio written before the mark was played, or thrown away by a clear. */
  mark(name: string, how: "played" | "cleared"): void;
  /** The carrier complains about something we sent. */
  fault(): void;
  /** We refuse what comes, and close the leg. `code`: why. */
  refused(code: string): void;
  /** The leg is closed, by either side. Comes once and last. Absent: in order. */
  closed(how?: MediaEnd): void;
}

/** A leg of a call that carries audio. It does not buffer: the writer paces the frames. */
export interface MediaLeg {
  /** Sets the receiver and delivers the events that came before. Once only. */
  listen(events: MediaLegEvents): void;
  /** Sends audio in the leg's format, whole frames of FRAME_MS. */
  write(frame: Uint8Array): void;
  /** Requests a `mark` event when all audio written so far was played. Names are unique within a leg. */
  mark(name: string): void;
  /** Throws away the audio that was written and not played; its marks return as "cleared". */
  clear(): void;
  /** Sends DTMF (0-9 * # w) to the callee; only legs whose stream has a message for it. */
  sendDtmf?(digits: string): void;
  /** Closes the leg politely, the second time at once. */
  close(): void;
}
