import { MS_PER_SECOND } from "../../../shared/time/clock.ts";

/** Assumed speed of synthesised speech where the carrier does not report it. */
export const CHARS_PER_SECOND = 15;

/** A text to be spoken in one go. */
export interface Utterance {
  readonly text: string;
  readonly interruptible: boolean;
}

/** Estimated duration of a spoken text, ms. */
export const speechMs = (text: string): number => (text.length * MS_PER_SECOND) / CHARS_PER_SECOND;

/** Estimated duration of utterances one after the other, ms. */
export const totalSpeechMs = (texts: readonly Utterance[]): number =>
  texts.reduce((ms, { text }) => ms + speechMs(text), 0);

/** The first characters of a text, ended at a word. */
export const wordPrefix = (text: string, chars: number): string =>
  chars >= text.length ? text : text.slice(0, chars + 1).replace(/\s*\S*$/u, "");

/** What was spoken of a text when its speech stopped after this share of it (0 to 1), whole words only. */
export const spokenPrefix = (text: string, share: number): string =>
  wordPrefix(text, share >= 1 ? text.length : Math.floor(text.length * share));

/** The utterance that was spoken last when speech stopped after `ms`, cut to what was heard of it. One that is not interruptible was heard whole, with all before it. */
export function lastHeard(said: readonly Utterance[], ms: number): string {
  let left = ms;
  let heard = "";
  const firm = said.findLastIndex(({ interruptible }) => !interruptible);
  for (const [i, { text }] of said.entries()) {
    const part = i > firm ? wordPrefix(text, Math.floor((left * CHARS_PER_SECOND) / MS_PER_SECOND)) : text;
    heard = part === "" ? heard : part;
    if (part !== text) break;
    left = Math.max(0, left - speechMs(text));
  }
  return heard;
}
