import { render } from "../../../shared/placeholders.ts";
import type { Flow } from "./flow.ts";
import { addSpoken, cutSpeech } from "./transcript.ts";
import { finish, noteError, after } from "./dialogue-steps.ts";
import type { Step, TalkEvent, TalkState } from "./dialogue-state.ts";

/** A machine took the call: what the configuration wants done about it. Pure. */

const none = (state: TalkState): Step => ({ state, effects: [] });

const messageOf = (flow: Flow, s: TalkState): string =>
  render(flow.voicemail_message ?? "", [s.extracted, s.payload]).trim();

/** The verdict came. Where a message is to be left the talk falls silent until the beep; without a message there is nothing to stay for. */
export function machineAnswered(flow: Flow, s: TalkState): Step {
  const machine: TalkState = { ...s, machine: true };
  const message = s.on_machine === "leave_message" ? messageOf(flow, s) : "";
  if (message === "") return finish(machine, "agent", { at_once: true });
  return {
    state: { ...machine, mode: "voicemail", awaiting: null, pending: [] },
    effects: [{ type: "await_beep", message }],
  };
}

/** What happens while a message is being left: nobody is talked with, nothing else is said. */
export function inVoicemail(flow: Flow, s: TalkState, event: TalkEvent): Step {
  switch (event.type) {
    case "beep":
      return s.message_left
        ? finish(s, "agent", { at_once: true })
        : finish({ ...s, message_left: true }, "agent", { goodbye: messageOf(flow, s) });
    case "interrupted":
      return none(s.message_left ? s : cutSpeech(s, event.spoken, ""));
    case "message_handed":
      return none({ ...addSpoken(s, messageOf(flow, s)), message_left: true });
    case "time_up":
      return finish({ ...s, time_limit: true }, "timeout", { at_once: true });
    case "stopped": {
      if (event.reason === "hung_up" || event.reason === "carrier_ended")
        return finish(s, s.message_left ? "agent" : "customer", { at_once: true });
      if (event.reason === "window_closed") return finish(s, "agent", { at_once: true });
      const noted = noteError(
        s,
        event.reason === "lease_lost"
          ? "LEASE_LOST"
          : event.reason === "media_failed"
            ? "MEDIA_FAILED"
            : event.reason === "speech_failed"
              ? "SPEECH_FAILED"
              : "SHUTDOWN",
      );
      return after(noted.effects, finish(noted.state, "error", { at_once: true }));
    }
    default:
      return none(s);
  }
}
