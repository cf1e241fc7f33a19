import { textOf } from "../../../shared/json.ts";
import { eventBuffer, type LegEvent } from "./event-buffer.ts";
import { endOfSocket, NORMAL_CLOSURE, parseFrame, sendFrame, type Frame, type LegSocket } from "./leg-socket.ts";
import type { TextLeg, TextLegEvents } from "./port.ts";

type TextLegEvent = LegEvent<TextLegEvents>;

/** Speaker events, sent where the document asks for events="speaker-events". */
function readInfo(name: string, on: boolean): TextLegEvent | null {
  if (name === "agentSpeaking") return (e) => e.speaking(on);
  return name === "clientSpeaking" ? (e) => e.customer(on) : null;
}

/** Reads one frame of ConversationRelay (https://www.twilio.com/docs/voice/conversationrelay/websocket-messages); null: none that matters here. */
export function readRelayFrame(data: string): TextLegEvent | null {
  const frame = parseFrame(data);
  switch (frame?.["type"]) {
    case "setup": {
      const id = textOf(frame["callSid"]);
      return (e) => e.ready(id === "" ? null : id);
    }
    case "prompt": {
      const words = textOf(frame["voicePrompt"]);
      const final = frame["last"] !== false;
      return (e) => e.prompt(words, final);
    }
    case "dtmf": {
      const digit = textOf(frame["digit"]);
      return /^[0-9*#A-Dw]$/i.test(digit) ? (e) => e.digit(digit) : null;
    }
    case "interrupt": {
      const spoken = textOf(frame["utteranceUntilInterrupt"]);
      return (e) => e.interrupt(spoken);
    }
    case "info":
      return readInfo(textOf(frame["name"]), frame["value"] === "on");
    case "error":
      return (e) => e.fault();
    default:
      return null;
  }
}

/** A text leg over a ConversationRelay socket (Twilio; Telnyx sends the same frames). Ignores unknown frames. */
export function textRelayLeg(socket: LegSocket): TextLeg {
  const events = eventBuffer<TextLegEvents>();
  let ending = false;
  let cut = false;
  const send = (frame: Frame): void => {
    if (events.isOpen() && !ending) sendFrame(socket, JSON.stringify(frame));
  };

  socket.on("message", (data, isBinary) => {
    const event = isBinary ? null : readRelayFrame(data.toString());
    if (event) events.emit(event);
  });
  socket.on("error", () => socket.terminate());
  // what we cut ourselves did not break off
  socket.on("close", (code) => events.close(cut ? "closed" : endOfSocket(code)));

  return {
    listen: (receiver) => events.listen(receiver),
    say: (token, { last, interruptible }) => send({ type: "text", token, last, interruptible }),
    sendDtmf: (digits) => send({ type: "sendDigits", digits }),
    end() {
      send({ type: "end" });
      ending = true;
    },
    close() {
      cut = ending;
      if (cut) socket.terminate();
      else socket.close(NORMAL_CLOSURE);
      ending = true;
    },
  };
}
