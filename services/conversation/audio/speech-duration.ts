import { wordPrefix } from "./spoken-prefix.ts";

/** Speed of synthesised speech where the carrier does not report it. */
export const CHARS_PER_SECOND = 15;
const MS_PER_SECOND = 1000;

/** A text handed to speech. */
export interface Utterance {
  readonly text: string;
  readonly interruptible: boolean;
}

/** How long a text is audible, as far as can be told. */
export const speechMs = (text: string): number => (text.length * MS_PER_SECOND) / CHARS_PER_SECOND;

/** The same of texts one after the other. */
export const totalSpeechMs = (texts: readonly Utterance[]): number =>
  texts.reduce((ms, { text }) => ms + speechMs(text), 0);

/** The first `ms` of a text, ended at a word. */
const prefix = (text: string, ms: number): string =>
  wordPrefix(text, Math.floor((ms * CHARS_PER_SECOND) / MS_PER_SECOND));

/** The last of several texts that was heard when speech stopped after `ms`, cut to what was heard of it. One that can't be talked over was heard whole, with all before it. */
export function lastHeard(said: readonly Utterance[], ms: number): string {
  let left = ms;
  let heard = "";
  const firm = said.findLastIndex(({ interruptible }) => !interruptible);
  for (const [i, { text }] of said.entries()) {
    const part = i > firm ? prefix(text, left) : text;
    heard = part === "" ? heard : part;
    if (part !== text) break;
    left = Math.max(0, left - speechMs(text));
  }
  return heard;
}
