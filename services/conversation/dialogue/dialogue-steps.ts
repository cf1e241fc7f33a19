import { DO_NOT_CALL, type EndedBy } from "../../../shared/contracts/records/attempt.ts";
import type { FlowNode, NodeAction } from "../../../shared/contracts/flow/flow-node.ts";
import { interruptible, type Flow } from "./flow.ts";
import { addSpoken, hasConversed, takePending, truncateSpeech } from "./transcript.ts";
import { phrasesFor } from "../../../shared/phrases.ts";
import { messagesFor, toolsFor } from "./prompts.ts";
import { maskConsumed, setVariables } from "./secret-entries.ts";
import {
  MAX_CHAIN,
  MAX_ERRORS,
  MAX_MODEL_FAILURES,
  MAX_TRAVERSAL,
  type DialogueEvent,
  type Step,
  type DialogueState,
} from "./dialogue-state.ts";
import { announce, decideOnLeaving, playedOut, withoutUnsaid } from "./promises.ts";
import { applyTransitions, unconditionalTransition, type TransitionResult } from "./transitions.ts";
import { render } from "../../../shared/placeholders.ts";
import { speakable, spokenText } from "../../../shared/speakable/speakable-text.ts";

/** The steps a dialogue is made of. Each gives a state and the effects that lead to it. Pure. */

/** A step without effects. */
export const none = (state: DialogueState): Step => ({ state, effects: [] });

/** A step and the one that follows it, with the effects of both. */
export function andThen(step: Step, next: (s: DialogueState) => Step): Step {
  const { state, effects } = next(step.state);
  return { state, effects: [...step.effects, ...effects] };
}

/** Records an error of the conversation. */
export function noteError(s: DialogueState, code: string, detail?: string): Step {
  const error = { code, node: s.node, ...(detail === undefined ? {} : { detail }) };
  return {
    state: s.errors.length >= MAX_ERRORS ? s : { ...s, errors: [...s.errors, error] },
    effects: [{ type: "note_error", code, node: s.node }],
  };
}

/** Speaks a fixed text; the mode stays. `may`: it may be interrupted. */
export function say(flow: Flow, s: DialogueState, text: string, may = interruptible(flow, s.node)): Step {
  const spoken = addSpoken(s, text);
  return spoken === s
    ? none(s)
    : { state: spoken, effects: [{ type: "say", text: speakable(text), interruptible: may }] };
}

/** They asked not to be called again: a sentence confirms it and the call ends. What was decided before stays. */
export const endByWish = (flow: Flow, s: DialogueState): Step =>
  endConversation({ ...s, decided: s.decided ?? DO_NOT_CALL, promised: null, do_not_call: true }, "agent", {
    goodbye: phrasesFor(flow.language).do_not_call,
  });

/** Ends the conversation; what was pending is kept in the transcript. */
export function endConversation(
  s: DialogueState,
  ended_by: EndedBy,
  how: { goodbye?: string; at_once?: boolean; transferred?: boolean } = {},
): Step {
  const goodbye = how.goodbye ?? null;
  const heard = takePending(s);
  const state = goodbye === null ? heard : addSpoken(withoutUnsaid(heard), goodbye);
  return {
    state: {
      ...state,
      mode: "ended",
      ended_by,
      awaiting: null,
      closes: how.at_once === true || how.transferred === true,
    },
    effects: [{ type: "end", ended_by, goodbye, at_once: how.at_once ?? false, transferred: how.transferred ?? false }],
  };
}

const FAULT_OF = {
  lease_lost: "LEASE_LOST",
  media_failed: "MEDIA_FAILED",
  wrong_call: "MEDIA_OF_ANOTHER_CALL",
  speech_failed: "SPEECH_FAILED",
  shutdown: "SHUTDOWN",
  shutdown_now: "SHUTDOWN",
} as const;

/** What the code of a fault does not say itself. */
const detailOf = (reason: keyof typeof FAULT_OF, detail: string | undefined): string | undefined =>
  detail === FAULT_OF[reason] ? undefined : detail;

/** Ends a conversation that a fault of ours, or our shutdown, stops. */
export const endByFault = (
  s: DialogueState,
  reason: keyof typeof FAULT_OF,
  how: ({ goodbye: string } | { at_once: true }) & { detail?: string | undefined },
): Step =>
  andThen(noteError(s, FAULT_OF[reason], detailOf(reason, how.detail)), (noted) =>
    endConversation(noted, "error", how),
  );

/** The conversation has ended, and its last words fail: that is noted, and what they were to tell does not count. */
const faultAfterEnd = (s: DialogueState, reason: "media_failed" | "speech_failed", detail?: string) => ({
  ...noteError(s, FAULT_OF[reason], detailOf(reason, detail)).state,
  ended_by: s.ended_by === "agent" ? ("error" as const) : s.ended_by,
  promised: null,
  closes: true,
});

/** The state of a conversation that has ended, after what becomes of its last words: they are heard, cut by a hang-up, or fail. Pure. */
export function afterEnd(s: DialogueState, event: DialogueEvent): DialogueState {
  if (event.type === "interrupted") return truncateSpeech(s, event.spoken, "");
  if (event.type === "played_out") return { ...playedOut(s), closes: true };
  if (event.type === "fault") return noteError(s, event.code, event.detail).state;
  // it was a machine that heard us, not whom we meant to tell
  if (event.type === "machine" && !s.closes && s.voicemail_action !== "continue" && !hasConversed(s))
    return { ...s, voicemail: true, promised: null };
  if (event.type !== "stopped" || s.closes) return s;
  switch (event.reason) {
    case "speech_failed":
    case "media_failed":
      return faultAfterEnd(s, event.reason, event.detail);
    case "hung_up":
    case "line_lost":
    case "carrier_ended":
      // whoever hangs up on our last words has ended the call
      return s.ended_by === "agent" && s.end_unheard ? { ...s, ended_by: "customer" } : s;
    default:
      return s;
  }
}

/** Waits for the customer, or processes what they said meanwhile. */
export function listen(flow: Flow, s: DialogueState, model_failures = 0): Step {
  if (s.pending.length > 0) return think(flow, { ...s, chain: 0, unusable_answers: 0 });
  return none({ ...s, mode: "listening", awaiting: null, model_failures });
}

/** The model had nothing that can be used: an apology the first time, a goodbye the second time in a row. */
export function modelGaveNothing(flow: Flow, before: DialogueState): Step {
  const s = { ...before, model_failures: before.model_failures + 1, unusable_answers: 0, chain: 0 };
  return s.closing === "no" && s.model_failures > MAX_MODEL_FAILURES
    ? endConversation(s, "error", { goodbye: phrasesFor(flow.language).trouble })
    : continueWithoutModel(flow, s);
}

/** Goes on without the model: asks the customer to repeat, or says goodbye when the conversation was closing. */
export function continueWithoutModel(flow: Flow, s: DialogueState): Step {
  const phrases = phrasesFor(flow.language);
  // what only the model's words would have told is not told by our goodbye
  if (s.closing !== "no")
    return endConversation({ ...s, promised: null }, s.promised === null ? "agent" : "error", {
      goodbye: phrases.goodbye,
    });
  return andThen(say(flow, s, phrases.say_again), (asked) => listen(flow, asked, asked.model_failures));
}

/** Asks the model what to say or do next; too many function calls in a row end in a question to the customer. */
export function think(flow: Flow, before: DialogueState): Step {
  const ruled = applyDtmf(flow, takePending(before), before.pending);
  if (ruled.nextNode !== null) return followTransition(flow, ruled.state, ruled.nextNode);
  const s = ruled.state;
  if (s.chain > MAX_CHAIN) return breakChain(flow, s, "TOO_MANY_CALLS");
  const state: DialogueState = { ...s, mode: "thinking", awaiting: null, turn: s.turn + 1 };
  return {
    state,
    effects: [
      {
        type: "think",
        turn: state.turn,
        messages: messagesFor(flow, state),
        tools: toolsFor(flow, state),
        interruptible: interruptible(flow, state.node),
      },
    ],
  };
}

/** Applies the node's transitions to the DTMF among the inputs just processed. DTMF entered in another node is ignored. */
export function applyDtmf(flow: Flow, s: DialogueState, attended: DialogueState["pending"]): TransitionResult {
  let ruled: TransitionResult = { state: s, nextNode: null, matchedDtmf: false };
  for (const uttered of s.closing === "no" ? attended : []) {
    if (ruled.nextNode !== null || uttered.dtmf?.node !== s.node) continue;
    ruled = applyTransitions(flow, ruled.state, uttered.dtmf.digits);
    if (ruled.matchedDtmf) ruled = { ...ruled, state: maskConsumed(ruled.state, uttered) };
  }
  return ruled;
}

/** Follows a transition. Too many transitions in a row end in a question to the customer. */
export function followTransition(flow: Flow, s: DialogueState, to: string): Step {
  if (s.chain < MAX_CHAIN) return enterNode(flow, { ...s, chain: s.chain + 1 }, to);
  return breakChain(flow, s, "TOO_MANY_TRANSITIONS");
}

const breakChain = (flow: Flow, s: DialogueState, code: string): Step =>
  andThen(noteError(s, code), (noted) => modelGaveNothing(flow, noted));

function runAction(flow: Flow, s: DialogueState, action: NodeAction, at: "on_enter" | "on_exit"): DialogueState {
  switch (action.type) {
    case "end_call":
      return { ...s, closing: "node" };
    case "outcome":
      return at === "on_enter" ? announce(s, action.outcome) : decideOnLeaving(s, action.outcome);
    case "set":
      return setVariables(flow, s, { [action.variable]: render(action.value, [s.extracted, s.payload]) });
  }
}

const runActions = (
  flow: Flow,
  s: DialogueState,
  node: FlowNode | undefined,
  at: "on_enter" | "on_exit",
): DialogueState => (node?.[at] ?? []).reduce((now, action) => runAction(flow, now, action, at), s);

/** Speaks a node's fixed text, then waits, goes on or ends. */
function sayNodeText(flow: Flow, s: DialogueState, text: string): Step {
  return andThen(say(flow, s, spokenText(text, [s.extracted, s.payload])), (said) => {
    if (said.closing !== "no") return endConversation(said, "agent");
    const { state, nextNode } = unconditionalTransition(flow, said);
    return nextNode === null ? listen(flow, state) : followTransition(flow, state, nextNode);
  });
}

/** The path with one more node; bounded. */
export const withNode = (traversal: readonly string[], name: string): readonly string[] =>
  traversal.length >= MAX_TRAVERSAL ? traversal : [...traversal, name];

/** Leaves the current node and enters another: actions, rules, then fixed text or a generation; a node that ends the call does so once it has spoken. */
export function enterNode(flow: Flow, s: DialogueState, name: string): Step {
  const node = flow.nodes.get(name);
  if (!node) return andThen(noteError(s, "NODE_UNKNOWN", name), (noted) => continueWithoutModel(flow, noted));
  const left = runActions(flow, s, flow.nodes.get(s.node), "on_exit");
  const moved: DialogueState = {
    ...left,
    node: name,
    role: node.role_prompt ?? left.role,
    traversal: withNode(left.traversal, name),
  };
  const acted = runActions(flow, moved, node, "on_enter");
  const { state: here, nextNode } =
    acted.closing === "no" ? applyTransitions(flow, acted, null) : { state: acted, nextNode: null };
  if (nextNode !== null) return followTransition(flow, here, nextNode);
  if (node.say !== undefined) return sayNodeText(flow, here, node.say);
  if (node.prompt !== undefined) return think(flow, here);
  if (here.closing !== "no") return think(flow, { ...here, closing: "farewell" });
  const next = unconditionalTransition(flow, here);
  return next.nextNode === null ? think(flow, here) : followTransition(flow, next.state, next.nextNode);
}
