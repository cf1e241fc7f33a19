import { wordsIn } from "./language-model.ts";
import type { Recogniser } from "./recogniser.ts";
import { placeOf } from "./verdicts.ts";

/** An ear without errors: what it hears is known. It tells the detector's part in a verdict from the recogniser's. */

/** An utterance on a line, in samples of what was sent there. */
export interface Utterance {
  text: string;
  from: number;
  to: number;
}

/** A line on which it is known who said what. */
export interface ToldLine {
  readonly sent: { frames: readonly Int16Array[] };
  readonly utterances: readonly Utterance[];
}

/** A word is heard where so much of it is in the sound. */
const HEARD_SHARE = 0.6;

/** The words of an utterance whose sound lies between two samples; each takes the time that its letters are of all. */
export function wordsWithin({ text, from, to }: Utterance, piece: { from: number; to: number }): string[] {
  const words = wordsIn(text);
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  const each = (to - from) / Math.max(1, letters);
  let at = from;
  return words.filter((word) => {
    const [begins, ends] = [at, at + word.length * each];
    at = ends;
    return Math.min(ends, piece.to) - Math.max(begins, piece.from) >= HEARD_SHARE * (ends - begins);
  });
}

/** The words that were said on one of the lines while the sound was sent; none where no line sent it. */
export function toldEar(lines: () => readonly ToldLine[]): Recogniser {
  return {
    words(pcm) {
      for (const { sent, utterances } of lines()) {
        const place = placeOf(pcm, sent.frames, sent.frames.length);
        if (place !== null) return Promise.resolve(utterances.flatMap((one) => wordsWithin(one, place)).join(" "));
      }
      return Promise.resolve("");
    },
    stop: () => undefined,
  };
}
