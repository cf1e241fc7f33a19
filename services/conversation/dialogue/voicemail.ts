import { spokenText } from "../../../shared/speakable/speakable-text.ts";
import type { Flow } from "./flow.ts";
import { playedOut } from "./promises.ts";
import { addSpoken, truncateSpeech } from "./transcript.ts";
import { endByFault, endConversation, none } from "./dialogue-steps.ts";
import type { Step, DialogueEvent, DialogueState } from "./dialogue-state.ts";

/** Voicemail answered the call: carries out the `voicemail_action` of the configuration. Pure. */

const messageOf = (flow: Flow, s: DialogueState): string =>
  spokenText(flow.voicemail_message ?? "", [s.extracted, s.payload]);

/** The message is left once it was heard. */
const toBeLeft = (s: DialogueState): DialogueState => ({
  ...s,
  promised: { what: "message", from: s.seq, cut: false },
});
const isHanded = ({ promised }: DialogueState): boolean => promised?.what === "message";

/** Voicemail has been detected. Where a message is to be left the conversation falls silent until the beep; without a message the call ends. */
export function voicemailDetected(flow: Flow, s: DialogueState): Step {
  const machine: DialogueState = { ...s, voicemail: true, promised: null };
  const message = s.voicemail_action === "leave_message" ? messageOf(flow, s) : "";
  if (message === "") return endConversation(machine, "agent", { at_once: true });
  return {
    state: { ...machine, mode: "voicemail", awaiting: null, pending: [] },
    effects: [{ type: "await_beep", message }],
  };
}

/** The events while a message is being left: there is no dialogue, and nothing else is said. */
export function duringVoicemail(flow: Flow, s: DialogueState, event: DialogueEvent): Step {
  switch (event.type) {
    case "beep":
      // handed over: the carrier has had the time to say it
      return isHanded(s)
        ? endConversation(playedOut(s), "agent", { at_once: true })
        : endConversation(toBeLeft(s), "agent", { goodbye: messageOf(flow, s) });
    case "interrupted":
      return none(truncateSpeech(s, event.spoken, ""));
    case "message_handed":
      return none(addSpoken(toBeLeft(s), messageOf(flow, s)));
    case "time_up":
      return endConversation({ ...s, time_limit: true }, "timeout", { at_once: true });
    case "stopped": {
      if (event.reason === "hung_up" || event.reason === "line_lost" || event.reason === "carrier_ended") {
        const heard = playedOut(s);
        return endConversation(heard, heard.message_left ? "agent" : "customer", { at_once: true });
      }
      if (event.reason === "window_closed") return endConversation(s, "agent", { at_once: true });
      return endByFault(s, event.reason, { at_once: true, detail: event.detail });
    }
    default:
      return none(s);
  }
}
