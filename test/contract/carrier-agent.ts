import type { WebSocket } from "ws";
import type { TurnReply } from "../../shared/contracts/conversation.ts";

/** What the suite's agent does with a call. It greets, hears one thing and says goodbye, unless it is told to hold its tongue and the line. */
export interface Agent {
  /** Calls (by call_ref) on which nothing is said and the line is held. */
  holds: Set<string>;
  heard: { ref: string; text: string }[];
  digits: { ref: string; digit: string }[];
  /** Calls whose talk has begun, with the time. */
  began: Map<string, number>;
  /** A relay socket of this call was opened. */
  onSocket(ref: string, socket: WebSocket): void;
  /** A document was asked for: at the answer (`token`), or after what the person did. */
  onTurn(ref: string, turn: { token: string | null; heard: string | null; digits: string | null }): TurnReply;
  /** Presses keys in the talk's own channel. */
  press(ref: string, digits: string): void;
}

const GREETING = "Hello, this is the shop. May I confirm your order for Monday?";
const GOODBYE = "Thank you, it is confirmed. Goodbye.";
const LISTENS_SECONDS = 30;
let turns = 1;

const reply = (say: string[], next: TurnReply["next"]): TurnReply => ({
  turn: turns++,
  say: say.map((text) => ({ text, interruptible: true })),
  next,
  language: "en-US",
  voice: null,
});
const LISTEN: TurnReply["next"] = { kind: "listen", seconds: LISTENS_SECONDS, keys_only: false };

/** An agent with nothing on its mind. */
export function createAgent(): Agent {
  const sockets = new Map<string, WebSocket>();
  const agent: Agent = {
    holds: new Set(),
    heard: [],
    digits: [],
    began: new Map(),
    onSocket(ref, socket) {
      sockets.set(ref, socket);
      const send = (frame: object): void => {
        socket.send(JSON.stringify(frame));
      };
      const goodbye = (): void => {
        if (agent.holds.has(ref)) return;
        send({ type: "text", token: GOODBYE, last: true, interruptible: false });
        send({ type: "end" });
      };
      socket.on("message", (data) => {
        const frame = JSON.parse(String(data)) as Record<string, unknown>;
        if (frame["type"] === "setup") {
          agent.began.set(ref, Date.now());
          if (!agent.holds.has(ref)) send({ type: "text", token: GREETING, last: true, interruptible: true });
        }
        if (frame["type"] === "prompt" && frame["last"] === true) {
          agent.heard.push({ ref, text: String(frame["voicePrompt"]) });
          goodbye();
        }
        if (frame["type"] === "dtmf") {
          agent.digits.push({ ref, digit: String(frame["digit"]) });
          goodbye();
        }
      });
    },
    onTurn(ref, { token, heard, digits }) {
      if (token !== null) agent.began.set(ref, Date.now());
      if (heard !== null) agent.heard.push({ ref, text: heard });
      if (digits !== null) agent.digits.push(...[...digits].map((digit) => ({ ref, digit })));
      if (agent.holds.has(ref)) return reply([], LISTEN);
      return heard === null && digits === null
        ? reply(token === null ? [] : [GREETING], LISTEN)
        : reply([GOODBYE], { kind: "hang_up" });
    },
    press(ref, digits) {
      sockets.get(ref)?.send(JSON.stringify({ type: "sendDigits", digits }));
    },
  };
  return agent;
}
