import type { VoiceActivity } from "../../audio/port.ts";

/** Whoever talks to us is quiet for this long at the end of what they say; a television and people at the next table go on before, ms. */
const PERSON_QUIET_MS = 900;
/** The same where noise is never quiet, and while our speech may hide what is soft. */
const PERSON_SILENCE_MS = 2000;
/** A faint voice over our speech, or one that goes on, may be one of the room from here on, ms. */
const DOUBTED = { over: 200, on: 4000 } as const;
/** It is one when it has talked on for so long over our speech, or at all; the last once this call has had one. */
const CERTAIN = { over: 2000, on: 8000, again: 3000 } as const;

/** What our speech does: it may be paused for theirs. */
export type OurSpeech = "silent" | "paused" | "audible";

/**
 * Tells the voices of a room from a soft caller: they are faint, they talk on through our speech, and do not pause for an answer. What is
 * quiet for a while, or comes nearer is a caller. Pure.
 */
export class Bystander {
  /** How long the faint voice under way goes on, with its short pauses; of it, over our speech. */
  #on_ms = 0;
  #over_ms = 0;
  #known = false;
  /** Since our speech was last audible. */
  #free_ms = Infinity;

  /** After each piece of audio of so many ms, with what our speech does meanwhile. */
  advance({ faint, familiar, speaking, silence_ms, quiet_ms }: VoiceActivity, ms: number, ours: OurSpeech): void {
    this.#free_ms = ours === "audible" ? 0 : this.#free_ms + ms;
    const isOver = Math.min(quiet_ms, this.#free_ms) >= PERSON_QUIET_MS || silence_ms >= PERSON_SILENCE_MS;
    if (isOver || (speaking && !faint)) this.#on_ms = this.#over_ms = 0;
    else if (speaking || this.faint) {
      this.#on_ms += ms;
      // who was understood before interrupts us as anybody does
      if (speaking && ours !== "silent" && (!familiar || this.#known)) this.#over_ms += ms;
    }
    this.#known ||= this.certain;
  }

  /** A faint voice is under way: a caller's or one of the room. */
  get faint(): boolean {
    return this.#on_ms > 0;
  }
  /** It may be one of the room: its pause is awaited before its words count. */
  get doubted(): boolean {
    return this.faint && (this.#known || this.#over_ms >= DOUBTED.over || this.#on_ms >= DOUBTED.on);
  }
  /** It is one: we speak over it, and it is nobody who answers. */
  get certain(): boolean {
    return this.#over_ms >= CERTAIN.over || this.#on_ms >= (this.#known ? CERTAIN.again : CERTAIN.on);
  }
}
