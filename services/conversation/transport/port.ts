/** What comes in on a leg that carries text: the carrier does speech recognition and synthesis. */
export interface TextLegEvents {
  /** The carrier is ready to speak; `call_id` is its own name of the call, where it tells one. */
  ready(call_id: string | null): void;
  /** Words of the customer; `final` false while they are still speaking. */
  prompt(text: string, final: boolean): void;
  digit(digit: string): void;
  /** The customer talked over us; `spoken` is what they had heard of the utterance. */
  interrupt(spoken: string): void;
  /** Our speech began or ended to be audible; only carriers that report it. */
  speaking(now: boolean): void;
  /** The customer began or ended to speak; only carriers that report it. */
  customer(speaking: boolean): void;
  /** The customer has been silent for as long as the floor was given to them (`yours`); only legs that have it. */
  silence(): void;
  /** The carrier complains about something we sent. */
  fault(): void;
  /** The leg is gone, whoever closed it. Comes once and last. */
  closed(): void;
}

/** The floor as it is given to the customer: how long they may be silent, and whether only keys are waited for. */
export interface Floor {
  idle_ms: number;
  keys_only: boolean;
}

/** A leg of a call that carries text. What is optional belongs to legs that speak in turns (`yours`, `flush`, `leave`), or to those that press keys themselves. */
export interface TextLeg {
  /** Sets the receiver; what came before is delivered first. Once only. */
  listen(events: TextLegEvents): void;
  /** Hands a piece of text to speech; `last` ends the utterance. */
  say(text: string, how: { last: boolean; interruptible: boolean }): void;
  /** The floor passes to the customer: what was said is handed over whole. Such a leg counts the silence itself. */
  giveFloor?(floor: Floor): void;
  /** Hands over what was said so far; the floor stays with us. */
  flush?(): void;
  /** The carrier is to wait for a machine's beep, at most so long, to say the message then and to end the call; `taken` once it has been told so. */
  leaveMessage?(message: string, patience_seconds: number, taken: () => void): void;
  /** Presses keys (0-9 * # w) towards the callee. */
  sendDtmf?(digits: string): void;
  /** Ends the carrier's session politely; the carrier closes the leg then. */
  end(): void;
  /** Closes the leg; at once where the other side does not answer. */
  close(): void;
}

/** How sound travels on a leg: G.711 (one byte a sample) or linear 16 bit little-endian, mono, samples a second. */
export interface AudioFormat {
  readonly codec: "pcmu" | "pcma" | "s16le";
  readonly rate: 8000 | 16_000 | 24_000 | 48_000;
}

/** Length of the frames that are written to a leg. */
export const FRAME_MS = 20;

/** What comes in on a leg that carries sound. */
export interface MediaLegEvents {
  /** The stream is set up; before it nothing else comes. `call_id` is the carrier's own name of the call, where it tells one. */
  ready(call_id: string | null, format: AudioFormat): void;
  /** Sound of the other side in the leg's format, in order, as long as the carrier makes its frames (20 ms as a rule). */
  audio(frame: Uint8Array): void;
  digit(digit: string): void;
  /** All that was written before the mark has been played, or thrown away by a clear. */
  mark(name: string, how: "played" | "cleared"): void;
  /** The carrier complains about something we sent. */
  fault(): void;
  /** The leg is gone, whoever closed it. Comes once and last. */
  closed(): void;
}

/** A leg of a call that carries sound: phone streams and rooms look the same. It buffers nothing by itself: who writes keeps the pace. */
export interface MediaLeg {
  /** Sets the receiver; what came before is delivered first. Once only. */
  listen(events: MediaLegEvents): void;
  /** Hands sound over in the leg's format, whole frames of FRAME_MS. */
  write(frame: Uint8Array): void;
  /** Asks to be told when all that was written so far has been played. Names are unique within a leg. */
  mark(name: string): void;
  /** Throws away what was written and is not played yet; its marks come back as "cleared". */
  clear(): void;
  /** Presses keys (0-9 * # w) towards the callee; only legs whose carrier has a message for it. */
  sendDtmf?(digits: string): void;
  /** Closes the leg politely, the second time at once. */
  close(): void;
}
