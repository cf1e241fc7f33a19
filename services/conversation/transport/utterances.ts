import type { Utterance } from "../audio/speech-duration.ts";

/** Most text kept for one reply, characters: carriers bound their documents. */
const MAX_KEPT_CHARS = 20_000;

/** What was said and not yet handed over: texts come in pieces and leave as utterances. */
export interface UtteranceBuffer {
  add(piece: string, how: { last: boolean; interruptible: boolean }): void;
  /** True when nothing complete waits to be spoken. */
  empty(): boolean;
  /** Hands out the utterances that are complete. One that still grows waits, so that it is spoken in one go. */
  take(): Utterance[];
}

/** Starts with nothing said. */
export function utteranceBuffer(): UtteranceBuffer {
  let complete: Utterance[] = [];
  let growing = "";
  let interruptible = true;
  let chars = 0;
  const close = (): void => {
    const text = growing.trim();
    growing = "";
    if (text !== "") complete.push({ text, interruptible });
  };
  return {
    add(piece, how) {
      // a text of another kind is another utterance, whether or not the one before was closed
      if (growing !== "" && how.interruptible !== interruptible) close();
      interruptible = how.interruptible;
      const kept = piece.slice(0, MAX_KEPT_CHARS - chars);
      growing += kept;
      chars += kept.length;
      if (how.last) close();
    },
    empty: () => complete.length === 0,
    take() {
      const said = complete;
      complete = [];
      chars = growing.length;
      return said;
    },
  };
}
