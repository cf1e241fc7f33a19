import type { ModelCall } from "../../dialogue/chat-messages.ts";
import {
  cancelResponse,
  createResponse,
  deleteItem,
  type Dialect,
  type RealtimeEvent,
} from "../../providers/realtime/realtime-dialect.ts";

/** An answer that gives no sign for this long is given up. */
export const RESPONSE_TIMEOUT_MS = 5000;
/** An answer that was taken back has this long to end before the next one is asked for all the same. */
const CANCEL_MS = 1500;
/** A server that is not done with an answer we don't know is asked again after this. */
const REFUSED_MS = 250;

/** An answer of the model: asked for, being made, made. */
export interface ModelResponse {
  /** What it has to be, word for word; null: what the model thinks of. */
  readonly verbatim: string | null;
  /** Its name between us and the server; a new one at each try. */
  ask: string;
  tries: number;
  id: string | null;
  asked_at: number;
  alive_at: number;
  first_ms: number | null;
  /** What comes of it waits in `held` until it is certain that it is wanted. */
  wanted: boolean;
  held: (() => void)[];
  cancelled: boolean;
  completed: boolean;
  text: string;
  calls: ModelCall[];
  /** Its items in the server's conversation, and those that the caller has heard something of. */
  readonly items: Set<string>;
  readonly heard_items: Set<string>;
}

/** How an answer ended; `code` null: as it should. */
export interface ResponseEnd {
  readonly code: string | null;
  readonly tokens_in: number;
  readonly tokens_out: number;
}

/** What comes of answers. Nothing comes of one that was dropped, or before it is wanted. */
export interface ResponseEvents {
  audio(answer: ModelResponse, item_id: string, audio: string): void;
  text(answer: ModelResponse, item_id: string, text: string): void;
  ended(answer: ModelResponse, ending: ResponseEnd): void;
  /** An answer that nobody has claimed yet came to nothing. */
  preemptiveFailed(answer: ModelResponse): void;
}

type Wire = { readonly dialect: Dialect; send(event: object): void; now(): number };
type Of<T extends RealtimeEvent["type"]> = Extract<RealtimeEvent, { type: T }>;

/** An answer that is still to be asked for. `wanted` false: begun before it is certain that it is. */
export const newResponse = (verbatim: string | null, wanted: boolean): ModelResponse => ({
  verbatim,
  ask: "",
  tries: 0,
  id: null,
  asked_at: 0,
  alive_at: 0,
  first_ms: null,
  wanted,
  held: [],
  cancelled: false,
  completed: false,
  text: "",
  calls: [],
  items: new Set(),
  heard_items: new Set(),
});

/** The model's answers, one at a time: the protocol knows no two, and refuses the next until one that was taken back has ended. */
export class ResponseQueue {
  readonly #wire: Wire;
  readonly #events: ResponseEvents;
  #queue: ModelResponse[] = [];
  /** What the server is at, wanted or not. */
  #slot: ModelResponse | null = null;
  #droppedAt = 0;
  /** When the server refused the slot's answer because it is at another. */
  #refusedAt: number | null = null;
  /** Answers that were given up before the server named them: their names may still come. */
  #unnamed: string[] = [];
  #asks = 0;

  constructor(wire: Wire, events: ResponseEvents) {
    this.#wire = wire;
    this.#events = events;
  }

  /** A fixed text waits to be said, or something said is not whole yet. */
  get speaking(): boolean {
    const slot = this.#slot;
    return (
      this.#queue.some((a) => a.verbatim !== null) ||
      (slot !== null && slot.wanted && !slot.cancelled && (slot.verbatim !== null || slot.text !== ""))
    );
  }

  /** `first`: before what waits already. */
  request(answer: ModelResponse, first = false): void {
    if (first) this.#queue.unshift(answer);
    else this.#queue.push(answer);
    this.#pump();
  }

  /** The answer is wanted: what has come of it comes out now. */
  claim(answer: ModelResponse): void {
    answer.wanted = true;
    for (const act of answer.held.splice(0)) act();
  }

  /** The answer is not wanted any more. What nobody heard of it leaves the server's conversation. */
  cancel(answer: ModelResponse): void {
    if (answer.cancelled) return;
    answer.cancelled = true;
    answer.held = [];
    this.#queue = this.#queue.filter((a) => a !== answer);
    if (answer.completed) this.#tidy(answer);
    if (answer !== this.#slot) return;
    this.#droppedAt = this.#wire.now();
    if (this.#refusedAt !== null) this.#free();
    // one without a name yet is cancelled by its name, as soon as that is known: no other can be hit
    else if (answer.id !== null) this.#wire.send(cancelResponse(answer.id));
  }

  /** Lets go of all that is wanted; gives what it was. */
  cancelAll(): void {
    for (const answer of [...this.#queue, ...(this.#slot === null ? [] : [this.#slot])]) this.cancel(answer);
  }

  receive(event: RealtimeEvent): void {
    switch (event.type) {
      case "response_started":
        this.#began(event);
        return;
      case "item":
        this.#of(event, (a) => {
          a.items.add(event.item_id);
        });
        return;
      case "audio":
        this.#out(event, (a) => this.#events.audio(a, event.item_id, event.audio));
        return;
      case "text":
        this.#out(event, (a) => {
          a.text += event.text;
          this.#events.text(a, event.item_id, event.text);
        });
        return;
      case "call":
        this.#out(event, (a) => {
          a.calls.push({ id: event.call_id, name: event.name, arguments: event.arguments });
        });
        return;
      case "response_ended":
        this.#over(event);
        return;
      default:
    }
  }

  /** A complaint of the server; true: it was about an answer, and is dealt with. */
  refused(code: string, event_id: string | null): boolean {
    const slot = this.#slot;
    const busy = code === "conversation_already_has_active_response";
    if (slot === null || slot.id !== null || (event_id === null ? !busy : event_id !== slot.ask)) return busy;
    if (busy && !slot.cancelled) this.#refusedAt = this.#wire.now();
    else {
      this.#slot = null;
      this.#refusedAt = null;
      if (!slot.cancelled) this.#came(slot, { code: "MODEL_ERROR", tokens_in: 0, tokens_out: 0 });
      this.#pump();
    }
    return busy;
  }

  /** Looks at the clock. */
  tick(): void {
    const slot = this.#slot;
    const now = this.#wire.now();
    if (!slot) return;
    if (slot.cancelled) {
      if (now - this.#droppedAt < CANCEL_MS) return;
      if (slot.id === null) this.#unnamed.push(slot.ask);
      this.#free();
    } else if (now - slot.alive_at >= RESPONSE_TIMEOUT_MS) {
      this.cancel(slot);
      this.#came(slot, { code: "MODEL_TIMEOUT", tokens_in: 0, tokens_out: 0 });
    } else if (this.#refusedAt !== null && now - this.#refusedAt >= REFUSED_MS) this.#send(slot);
  }

  #pump(): void {
    if (this.#slot !== null) return;
    const next = this.#queue.shift();
    if (!next) return;
    this.#slot = next;
    next.asked_at = next.alive_at = this.#wire.now();
    this.#send(next);
  }

  #send(answer: ModelResponse): void {
    this.#refusedAt = null;
    answer.ask = `ask_${++this.#asks}`;
    this.#wire.send(createResponse(this.#wire.dialect, answer.ask, answer.verbatim));
  }

  #free(): void {
    this.#slot = null;
    this.#refusedAt = null;
    this.#pump();
  }

  #began({ response_id, ask }: Of<"response_started">): void {
    const slot = this.#slot;
    // names come in the order in which answers were asked for, where they are not told apart by more
    const stray = ask === null ? this.#unnamed.shift() !== undefined : ask !== slot?.ask;
    if (ask !== null) this.#unnamed = this.#unnamed.filter((a) => a !== ask);
    if (stray || slot === null || slot.id !== null) {
      this.#wire.send(cancelResponse(response_id));
      return;
    }
    slot.id = response_id;
    if (slot.cancelled) this.#wire.send(cancelResponse(response_id));
  }

  #of({ response_id }: { readonly response_id: string }, act: (answer: ModelResponse) => void): void {
    if (this.#slot?.id === response_id) act(this.#slot);
  }

  #out(event: { readonly response_id: string; readonly item_id?: string }, act: (answer: ModelResponse) => void): void {
    this.#of(event, (answer) => {
      const now = this.#wire.now();
      if (event.item_id !== undefined) answer.items.add(event.item_id);
      answer.alive_at = now;
      answer.first_ms ??= Math.round(now - answer.asked_at);
      if (answer.cancelled) return;
      if (answer.wanted) act(answer);
      else answer.held.push(() => act(answer));
    });
  }

  #over({ response_id, status, items, tokens_in, tokens_out }: Of<"response_ended">): void {
    const answer = this.#slot;
    if (answer === null || answer.id !== response_id) {
      if (answer !== null && this.#refusedAt !== null) this.#send(answer);
      return;
    }
    for (const id of items) answer.items.add(id);
    answer.completed = true;
    this.#slot = null;
    if (answer.cancelled) this.#tidy(answer);
    else {
      // what was cut off by the server's own bounds is an answer as far as it goes
      const gave = answer.first_ms !== null && status !== "failed";
      this.#came(answer, { code: status === "completed" || gave ? null : "MODEL_ERROR", tokens_in, tokens_out });
    }
    this.#pump();
  }

  #came(answer: ModelResponse, ending: ResponseEnd): void {
    if (answer.wanted) this.#events.ended(answer, ending);
    else if (ending.code === null) answer.held.push(() => this.#events.ended(answer, ending));
    else {
      this.cancel(answer);
      this.#events.preemptiveFailed(answer);
    }
  }

  #tidy({ items, heard_items: heard }: ModelResponse): void {
    for (const id of items) if (!heard.has(id)) this.#wire.send(deleteItem(id));
  }
}
