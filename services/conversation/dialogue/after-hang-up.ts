import type { ModelCall } from "./chat-messages.ts";
import type { DialogueEvent, DialogueState, Step } from "./dialogue-state.ts";
import { applyDtmf, endConversation, none, noteError } from "./dialogue-steps.ts";
import type { Flow } from "./flow.ts";
import { callAfterHangUp, httpDoneAfterHangUp } from "./function-calls.ts";
import { allHeard } from "./promises.ts";
import { messagesFor, toolsFor } from "./prompts.ts";
import { speechInput } from "./secret-entries.ts";
import { addPending, takePending } from "./transcript.ts";

/** They have hung up: what they said last still counts, before the attempt is settled. Pure. */

const ended = (s: DialogueState): Step => endConversation(s, "customer", { at_once: true });

/** Whether the model has not answered their latest words. */
function isOwedAnswer({ mode, history }: DialogueState): boolean {
  const last = history.findLastIndex(({ role }) => role === "user");
  return mode === "thinking" && last >= 0 && !history.slice(last).some((m) => m.role === "assistant" && m.content);
}

/** They are gone. Words that nobody has attended to are judged by the model once more, without a word of ours. */
export function part(flow: Flow, before: DialogueState, words: string): Step {
  const uttered = speechInput(flow, before, words);
  const spoke = words.trim() === "" ? before : addPending({ ...before, user_turns: before.user_turns + 1 }, uttered);
  const s = allHeard(spoke);
  if (s.mode === "fetching") return none({ ...takePending(s), mode: "parting" });
  const owed = s.pending.length > 0 || isOwedAnswer(s);
  const ruled = applyDtmf(flow, takePending(s), s.pending);
  const tools = toolsFor(flow, ruled.state);
  if (!owed || s.closing !== "no" || s.node === "" || ruled.nextNode !== null || tools.length === 0)
    return ended(ruled.state);
  const state: DialogueState = { ...ruled.state, mode: "parting", awaiting: null, turn: s.turn + 1 };
  const messages = messagesFor(flow, state);
  return {
    state,
    effects: [{ type: "think", turn: state.turn, messages, tools, interruptible: true, unheard: true }],
  };
}

const judged = (flow: Flow, s: DialogueState, calls: readonly ModelCall[]): Step =>
  ended(calls.reduce((now, call) => callAfterHangUp(flow, now, call), s));

/** The events after they have hung up: the judgement of what they said last, or the end of the time for it. */
export function whileParting(flow: Flow, s: DialogueState, event: DialogueEvent): Step {
  switch (event.type) {
    case "model_answered":
      return event.turn === s.turn ? judged(flow, s, event.calls) : none(s);
    case "model_failed":
      return event.turn === s.turn ? ended(noteError(s, event.code).state) : none(s);
    case "http_done":
      return s.awaiting?.call_id === event.call_id ? ended(httpDoneAfterHangUp(flow, s, event.ok)) : none(s);
    case "fault":
      return none(noteError(s, event.code, event.detail).state);
    case "time_up":
      return ended(s);
    case "stopped":
      return event.reason === "shutdown_now" || event.reason === "lease_lost" ? ended(s) : none(s);
    default:
      return none(s);
  }
}
