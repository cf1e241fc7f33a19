import { DO_NOT_CALL } from "../../../shared/contracts/records/attempt.ts";
import type { DialogueState, Promised } from "./dialogue-state.ts";

/** What is decided, and what counts only once our words were heard: an outcome that we announce, a message on voicemail. Pure. */

/** So much may be missing at the end of our words, characters: a second of speech, for carriers report a hang-up up to that much late. */
const NEARLY_ALL_CHARS = 15;

/** The outcome is decided; the word do_not_call says besides that they asked not to be called again, which no later decision takes back. Null: nothing is decided. */
export const decide = (s: DialogueState, outcome: string | null | undefined): DialogueState =>
  outcome === null || outcome === undefined
    ? s
    : { ...s, decided: outcome, promised: null, do_not_call: s.do_not_call || outcome === DO_NOT_CALL };

/** An outcome counts once the words from this transcript entry on were heard; whoever asks not to be called again need not hear us. */
export const announce = (s: DialogueState, outcome: string, from = s.seq): DialogueState =>
  outcome === DO_NOT_CALL ? decide(s, outcome) : { ...s, promised: { what: { outcome }, from, cut: false } };

/** The outcome of a function or rule: what they said or pressed decides it. Before their first turn nobody but us has spoken: it is announced. */
export const decideByTurn = (s: DialogueState, outcome: string | null | undefined): DialogueState =>
  outcome === null || outcome === undefined || s.user_turns > 0
    ? decide(s, outcome)
    : announce(s, outcome, s.open.at(-1) ?? s.seq);

/** The outcome of a node that is left: what it said must have been heard. */
export const decideOnLeaving = (s: DialogueState, outcome: string): DialogueState => {
  const said = s.open.at(-1);
  return said === undefined ? decideByTurn(s, outcome) : announce(s, outcome, said);
};

const reach = (s: DialogueState, { what }: Promised): DialogueState =>
  what === "message" ? { ...s, promised: null, message_left: true } : { ...s, promised: null, decided: what.outcome };

/** All that we have said was heard. */
export function allHeard(s: DialogueState): DialogueState {
  const { promised, open } = s;
  if (open.length === 0) return s;
  const heard = { ...s, open: [] };
  return promised !== null && open.some((seq) => seq >= promised.from) ? reach(heard, promised) : heard;
}

/** How much of one of our texts was heard, characters. */
export interface HeardPart {
  readonly seq: number;
  readonly chars: number;
  readonly heard: number;
}

const isNearlyAll = (parts: readonly HeardPart[]): boolean => {
  const heard = parts.reduce((sum, part) => sum + part.heard, 0);
  return heard > 0 && parts.reduce((sum, { chars }) => sum + chars, 0) - heard <= NEARLY_ALL_CHARS;
};

/** Our speech was cut: of what was not known to be heard, these parts were. */
export function heardInPart(s: DialogueState, parts: readonly HeardPart[]): DialogueState {
  const { promised } = s;
  const cut = s.mode === "ended" && !isNearlyAll(parts) ? { ...s, end_unheard: true } : s;
  const words = promised === null ? [] : parts.filter(({ seq }) => seq >= promised.from);
  if (promised === null || words.length === 0) return cut;
  return isNearlyAll(words) ? reach(cut, promised) : { ...cut, promised: { ...promised, cut: true } };
}

/** A sentence of ours that ends the call takes the place of words that an outcome waited for: it was not announced. */
export const withoutUnsaid = (s: DialogueState): DialogueState =>
  s.promised === null || s.promised.what === "message" || s.open.some((seq) => seq >= (s.promised?.from ?? 0))
    ? s
    : { ...s, promised: null };

/** Our speech was heard to its end, as far as it was not cut before, and nothing follows. */
export function playedOut(s: DialogueState): DialogueState {
  const heard = allHeard(s);
  return heard.promised === null || heard.promised.cut ? heard : reach(heard, heard.promised);
}
