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
  /** The carrier complains about something we sent. */
  fault(): void;
  /** The leg is gone, whoever closed it. Comes once and last. */
  closed(): void;
}

/** A leg of a call that carries text. */
export interface TextLeg {
  /** Sets the receiver; what came before is delivered first. Once only. */
  listen(events: TextLegEvents): void;
  /** Hands a piece of text to speech; `last` ends the utterance. */
  say(text: string, how: { last: boolean; interruptible: boolean }): void;
  /** Ends the carrier's session politely; the carrier closes the leg then. */
  end(): void;
  /** Closes the leg; at once where the other side does not answer. */
  close(): void;
}
