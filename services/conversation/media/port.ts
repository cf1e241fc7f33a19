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
export interface Floor { idle_ms: number; keys_only: boolean }

/** A leg of a call that carries text. What is optional belongs to legs that speak in turns (`yours`, `flush`, `leave`), or to those that press keys themselves. */
export interface TextLeg {
  /** Sets the receiver; what came before is delivered first. Once only. */
  listen(events: TextLegEvents): void;
  /** Hands a piece of text to speech; `last` ends the utterance. */
  say(text: string, how: { last: boolean; interruptible: boolean }): void;
  /** The floor passes to the customer: what was said is handed over whole. Such a leg counts the silence itself. */
  yours?(floor: Floor): void;
  /** Hands over what was said so far; the floor stays with us. */
  flush?(): void;
  /** The carrier is to wait for a machine's beep, at most so long, to say the message then and to end the call; `taken` once it has been told so. */
  leave?(message: string, patience_seconds: number, taken: () => void): void;
  /** Presses keys (0-9 * # w) towards the callee. */
  keys?(digits: string): void;
  /** Ends the carrier's session politely; the carrier closes the leg then. */
  end(): void;
  /** Closes the leg; at once where the other side does not answer. */
  close(): void;
}
