import { collectionOf, type Flow } from "./flow.ts";
import { MAX_SECRET_ENTRIES, type DialogueState, type CallerInput } from "./dialogue-state.ts";
import { calleeWords } from "./prompts.ts";
import { unstorableIn } from "../../../shared/database/storable.ts";

/**
 * DTMF entered in a node with a secret collection. Variables get it, and so does the model unless a transition consumed it: the
 * conversation needs it. Transcript and reported variables show it masked: every variable that is set in such a node, and
 * longer entries wherever they come again. Pure.
 */

/** Stands for a secret; always of the same length, so that it does not reveal the length of the secret. */
export const MASK = "****";
/** Shorter entries are not masked elsewhere: a 1 occurs in many sentences. */
const MIN_TRACED_DIGITS = 4;
/** Digits that are said one after the other. */
const SPOKEN_DIGITS = /\d(?:[\s.-]*\d){2,}/g;

const isSecret = (flow: Flow, node: string): boolean => collectionOf(flow, node)?.secret ?? false;

/** The customer's words. Where a secret is asked for, digits among them are not shown. */
export function speechInput(flow: Flow, s: DialogueState, said: string): CallerInput {
  const content = calleeWords(said);
  return { content, shown: isSecret(flow, s.node) ? content.replace(SPOKEN_DIGITS, MASK) : content, dtmf: null };
}

/** The customer's DTMF as the model and the transcript show it. */
export const dtmfInput = (flow: Flow, s: DialogueState, digits: string): CallerInput => ({
  content: `[keypad] ${digits}`,
  shown: `[keypad] ${isSecret(flow, s.node) ? MASK : digits}`,
  dtmf: { digits, node: s.node },
});

/** The model's view of an entry that a transition consumed: a secret is masked as in the transcript. */
export const maskConsumed = (s: DialogueState, { content, shown }: CallerInput): DialogueState =>
  content === shown
    ? s
    : {
        ...s,
        history: s.history.map((m) => (m.role === "user" && m.content === content ? { ...m, content: shown } : m)),
      };

/** Stores a secret to be masked. Skips values that are too short to search for. */
const remember = (s: DialogueState, entries: readonly string[]): DialogueState => {
  const fresh = entries.filter((entry) => entry.length >= MIN_TRACED_DIGITS && !s.secret_entries.includes(entry));
  return fresh.length === 0
    ? s
    : { ...s, secret_entries: [...s.secret_entries, ...new Set(fresh)].slice(-MAX_SECRET_ENTRIES) };
};

/** Stores a secret entry. */
export const rememberSecret = (flow: Flow, s: DialogueState, digits: string): DialogueState =>
  isSecret(flow, s.node) ? remember(s, [digits]) : s;

/** Digits in a value of any type: the customer may speak a secret instead of entering it by DTMF. */
const digitsIn = (value: unknown): readonly string[] => (JSON.stringify(value) ?? "").match(/\d+/g) ?? [];

/** Sets variables; those that get their values in a node with a secret are secret from then on. */
export function setVariables(flow: Flow, s: DialogueState, values: Readonly<Record<string, unknown>>): DialogueState {
  const names = Object.keys(values);
  if (names.length === 0) return s;
  const set: DialogueState = { ...s, extracted: { ...s.extracted, ...values } };
  if (!isSecret(flow, s.node)) return set;
  return remember(
    { ...set, secret_variables: [...new Set([...s.secret_variables, ...names])] },
    Object.values(values).flatMap(digitsIn),
  );
}

/** A text without the secrets of the conversation. */
export const maskedText = (s: DialogueState, text: string): string =>
  s.secret_entries.reduce((now, entry) => now.replaceAll(entry, MASK), text);

function masked(s: DialogueState, value: unknown): unknown {
  if (typeof value === "string") return maskedText(s, value);
  if (typeof value === "number") return maskedText(s, String(value)) === String(value) ? value : MASK;
  if (Array.isArray(value)) return value.map((inner) => masked(s, inner));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, masked(s, inner)]));
  return value;
}

/** The variables the conversation has set, secrets masked. One that no document can hold (of a function's answer, or a model's invention) is left out. */
export const maskedVariables = (s: DialogueState): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(s.extracted)
      .filter(([name, value]) => unstorableIn({ [name]: value }) === null)
      .map(([name, value]) => [name, s.secret_variables.includes(name) ? MASK : masked(s, value)]),
  );
