import type { Condition, Transition } from "../../../shared/contracts/template.ts";
import { render, valueText } from "../../../shared/placeholders.ts";
import type { Flow } from "./flow.ts";
import { setVariables } from "./secret-entries.ts";
import type { TalkState } from "./dialogue-state.ts";

/** The rules of a node: where the talk goes without the model being asked. Pure. */

/** Longer values fit no pattern: a template's pattern must not cost time. */
const MAX_MATCHED_CHARS = 200;

const fits = (pattern: string, text: string): boolean =>
  text.length <= MAX_MATCHED_CHARS && new RegExp(`^(?:${pattern})$`, "iu").test(text);

/** Values are compared as they are written: 2 equals "2". */
function isMet(when: Condition, s: TalkState, digits: string | null): boolean {
  if (when.digits !== undefined) return digits !== null && fits(when.digits, digits);
  const value = valueText(when.variable ?? "", [s.extracted, s.payload]);
  if (when.exists !== undefined) return (value !== "") === when.exists;
  if (when.equals !== undefined) return value === String(when.equals);
  if (when.one_of !== undefined) return when.one_of.some((one) => value === String(one));
  return when.matches !== undefined && fits(when.matches, value);
}

/** The state with what a rule sets and decides. */
function applied(flow: Flow, s: TalkState, rule: Transition, digits: string | null): TalkState {
  const sources = [...(digits === null ? [] : [{ digits }]), s.extracted, s.payload];
  const values = Object.fromEntries(
    Object.entries(rule.set ?? {}).map(([variable, text]) => [variable, render(text, sources)]),
  );
  return { ...setVariables(flow, s, values), decided: rule.outcome ?? s.decided };
}

/** Where the rules of the current node lead, and what they have set on the way; `to` null: the talk stays. `took`: a rule was about the keys just pressed. */
export interface Ruled {
  readonly state: TalkState;
  readonly to: string | null;
  readonly took: boolean;
}

/** Looks at the rules in order; `digits`: the keys just pressed, if any. One that leads nowhere only sets; the first that is met and leads somewhere is the last. */
export function lookAtRules(flow: Flow, s: TalkState, digits: string | null): Ruled {
  let state = s;
  let took = false;
  for (const rule of flow.nodes.get(s.node)?.transitions ?? []) {
    if (rule.when === undefined || !isMet(rule.when, state, digits)) continue;
    state = applied(flow, state, rule, digits);
    took ||= rule.when.digits !== undefined;
    if (rule.next_node !== undefined) return { state, to: rule.next_node, took };
  }
  return { state, to: null, took };
}

/** Where the talk goes on from a node that has said all it says. */
export function onward(flow: Flow, s: TalkState): Ruled {
  const rule = flow.nodes.get(s.node)?.transitions?.find((r) => r.when === undefined);
  return rule
    ? { state: applied(flow, s, rule, null), to: rule.next_node ?? null, took: false }
    : { state: s, to: null, took: false };
}
