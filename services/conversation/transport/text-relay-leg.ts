import type { TextLeg, TextLegEvents } from "./port.ts";

/** What is needed of a WebSocket (the `ws` package's fits). */
export interface LegSocket {
  readonly bufferedAmount: number;
  send(data: string): void;
  close(code?: number): void;
  terminate(): void;
  on(event: "message", listener: (data: { toString(): string }, isBinary: boolean) => void): unknown;
  on(event: "close" | "error", listener: () => void): unknown;
}

/** Largest frame that is read, bytes. */
export const MAX_FRAME_BYTES = 65_536;
/** Unsent bytes at which the other side counts as gone. */
const MAX_BUFFERED_BYTES = 1_048_576;
/** Events kept until somebody listens. */
const MAX_EARLY_EVENTS = 100;
const NORMAL_CLOSURE = 1000;

type Happening = (events: TextLegEvents) => void;

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Speaker events, sent where the document asks for events="speaker-events". */
function readInfo(name: string, on: boolean): Happening | null {
  if (name === "agentSpeaking") return (e) => e.speaking(on);
  return name === "clientSpeaking" ? (e) => e.customer(on) : null;
}

/** Reads one frame of ConversationRelay (https://www.twilio.com/docs/voice/conversationrelay/websocket-messages); null: not for us. */
export function readRelayFrame(data: string): Happening | null {
  if (Buffer.byteLength(data) > MAX_FRAME_BYTES) return null;
  let frame: unknown;
  try {
    frame = JSON.parse(data);
  } catch {
    return null;
  }
  if (typeof frame !== "object" || frame === null) return null;
  const f = frame as Record<string, unknown>;
  switch (f["type"]) {
    case "setup": {
      const id = text(f["callSid"]);
      return (e) => e.ready(id === "" ? null : id);
    }
    case "prompt": {
      const words = text(f["voicePrompt"]);
      const final = f["last"] !== false;
      return (e) => e.prompt(words, final);
    }
    case "dtmf": {
      const digit = text(f["digit"]);
      return /^[0-9*#A-Dw]$/i.test(digit) ? (e) => e.digit(digit) : null;
    }
    case "interrupt": {
      const spoken = text(f["utteranceUntilInterrupt"]);
      return (e) => e.interrupt(spoken);
    }
    case "info":
      return readInfo(text(f["name"]), f["value"] === "on");
    case "error":
      return (e) => e.fault();
    default:
      return null;
  }
}

/** A text leg over a ConversationRelay socket (Twilio; Telnyx's frames are the same). Unknown frames are ignored. */
export function textRelayLeg(socket: LegSocket): TextLeg {
  let receiver: TextLegEvents | null = null;
  let early: Happening[] = [];
  let open = true;
  let ending = false;

  const happen = (what: Happening): void => {
    if (receiver) what(receiver);
    else if (early.length < MAX_EARLY_EVENTS) early.push(what);
  };
  const gone = (): void => {
    if (!open) return;
    open = false;
    early = early.slice(0, MAX_EARLY_EVENTS - 1);
    happen((e) => e.closed());
  };
  const send = (frame: Record<string, unknown>): void => {
    if (!open || ending) return;
    if (socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      socket.terminate();
      return;
    }
    socket.send(JSON.stringify(frame));
  };

  socket.on("message", (data, isBinary) => {
    const what = isBinary || !open ? null : readRelayFrame(data.toString());
    if (what) happen(what);
  });
  socket.on("error", () => socket.terminate());
  socket.on("close", gone);

  return {
    listen(events) {
      receiver = events;
      const waiting = early;
      early = [];
      for (const what of waiting) what(events);
    },
    say: (token, { last, interruptible }) => send({ type: "text", token, last, interruptible }),
    sendDtmf: (digits) => send({ type: "sendDigits", digits }),
    end() {
      send({ type: "end" });
      ending = true;
    },
    close() {
      if (ending) socket.terminate();
      else socket.close(NORMAL_CLOSURE);
      ending = true;
    },
  };
}
