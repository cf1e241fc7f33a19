import { clientLedStep } from "./client-led-dialogue.ts";
import { callFunction, httpDone, transferDone, transferFailed } from "./function-calls.ts";
import type { ModelCall } from "./chat-messages.ts";
import { awaitsCallee, isWishKey, type Flow } from "./flow.ts";
import { allHeard } from "./promises.ts";
import { addPending, addSpoken, hasConversed, takePending, truncateSpeech, withUnheard } from "./transcript.ts";
import {
  afterEnd,
  andThen,
  endByFault,
  endByWish,
  none,
  enterNode,
  endConversation,
  listen,
  modelGaveNothing,
  noteError,
  say,
  think,
  withNode,
  continueWithoutModel,
} from "./dialogue-steps.ts";
import { part, whileParting } from "./after-hang-up.ts";
import { phrasesFor } from "../../../shared/phrases.ts";
import { dtmfInput, rememberSecret, speechInput } from "./secret-entries.ts";
import {
  MAX_UNUSABLE_ANSWERS,
  MAX_REPROMPTS,
  type Effect,
  type Step,
  type DialogueEvent,
  type DialogueState,
  type CallerInput,
} from "./dialogue-state.ts";
import { duringVoicemail, voicemailDetected } from "./voicemail.ts";
import { speakable, spokenText } from "../../../shared/speakable/speakable-text.ts";

/** The dialogue: state and event in, state and effects out. It knows no audio, no carrier, no clock; every pipeline shares it. */

/** The greeting comes first; the initial node follows at once, unless the greeting asks something: then the answer is awaited. */
function begin(flow: Flow, before: DialogueState): Step {
  if (before.node !== "") return none(before);
  const s = takePending(before);
  if (flow.greeting === null) return enterNode(flow, s, flow.initial_node);
  const text = spokenText(flow.greeting, [s.payload]);
  const entered = andThen(say(flow, { ...s, notice: { seq: s.seq, text } }, text), (greeted) =>
    enterNode(flow, greeted, flow.initial_node),
  );
  const awaitsAnswer = /[?？؟]\s*$/.test(text) && entered.state.mode === "thinking";
  if (!awaitsAnswer) return entered;
  const effects = entered.effects.filter((e) => e.type !== "think");
  return andThen({ ...entered, effects }, (waiting) => listen(flow, waiting));
}

/** They talk into the closing that the model began: back to where it was called for. Null: that was not the model. */
const reopened = (s: DialogueState): DialogueState | null =>
  s.returns_to && {
    ...s,
    ...s.returns_to,
    closing: "no",
    returns_to: null,
    chain: 0,
    unusable_answers: 0,
    traversal: s.node === s.returns_to.node ? s.traversal : withNode(s.traversal, s.returns_to.node),
  };

/** The customer spoke or entered DTMF. */
function callerInput(flow: Flow, before: DialogueState, uttered: CallerInput, said: string): Step {
  if (uttered.content.trim() === "") return none(before);
  const s = addPending({ ...before, user_turns: before.user_turns + 1, reprompts: 0 }, uttered);
  if (awaitsCallee(flow, s)) return begin(flow, s);
  if (s.closing !== "no") {
    const again = s.mode === "thinking" && said === "" ? reopened(s) : null;
    return again ? think(flow, again) : none(s);
  }
  // speech that has started goes on; before its first word, the generation starts anew
  const attends = s.mode === "listening" || (s.mode === "thinking" && said === "");
  return attends ? answer(flow, { ...s, chain: 0, unusable_answers: 0 }) : none(s);
}

/** What was cut of the greeting is said to its end. */
function sayUnheard(flow: Flow, s: DialogueState): Step {
  return say(flow, { ...s, unheard: "" }, s.unheard, false);
}

/** Answers them; what they cut of the greeting comes first, and counts as heard only when it was. */
function answer(flow: Flow, s: DialogueState): Step {
  if (s.unheard === "") return think(flow, s);
  const { seq } = s;
  return andThen(
    andThen(sayUnheard(flow, s), (said) => think(flow, said)),
    (asked) => none({ ...asked, open: [seq, ...asked.open.filter((open) => open !== seq)] }),
  );
}

/** The customer interrupted us: history and transcript keep what they heard; the generation under way is void. */
function interrupted(flow: Flow, before: DialogueState, spoken: string, said: string): Step {
  const s = withUnheard(before, truncateSpeech(before, spoken, before.mode === "thinking" ? said : ""));
  if (s.mode !== "thinking") return none(s);
  const silenced: DialogueState = { ...s, turn: s.turn + 1 };
  const open = silenced.closing === "no" ? silenced : reopened(silenced);
  return open ? listen(flow, open) : endConversation(silenced, "agent", { at_once: true });
}

/** Unusable output: asked for again once, then it counts like none. */
const retryGeneration = (flow: Flow, s: DialogueState): Step =>
  s.unusable_answers > MAX_UNUSABLE_ANSWERS ? modelGaveNothing(flow, s) : think(flow, s);

function modelAnswered(flow: Flow, before: DialogueState, text: string, calls: readonly ModelCall[]): Step {
  const s = before;
  const speech = speakable(text);
  if (s.closing !== "no")
    return speech === "" ? continueWithoutModel(flow, s) : endConversation(addSpoken(s, speech), "agent");
  if (calls.length === 0) {
    if (speech !== "") return listen(flow, addSpoken(s, speech));
    const noted = noteError({ ...s, unusable_answers: s.unusable_answers + 1 }, "EMPTY_ANSWER");
    return andThen(noted, (again) => retryGeneration(flow, again));
  }
  let state = s;
  const effects: Effect[] = [];
  for (const [i, call] of calls.entries()) {
    const { step: done, stays } = callFunction(flow, state, call, i === 0 ? speech : "");
    state = done.state.closing === "no" ? done.state : { ...done.state, returns_to: { node: s.node, role: s.role } };
    effects.push(...done.effects);
    if (!stays) return { state, effects };
  }
  return andThen({ state, effects }, (again) => retryGeneration(flow, again));
}

/** The model has failed. */
function modelFailed(flow: Flow, before: DialogueState, code: string, said: string): Step {
  return andThen(noteError(addSpoken(before, said), code), (s) => modelGaveNothing(flow, s));
}

/** They said something that nobody knows. */
function unrecognised(flow: Flow, s: DialogueState, code: string): Step {
  if (awaitsCallee(flow, s)) return begin(flow, s);
  return s.mode === "listening" ? modelFailed(flow, s, code, "") : none(s);
}

/** The key by which they ask not to be called again. Where the call is going to another or ends anyway, it is only noted. */
function wishedByKey(flow: Flow, before: DialogueState, digits: string): Step {
  const input = dtmfInput(flow, before, digits);
  const s = addPending({ ...before, user_turns: before.user_turns + 1, reprompts: 0 }, input);
  if (s.mode === "transferring" || s.closing !== "no") return none({ ...s, do_not_call: true });
  return endByWish(flow, s);
}

/** Silence: what was said before it was heard. */
function idle(flow: Flow, before: DialogueState): Step {
  if (before.mode !== "listening") return none(before);
  if (awaitsCallee(flow, before)) return begin(flow, before);
  const s = allHeard(before);
  if (s.unheard !== "") return sayUnheard(flow, s);
  const phrases = phrasesFor(flow.language);
  if (s.reprompts >= MAX_REPROMPTS)
    return endConversation({ ...s, idle_out: true }, "timeout", { goodbye: phrases.idle_goodbye });
  return say(flow, { ...s, reprompts: s.reprompts + 1 }, phrases.still_there);
}

function stopped(flow: Flow, before: DialogueState, { reason, detail, words = "" }: Stopped): Step {
  const phrases = phrasesFor(flow.language);
  switch (reason) {
    case "hung_up":
    case "line_lost":
    case "carrier_ended":
      // a transfer closes our socket before the carrier has said that it worked
      if (before.mode === "transferring" && before.awaiting)
        return none({ ...before, awaiting: { ...before.awaiting, media_closed: true } });
      return part(flow, before, words);
    case "window_closed":
      return endConversation(before, "agent", { goodbye: phrases.time_up });
    case "shutdown":
      return endByFault(before, reason, { goodbye: phrases.trouble });
    default:
      return endByFault(before, reason, { at_once: true, detail });
  }
}

type Stopped = Extract<DialogueEvent, { type: "stopped" }>;

type Result = Extract<DialogueEvent, { type: "http_done" | "transfer_done" | "transfer_failed" }>;

const isAwaited = (s: DialogueState, { type, call_id }: Result): boolean =>
  s.mode === (type === "http_done" ? "fetching" : "transferring") && s.awaiting?.call_id === call_id;

/** What a function waited for has come. */
function resultCame(flow: Flow, s: DialogueState, event: Result): Step {
  switch (event.type) {
    case "http_done":
      return httpDone(flow, s, event.call_id, event.ok, event.result);
    case "transfer_done":
      return transferDone(flow, s, event.call_id);
    case "transfer_failed":
      return transferFailed(flow, s, event.call_id, event.code);
  }
}

/** One step of the conversation. After the end there are no effects; what was heard of the goodbye is still corrected. */
export function step(flow: Flow, state: DialogueState, event: DialogueEvent): Step {
  if (flow.client_led) return clientLedStep(state, event);
  const said = event.said ?? "";
  if (state.mode === "ended") return none(afterEnd(state, event));
  if (state.mode === "parting") return whileParting(flow, state, event);
  if (state.mode === "voicemail") return duringVoicemail(flow, state, event);
  /** The state with what had already been said of the generation that ends here. */
  const cutOff = state.mode === "thinking" ? addSpoken(state, said) : state;
  switch (event.type) {
    case "started":
      return flow.callee_first ? none(state) : begin(flow, state);
    case "heard":
      return callerInput(flow, state, { ...speechInput(flow, state, event.text), over: event.over }, said);
    case "stt_failed":
      return unrecognised(flow, state, event.code);
    case "dtmf":
      if (isWishKey(flow, state.node, event.digits)) return wishedByKey(flow, cutOff, event.digits);
      return callerInput(
        flow,
        rememberSecret(flow, state, event.digits),
        { ...dtmfInput(flow, state, event.digits), over: event.over },
        said,
      );
    case "interrupted":
      return interrupted(flow, state, event.spoken, said);
    case "model_answered":
      return state.mode === "thinking" && event.turn === state.turn
        ? andThen(event.cut === undefined ? none(state) : noteError(state, event.cut), (s) =>
            modelAnswered(flow, s, event.text, event.calls),
          )
        : none(state);
    case "model_failed":
      return state.mode === "thinking" && event.turn === state.turn
        ? modelFailed(flow, state, event.code, said)
        : none(state);
    case "http_done":
    case "transfer_done":
    case "transfer_failed":
      return isAwaited(state, event) ? resultCame(flow, state, event) : none(state);
    case "idle":
      return idle(flow, state);
    case "time_up":
      return endConversation({ ...cutOff, time_limit: true }, "timeout", {
        goodbye: phrasesFor(flow.language).time_up,
      });
    case "machine":
      if (state.voicemail_action === "continue") return none(state);
      return hasConversed(state) ? noteError(state, "MACHINE_IGNORED") : voicemailDetected(flow, cutOff);
    case "beep":
    case "speak":
    case "message_handed":
    case "played_out":
      return none(state);
    case "fault":
      return noteError(state, event.code, event.detail);
    case "stopped":
      return stopped(flow, cutOff, event);
  }
}
