import { speakable } from "../../../shared/speakable/speakable-text.ts";
import { afterEnd, endByFault, endConversation, none, noteError } from "./dialogue-steps.ts";
import type { CallerInput, DialogueEvent, DialogueState, Step } from "./dialogue-state.ts";
import { allHeard } from "./promises.ts";
import { addPending, addSpoken, takePending, truncateSpeech } from "./transcript.ts";

/** The dialogue of a session that its client leads: what is heard and said is written down, and nothing is answered. Pure. */

/** No node of a template: the person may speak from the beginning. */
const FLOOR = "client";

function heard(s: DialogueState, text: string, over: boolean | undefined): Step {
  const input: CallerInput = { content: text, shown: text, dtmf: null, over };
  if (text.trim() === "") return none(s);
  return none(takePending(addPending({ ...s, user_turns: s.user_turns + 1 }, input)));
}

function speak(s: DialogueState, text: string, voice: string | null): Step {
  const spoken = addSpoken(s, text);
  const how = { interruptible: true, ...(voice === null ? {} : { voice }) };
  return { state: spoken, effects: spoken === s ? [] : [{ type: "say", text: speakable(text), ...how }] };
}

function stopped(before: DialogueState, event: Extract<DialogueEvent, { type: "stopped" }>): Step {
  const { reason, detail, words = "" } = event;
  const s = heard(before, words, false).state;
  switch (reason) {
    case "hung_up":
    case "line_lost":
    case "carrier_ended":
      return endConversation(s, "customer", { at_once: true });
    case "window_closed":
      return endConversation(s, "agent", { at_once: true });
    default:
      return endByFault(s, reason, { at_once: true, detail });
  }
}

/** One step of a session that its client leads. */
export function clientLedStep(s: DialogueState, event: DialogueEvent): Step {
  if (s.mode === "ended") return none(afterEnd(s, event));
  switch (event.type) {
    case "started":
      return none({ ...s, node: FLOOR });
    case "heard":
      return heard(s, event.text, event.over);
    case "dtmf":
      return heard(s, event.digits, event.over);
    case "speak":
      return speak(s, event.text, event.voice);
    case "idle":
      return none(allHeard(s));
    case "interrupted":
      return none(truncateSpeech(s, event.spoken, ""));
    case "stt_failed":
      return noteError(s, event.code);
    case "time_up":
      return endConversation({ ...s, time_limit: true }, "timeout", { at_once: true });
    case "stopped":
      return stopped(s, event);
    case "fault":
      return noteError(s, event.code, event.detail);
    default:
      return none(s);
  }
}
