import type { ChatMessage } from "../../dialogue/chat-messages.ts";
import { MAX_TURN_CHARS } from "../../dialogue/dialogue-state.ts";
import { isData } from "../../dialogue/prompts.ts";
import type { GenerateEffect } from "../port.ts";
import {
  functionOutput,
  sessionUpdate,
  instructionsUpdate,
  userText,
  type Dialect,
  type SessionSettings,
} from "../../providers/realtime/realtime-dialect.ts";

type GenerateRequest = Pick<GenerateEffect, "messages" | "tools">;

/** Transcripts of the caller kept until the dialogue has processed them. */
const MAX_TRANSCRIBED = 50;

/** Keeps the server's session in step with the dialogue: the instructions, and what the server cannot have heard. */
export class SessionSync {
  readonly #o: {
    dialect: Dialect;
    settings: Omit<SessionSettings, "instructions" | "tools">;
    send(event: object): void;
  };
  #instructed = "";
  /** The values of variables that the server has. */
  #data = "";
  #updates = 0;
  readonly #messages = new WeakSet<ChatMessage>();
  #outputs = new Set<string>();
  /** Texts that the server knows as audio and the dialogue has not processed. */
  #transcribed: string[] = [];

  constructor(o: {
    dialect: Dialect;
    settings: Omit<SessionSettings, "instructions" | "tools">;
    send(event: object): void;
  }) {
    this.#o = o;
    this.#update(sessionUpdate(o.dialect, { ...o.settings, instructions: "", tools: [] }));
  }

  /** The server has heard this turn. */
  transcriptKnown(text: string): void {
    this.#transcribed = [...this.#transcribed, text.slice(0, MAX_TURN_CHARS).trim()].slice(-MAX_TRANSCRIBED);
  }

  /** Sends what the request needs; true where there was something to send. */
  sync(request: GenerateRequest): boolean {
    const changed = this.syncInstructions(request);
    return this.#sendMessages(request.messages) || changed;
  }

  /** Sends the instructions, the values of their variables, and the functions alone. */
  syncInstructions({ messages, tools }: GenerateRequest): boolean {
    const [system, second] = messages;
    const instructed = { instructions: system?.role === "system" ? system.content : "", tools };
    const data = second?.role === "user" && isData(second) ? second.content : this.#data;
    const serialised = JSON.stringify(instructed);
    if (serialised === this.#instructed && data === this.#data) return false;
    if (data !== this.#data) this.#o.send(userText(data));
    if (serialised !== this.#instructed) this.#update(instructionsUpdate(this.#o.dialect, instructed));
    this.#data = data;
    this.#instructed = serialised;
    return true;
  }

  #update(event: object): void {
    this.#o.send({ ...event, event_id: `session_${++this.#updates}` });
  }

  /** Sends DTMF and function results, once each. The history drops its oldest messages, and they never return. */
  #sendMessages(messages: readonly ChatMessage[]): boolean {
    let sent = false;
    const outputs = new Set<string>();
    for (const m of messages) {
      if (m.role === "tool") {
        outputs.add(m.tool_call_id);
        if (this.#outputs.has(m.tool_call_id)) continue;
        this.#o.send(functionOutput(m.tool_call_id, m.content));
        sent = true;
      } else if (m.role === "user" && !isData(m) && !this.#messages.has(m)) {
        this.#messages.add(m);
        const at = this.#transcribed.indexOf(m.content);
        if (at >= 0) {
          this.#transcribed.splice(at, 1);
          continue;
        }
        this.#o.send(userText(m.content));
        sent = true;
      }
    }
    this.#outputs = outputs;
    return sent;
  }
}
