import type { EndedBy } from "../../../shared/contracts/attempt.ts";
import type { NodeAction } from "../../../shared/contracts/template.ts";
import { interruptible, type Flow } from "./flow.ts";
import { addSpoken, takePending } from "./hearing.ts";
import { phrasesFor } from "./phrases.ts";
import { messagesFor, toolsFor } from "./prompts.ts";
import { MAX_CHAIN, MAX_ERRORS, MAX_TRAVERSAL, type Effect, type Step, type TalkState } from "./state.ts";
import { render } from "../../../shared/placeholders.ts";

/** The few moves a talk is made of. Each gives a state and the effects that lead to it. Pure. */

/** Effects put before those of a step. */
export const after = (effects: readonly Effect[], step: Step): Step => ({ state: step.state, effects: [...effects, ...step.effects] });

/** Records a fault of the talk. */
export function noteError(s: TalkState, code: string, detail?: string): Step {
  const error = { code, node: s.node, ...(detail === undefined ? {} : { detail }) };
  return { state: s.errors.length >= MAX_ERRORS ? s : { ...s, errors: [...s.errors, error] }, effects: [{ type: "note_error", code, node: s.node }] };
}

/** Speaks a fixed text; the mode stays. */
export function say(flow: Flow, s: TalkState, text: string): Step {
  const spoken = addSpoken(s, text);
  return spoken === s ? { state: s, effects: [] } : { state: spoken, effects: [{ type: "say", text: text.trim(), interruptible: interruptible(flow, s.node) }] };
}

/** Ends the talk; what was pending is kept in the transcript. */
export function finish(s: TalkState, ended_by: EndedBy, how: { goodbye?: string; at_once?: boolean; transferred?: boolean } = {}): Step {
  const goodbye = how.goodbye ?? null;
  const heard = takePending(s);
  const state = goodbye === null ? heard : addSpoken(heard, goodbye);
  return {
    state: { ...state, mode: "ended", ended_by, awaiting: null },
    effects: [{ type: "end", ended_by, goodbye, at_once: how.at_once ?? false, transferred: how.transferred ?? false }],
  };
}

/** Waits for the customer, or attends to what they said meanwhile. */
export function listen(flow: Flow, s: TalkState): Step {
  if (s.pending.length > 0) return think(flow, { ...s, chain: 0, faults: 0 });
  return { state: { ...s, mode: "listening", awaiting: null }, effects: [] };
}

/** Goes on without the model: asks the customer to say it again, or says goodbye where the talk was closing. */
export function withoutModel(flow: Flow, s: TalkState): Step {
  const phrases = phrasesFor(flow.language);
  if (s.closing !== "no") return finish(s, "agent", { goodbye: phrases.goodbye });
  const asked = say(flow, s, phrases.say_again);
  return after(asked.effects, listen(flow, asked.state));
}

/** Asks the model what to say or do next; too many function calls in a row end in a question to the customer. */
export function think(flow: Flow, before: TalkState): Step {
  const s = takePending(before);
  if (s.chain > MAX_CHAIN) {
    const noted = noteError(s, "TOO_MANY_CALLS");
    return after(noted.effects, withoutModel(flow, { ...noted.state, chain: 0 }));
  }
  const state: TalkState = { ...s, mode: "thinking", awaiting: null, turn: s.turn + 1 };
  return { state, effects: [{ type: "think", turn: state.turn, messages: messagesFor(flow, state), tools: toolsFor(flow, state), interruptible: interruptible(flow, state.node) }] };
}

function act(s: TalkState, actions: readonly NodeAction[] | undefined): TalkState {
  return (actions ?? []).reduce((now, action): TalkState => action.type === "end_call"
    ? { ...now, closing: "node" }
    : { ...now, extracted: { ...now.extracted, [action.variable]: render(action.value, [now.extracted, now.payload]) } }, s);
}

/** Leaves the current node and enters another: actions, fixed text or a thought; a node that ends the call does so once it has spoken. */
export function enter(flow: Flow, s: TalkState, name: string): Step {
  const node = flow.nodes.get(name);
  if (!node) {
    const noted = noteError(s, "NODE_UNKNOWN", name);
    return after(noted.effects, withoutModel(flow, noted.state));
  }
  const left = act(s, flow.nodes.get(s.node)?.on_exit);
  const moved: TalkState = {
    ...left, node: name, role: node.role_prompt ?? left.role,
    traversal: left.traversal.length >= MAX_TRAVERSAL ? left.traversal : [...left.traversal, name],
  };
  const here = act(moved, node.on_enter);
  if (node.say !== undefined) {
    const said = say(flow, here, render(node.say, [here.extracted, here.payload]));
    return after(said.effects, here.closing === "no" ? listen(flow, said.state) : finish(said.state, "agent"));
  }
  if (here.closing !== "no" && node.prompt === undefined) return think(flow, { ...here, closing: "farewell" });
  return think(flow, here);
}
