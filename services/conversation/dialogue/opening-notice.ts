import type { DialogueState } from "./dialogue-state.ts";

/** The greeting says who calls, and that the call is recorded: it is heard to its end, though it may be cut. Pure. */

const SENTENCE_END = /(?<=[.!?।॥؟。！？…])\s+/u;
const ASKS = /[?？؟]["'”’»)]*$/u;

const plain = (text: string): string => text.replace(/\s+/g, " ").trim();

/** The sentences of a text that were not heard to their end; empty where none is left, or only a question, which they have answered. */
export function unheardSentences(text: string, heard: string): string {
  const known = plain(heard).length;
  let end = -1;
  const rest = plain(text)
    .split(SENTENCE_END)
    .filter((sentence) => {
      end += sentence.length + 1;
      return end > known;
    });
  return rest.length === 1 && ASKS.test(rest[0] ?? "") ? "" : rest.join(" ");
}

/** The state after an interruption (`before`: ahead of it): what is to be said again of a greeting that was cut. */
export function withUnheard(before: DialogueState, s: DialogueState): DialogueState {
  const { notice } = before;
  if (notice === null) return s;
  if (!before.open.includes(notice.seq)) return { ...s, notice: null };
  const heard = s.transcript.find(({ seq }) => seq === notice.seq)?.content ?? "";
  return { ...s, notice: null, unheard: unheardSentences(notice.text, heard) };
}
