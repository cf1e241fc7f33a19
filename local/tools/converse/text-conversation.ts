import {
  collectionOf,
  conversationFacts,
  newDialogue,
  step,
  type DialogueEvent,
  type DialogueState,
  type DtmfCollection,
  type Effect,
} from "../../../services/conversation/pure.ts";
import { outcomeOf } from "../../../services/leads/pure.ts";
import { noFacts, type ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import type { VoicemailAction } from "../../../shared/contracts/records/configuration.ts";
import { NOT_OVER } from "./expectations.ts";
import type { Model } from "./models.ts";
import type { LoadedTemplate } from "./input-files.ts";
import type { Turn } from "./script.ts";

/** What a web request is answered with. */
export interface WebResult {
  readonly ok: boolean;
  readonly result: string;
}
type Http = Extract<Effect, { type: "http" }>;

/** The world around a conversation. */
export interface ConversationWorld {
  readonly model: Model;
  web(asked: Http, called: string): Promise<WebResult>;
  transfers(): boolean;
  /** Tells what happens, as it happens. */
  told(line: ShownLine): void;
}

/** Something that happened in a conversation, for people. */
export interface ShownLine {
  readonly who: "agent" | "customer" | "talk";
  readonly text: string;
}

/** One event and what it led to. */
export interface Traced {
  readonly event: DialogueEvent;
  readonly effects: readonly Effect[];
  readonly node: string;
  readonly mode: string;
}

/** Steps after which a conversation counts as one that never ends. */
const MAX_STEPS = 5000;

const wordsIn = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");

/** The entries that keys pressed one after the other make, as the pipelines collect them: each key by itself, or up to the end key, the length or the last key. */
export function entriesOf(keys: string, collection: DtmfCollection | null): string[] {
  if (!collection) return [...keys];
  const entries: string[] = [];
  let entry = "";
  for (const key of keys) {
    const ends = key === collection.end_key;
    // an end key alone is an entry: there is nothing it could end
    if (!ends || entry === "") entry += key;
    if (ends || entry.length >= collection.max_digits) {
      entries.push(entry);
      entry = "";
    }
  }
  return entry === "" ? entries : [...entries, entry];
}

/** A conversation without sound: the dialogue's effects are carried out at once, then it is the customer's turn. */
export class TextConversation {
  readonly trace: Traced[] = [];
  readonly #ready: LoadedTemplate;
  readonly #world: ConversationWorld;
  #state: DialogueState;
  /** What was said since the customer's last turn. */
  #lately: { text: string; interruptible: boolean }[] = [];
  #queue: DialogueEvent[] = [];

  constructor(
    ready: LoadedTemplate,
    payload: Record<string, unknown>,
    on_machine: VoicemailAction,
    world: ConversationWorld,
  ) {
    this.#ready = ready;
    this.#world = world;
    this.#state = newDialogue(payload, on_machine);
  }

  get ended(): boolean {
    return this.#state.mode === "ended";
  }
  get node(): string {
    return this.#state.node;
  }
  get facts(): ConversationFacts {
    return conversationFacts(this.#state);
  }
  get endedBy(): string {
    return this.ended ? this.facts.ended_by : NOT_OVER;
  }
  /** The word the lead would end with. */
  get outcome(): string {
    return !this.ended && this.#state.decided === null
      ? NOT_OVER
      : outcomeOf({
          ...noFacts("completed"),
          answered_at: null,
          ended_at: null,
          machine: this.#state.voicemail,
          talk: this.facts,
        });
  }
  /** Words of ours that the customer can interrupt. */
  get wordsLately(): number {
    return wordsIn(this.#lately.map((l) => l.text).join(" ")).length;
  }

  start(): Promise<void> {
    return this.#happen({ type: "started" });
  }

  /** The customer's turn, and all that comes of it. */
  async turn(turn: Turn): Promise<void> {
    if (turn.say !== undefined) return this.#say(turn.say);
    if (turn.press !== undefined) return this.#press(turn.press);
    if (turn.interrupt !== undefined) return this.#interrupt(turn.interrupt.after_words, turn.interrupt.say);
    if (turn.silence !== undefined) {
      for (let i = 0; i < turn.silence && !this.ended; i++) {
        this.#world.told({ who: "customer", text: "(silence)" });
        await this.#happen({ type: "idle" });
      }
      return;
    }
    if (turn.hang_up) {
      this.#world.told({ who: "customer", text: "(hangs up)" });
      return this.#happen({ type: "stopped", reason: "hung_up" });
    }
    if (turn.machine) {
      this.#world.told({ who: "talk", text: "a machine has answered" });
      return this.#happen({ type: "machine" });
    }
    this.#world.told({ who: "talk", text: "the talk has reached its maximal length" });
    return this.#happen({ type: "time_up" });
  }

  async #say(text: string): Promise<void> {
    this.#world.told({ who: "customer", text });
    await this.#happen({ type: "heard", text });
  }

  async #press(keys: string): Promise<void> {
    this.#world.told({ who: "customer", text: `[keypad] ${keys}` });
    for (const digits of entriesOf(keys, collectionOf(this.#ready.flow, this.#state.node)))
      await this.#happen({ type: "dtmf", digits });
  }

  async #interrupt(after_words: number, text: string | undefined): Promise<void> {
    let left = after_words;
    const hit = this.#lately.find(({ text: said }) => {
      left -= wordsIn(said).length;
      return left < 0;
    });
    if (hit && !hit.interruptible)
      this.#world.told({ who: "talk", text: "this can't be interrupted: it is heard to its end" });
    else if (hit) {
      const spoken = wordsIn(this.#lately.map((l) => l.text).join(" "))
        .slice(0, after_words)
        .join(" ");
      this.#world.told({ who: "talk", text: `interrupted after ${spoken === "" ? "nothing" : `"${spoken}"`}` });
      await this.#happen({ type: "interrupted", spoken });
    }
    if (text !== undefined && !this.ended) await this.#say(text);
  }

  /** An event and its consequences, until the dialogue waits for the customer or is over. */
  async #happen(event: DialogueEvent): Promise<void> {
    if (event.type === "heard" || event.type === "dtmf" || event.type === "interrupted") this.#lately = [];
    this.#queue.push(event);
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      if (this.trace.length >= MAX_STEPS) throw new Error(`The talk has not come to an end in ${MAX_STEPS} steps.`);
      const before = this.#state;
      const { state, effects } = step(this.#ready.flow, before, next);
      this.#state = state;
      this.trace.push({ event: next, effects, node: state.node, mode: state.mode });
      this.#tellMoves(before, next);
      for (const effect of effects) await this.#perform(effect);
    }
  }

  async #perform(effect: Effect): Promise<void> {
    const { told } = this.#world;
    switch (effect.type) {
      case "say":
        this.#speak(effect.text, effect.interruptible);
        return;
      case "think":
        return this.#think(effect);
      case "http": {
        told({ who: "talk", text: `asks ${effect.method} ${effect.url}` });
        const answer = await this.#world.web(effect, this.#state.awaiting?.function ?? "");
        this.#queue.push({ type: "http_done", call_id: effect.call_id, ...answer });
        return;
      }
      case "transfer": {
        const works = this.#world.transfers();
        // the configuration, which a template in a file does not have, says which numbers of variables may be called
        const where =
          effect.from_variable === true ? " where the configuration's transfer_numbers has this number" : "";
        told({ who: "talk", text: `transfers to ${effect.to}: ${works ? `it works${where}` : "it fails"}` });
        this.#queue.push(
          works
            ? { type: "transfer_done", call_id: effect.call_id }
            : { type: "transfer_failed", call_id: effect.call_id, code: "CARRIER_ERROR" },
        );
        return;
      }
      case "await_beep":
        told({ who: "talk", text: "waits for the beep" });
        this.#queue.push({ type: "beep" });
        return;
      case "keys":
        told({ who: "talk", text: `presses ${effect.digits.length} key${effect.digits.length === 1 ? "" : "s"}` });
        return;
      case "note_error":
        told({ who: "talk", text: `error ${effect.code}` });
        return;
      case "end": {
        if (effect.goodbye !== null) this.#speak(effect.goodbye, false);
        this.#queue.push({ type: "played_out" });
        told({ who: "talk", text: `the call is over, ended by ${effect.ended_by}` });
      }
    }
  }

  #speak(text: string, interruptible: boolean): void {
    this.#lately.push({ text, interruptible });
    this.#world.told({ who: "agent", text });
  }

  async #think({ turn, messages, tools, interruptible }: Extract<Effect, { type: "think" }>): Promise<void> {
    const answer = await this.#world.model.ask({ messages, tools });
    if ("fault" in answer) {
      this.#world.told({ who: "talk", text: `no answer: ${answer.why}` });
      this.#queue.push({ type: "model_failed", turn, code: answer.fault });
      return;
    }
    if (answer.text.trim() !== "") this.#speak(answer.text.trim(), interruptible);
    for (const call of answer.calls) this.#world.told({ who: "talk", text: `→ ${call.name} ${call.arguments}` });
    this.#queue.push({ type: "model_answered", turn, text: answer.text, calls: answer.calls });
  }

  /** Nodes that were entered, and variables that were set. */
  #tellMoves(before: DialogueState, event: DialogueEvent): void {
    for (const node of this.#state.traversal.slice(before.traversal.length))
      this.#world.told({ who: "talk", text: `node ${node}` });
    if (event.type === "started") return;
    const now = conversationFacts(this.#state).variables;
    const was = conversationFacts(before).variables;
    for (const [name, value] of Object.entries(now))
      if (JSON.stringify(was[name]) !== JSON.stringify(value))
        this.#world.told({ who: "talk", text: `${name} = ${JSON.stringify(value)}` });
  }
}
