import type { ChatMessage } from "../../dialogue/chat-messages.ts";
import { MAX_TURN_CHARS, type Effect } from "../../dialogue/dialogue-state.ts";
import {
  functionOutput,
  sessionUpdate,
  instructionsUpdate,
  userText,
  type Dialect,
  type SessionSettings,
} from "../../providers/realtime/realtime-dialect.ts";

type Thought = Pick<Extract<Effect, { type: "think" }>, "messages" | "tools">;

/** What was said as sound, kept until the talk attends to it. */
const MAX_TRANSCRIBED = 50;

/** What the server has been told: the task, and what it can't have heard. */
export class SessionSync {
  readonly #o: { dialect: Dialect; wish: Omit<SessionSettings, "instructions" | "tools">; send(event: object): void };
  #task = "";
  #updates = 0;
  readonly #messages = new WeakSet<ChatMessage>();
  #outputs = new Set<string>();
  /** Texts that the server knows as sound, and the talk has not attended to. */
  #transcribed: string[] = [];

  constructor(o: {
    dialect: Dialect;
    wish: Omit<SessionSettings, "instructions" | "tools">;
    send(event: object): void;
  }) {
    this.#o = o;
    this.#update(sessionUpdate(o.dialect, { ...o.wish, instructions: "", tools: [] }));
  }

  /** The server has heard this by itself. */
  transcriptKnown(text: string): void {
    this.#transcribed = [...this.#transcribed, text.slice(0, MAX_TURN_CHARS).trim()].slice(-MAX_TRANSCRIBED);
  }

  /** It was heard, but is void. */
  unheard(): void {
    this.#transcribed.pop();
  }

  /** Tells what the thought needs; true where there was something to tell. */
  sync(thought: Thought): boolean {
    const changed = this.syncInstructions(thought);
    return this.#tellMessages(thought.messages) || changed;
  }

  /** Of it, the task alone. */
  syncInstructions({ messages, tools }: Thought): boolean {
    const [system] = messages;
    const wish = { instructions: system?.role === "system" ? system.content : "", tools };
    const task = JSON.stringify(wish);
    if (task === this.#task) return false;
    this.#task = task;
    this.#update(instructionsUpdate(this.#o.dialect, wish));
    return true;
  }

  #update(event: object): void {
    this.#o.send({ ...event, event_id: `session_${++this.#updates}` });
  }

  /** Keys, and what functions gave back, once each. The history forgets its oldest messages: what is gone from it does not come back. */
  #tellMessages(messages: readonly ChatMessage[]): boolean {
    let told = false;
    const outputs = new Set<string>();
    for (const m of messages) {
      if (m.role === "tool") {
        outputs.add(m.tool_call_id);
        if (this.#outputs.has(m.tool_call_id)) continue;
        this.#o.send(functionOutput(m.tool_call_id, m.content));
        told = true;
      } else if (m.role === "user" && !this.#messages.has(m)) {
        this.#messages.add(m);
        const at = this.#transcribed.indexOf(m.content);
        if (at >= 0) {
          this.#transcribed.splice(at, 1);
          continue;
        }
        this.#o.send(userText(m.content));
        told = true;
      }
    }
    this.#outputs = outputs;
    return told;
  }
}
