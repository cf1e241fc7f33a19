import type { Utterance } from "../audio/speech-duration.ts";

/** Most text kept for one reply, characters: carriers bound their documents. */
const MAX_KEPT_CHARS = 20_000;

/** Text to be spoken that was not handed over yet: it arrives in pieces and leaves as utterances. */
export interface UtteranceBuffer {
  add(piece: string, how: { last: boolean; interruptible: boolean }): void;
  /** True when the buffer contains no complete utterance. */
  empty(): boolean;
  /** Takes the complete utterances out. An incomplete one stays, so that it is spoken in one go. */
  take(): Utterance[];
}

/** An empty buffer. */
export function utteranceBuffer(): UtteranceBuffer {
  let complete: Utterance[] = [];
  let open = "";
  let interruptible = true;
  let chars = 0;
  const close = (): void => {
    const text = open.trim();
    open = "";
    if (text !== "") complete.push({ text, interruptible });
  };
  return {
    add(piece, how) {
      // text of the other kind begins a new utterance, whether or not the previous one was closed
      if (open !== "" && how.interruptible !== interruptible) close();
      interruptible = how.interruptible;
      const kept = piece.slice(0, MAX_KEPT_CHARS - chars);
      open += kept;
      chars += kept.length;
      if (how.last) close();
    },
    empty: () => complete.length === 0,
    take() {
      const taken = complete;
      complete = [];
      chars = open.length;
      return taken;
    },
  };
}
