import type { Condition, Transition } from "../../../shared/contracts/flow/flow-node.ts";
import { render, valueText } from "../../../shared/placeholders.ts";
import type { Flow } from "./flow.ts";
import { decideByTurn } from "./promises.ts";
import { setVariables } from "./secret-entries.ts";
import type { DialogueState } from "./dialogue-state.ts";

/** The transitions of a node: where the conversation goes without asking the model. Pure. */

/** Longer values fit no pattern: a template's pattern must not cost time. */
const MAX_MATCHED_CHARS = 200;

const fits = (pattern: string, text: string): boolean =>
  text.length <= MAX_MATCHED_CHARS && new RegExp(`^(?:${pattern})$`, "iu").test(text);

/** Values are compared as they are written: 2 equals "2". */
function isMet(when: Condition, s: DialogueState, digits: string | null): boolean {
  if (when.digits !== undefined) return digits !== null && fits(when.digits, digits);
  const value = valueText(when.variable ?? "", [s.extracted, s.payload]);
  if (when.exists !== undefined) return (value !== "") === when.exists;
  if (when.equals !== undefined) return value === String(when.equals);
  if (when.one_of !== undefined) return when.one_of.some((one) => value === String(one));
  return when.matches !== undefined && fits(when.matches, value);
}

/** The state with what a rule sets and decides. */
function applied(flow: Flow, s: DialogueState, rule: Transition, digits: string | null): DialogueState {
  const sources = [...(digits === null ? [] : [{ digits }]), s.extracted, s.payload];
  const values = Object.fromEntries(
    Object.entries(rule.set ?? {}).map(([variable, text]) => [variable, render(text, sources)]),
  );
  return decideByTurn(setVariables(flow, s, values), rule.outcome);
}

/** Where the rules of the current node lead, and what they have set on the way; `nextNode` null: the conversation stays. `matchedDtmf`: a transition was about the DTMF just entered. */
export interface TransitionResult {
  readonly state: DialogueState;
  readonly nextNode: string | null;
  readonly matchedDtmf: boolean;
}

/**
 * Evaluates the rules in order; `digits`: the DTMF just entered, if any. A rule without a target only sets variables. The first
 * rule that is met and has a target ends the search.
 */
export function applyTransitions(flow: Flow, s: DialogueState, digits: string | null): TransitionResult {
  let state = s;
  let matchedDtmf = false;
  for (const rule of flow.nodes.get(s.node)?.transitions ?? []) {
    if (rule.when === undefined || !isMet(rule.when, state, digits)) continue;
    state = applied(flow, state, rule, digits);
    matchedDtmf ||= rule.when.digits !== undefined;
    if (rule.next_node !== undefined) return { state, nextNode: rule.next_node, matchedDtmf };
  }
  return { state, nextNode: null, matchedDtmf };
}

/** Where the conversation goes on from a node that has said all it says. */
export function unconditionalTransition(flow: Flow, s: DialogueState): TransitionResult {
  const rule = flow.nodes.get(s.node)?.transitions?.find((r) => r.when === undefined);
  return rule
    ? { state: applied(flow, s, rule, null), nextNode: rule.next_node ?? null, matchedDtmf: false }
    : { state: s, nextNode: null, matchedDtmf: false };
}
