import { collectionOf, type Flow } from "./flow.ts";
import { MAX_SECRET_ENTRIES, type DialogueState, type CallerInput } from "./dialogue-state.ts";

/**
 * What is keyed in a node with a secret collection. Variables get it, and the model unless a rule has taken it, because the conversation needs it; transcript and reported
 * variables show it masked: every variable that is set in such a node, and longer entries wherever they come again. Pure.
 */

/** Stands for a secret; always as long, so that it does not tell how long the secret was. */
export const MASK = "****";
/** Shorter entries are not looked for elsewhere: a 1 is in many a sentence. */
const MIN_TRACED_DIGITS = 4;
/** Digits that are said one after the other. */
const SPOKEN_DIGITS = /\d(?:[\s.-]*\d){2,}/g;

const isSecret = (flow: Flow, node: string): boolean => collectionOf(flow, node)?.secret ?? false;

/** The customer's words. Where a secret is asked for, digits among them are not shown. */
export const speechInput = (flow: Flow, s: DialogueState, text: string): CallerInput => ({
  content: text,
  shown: isSecret(flow, s.node) ? text.replace(SPOKEN_DIGITS, MASK) : text,
  dtmf: null,
});

/** The customer's keys, as the model and the transcript know them. */
export const dtmfInput = (flow: Flow, s: DialogueState, digits: string): CallerInput => ({
  content: `[keypad] ${digits}`,
  shown: `[keypad] ${isSecret(flow, s.node) ? MASK : digits}`,
  dtmf: { digits, node: s.node },
});

/** What the model is told of an entry that a rule has taken: of a secret, no more than the transcript. */
export const maskConsumed = (s: DialogueState, { content, shown }: CallerInput): DialogueState =>
  content === shown
    ? s
    : {
        ...s,
        history: s.history.map((m) => (m.role === "user" && m.content === content ? { ...m, content: shown } : m)),
      };

/** Remembers what is a secret; what is too short to be looked for is left out. */
const remember = (s: DialogueState, entries: readonly string[]): DialogueState => {
  const fresh = entries.filter((entry) => entry.length >= MIN_TRACED_DIGITS && !s.secret_entries.includes(entry));
  return fresh.length === 0
    ? s
    : { ...s, secret_entries: [...s.secret_entries, ...new Set(fresh)].slice(-MAX_SECRET_ENTRIES) };
};

/** Remembers an entry that is a secret. */
export const rememberSecret = (flow: Flow, s: DialogueState, digits: string): DialogueState =>
  isSecret(flow, s.node) ? remember(s, [digits]) : s;

/** Digits in a value, whatever it is: a secret may have been said instead of keyed. */
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

/** The variables the conversation has set, secrets masked. */
export const maskedVariables = (s: DialogueState): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(s.extracted).map(([name, value]) => [
      name,
      s.secret_variables.includes(name) ? MASK : masked(s, value),
    ]),
  );
