import type { AnswerCut } from "../../providers/port.ts";
import { faultOf, type ModelResponse } from "./model-response.ts";
import {
  cancelResponse,
  createResponse,
  deleteItem,
  type Dialect,
  type RealtimeEvent,
} from "../../providers/realtime/realtime-dialect.ts";

/** A response without output for this long is abandoned. */
export const RESPONSE_TIMEOUT_MS = 5000;
/** A cancelled response has this long to end before the next one is requested all the same. */
const CANCEL_MS = 1500;
/** A server that is busy with a response we don't know is asked again after this. */
const REFUSED_MS = 250;

/** How a response ended; `code` null: without error. */
export interface ResponseEnd {
  readonly code: string | null;
  /** What the server cut its answer by. */
  readonly cut?: AnswerCut | null;
  readonly tokens_in: number;
  readonly tokens_out: number;
}

/** The output of responses. There is none of one that was cancelled, or is preemptive still. */
export interface ResponseEvents {
  audio(response: ModelResponse, item_id: string, audio: string): void;
  text(response: ModelResponse, item_id: string, text: string): void;
  ended(response: ModelResponse, end: ResponseEnd): void;
  /** A preemptive response has failed. */
  preemptiveFailed(response: ModelResponse): void;
}

type Wire = { readonly dialect: Dialect; send(event: object): void; now(): number };
type Of<T extends RealtimeEvent["type"]> = Extract<RealtimeEvent, { type: T }>;

interface Output {
  readonly response_id: string;
  readonly item_id?: string;
}

/** Records output of a response. The effects of a preemptive response are deferred. */
function takeOutput(response: ModelResponse, event: Output, now: number, act: (response: ModelResponse) => void): void {
  if (event.item_id !== undefined) response.items.add(event.item_id);
  response.alive_at = now;
  response.first_ms ??= Math.round(now - response.asked_at);
  if (response.cancelled) return;
  if (response.wanted) act(response);
  else response.held.push(() => act(response));
}

/** The model's responses, one at a time: the protocol allows no two, and refuses the next until a cancelled one has ended. */
export class ResponseQueue {
  readonly #wire: Wire;
  readonly #events: ResponseEvents;
  #queue: ModelResponse[] = [];
  /** The response in progress at the server, cancelled or not. */
  #slot: ModelResponse | null = null;
  #cancelledAt = 0;
  /** When the server refused the response because another is in progress. */
  #refusedAt: number | null = null;
  /** Responses that were abandoned before the server named them: their names may still arrive. */
  #unnamed: string[] = [];
  #asks = 0;

  constructor(wire: Wire, events: ResponseEvents) {
    this.#wire = wire;
    this.#events = events;
  }

  /** A verbatim text waits to be said, or a response that speaks is not complete. */
  get speaking(): boolean {
    const slot = this.#slot;
    return (
      this.#queue.some((r) => r.verbatim !== null) ||
      (slot !== null && slot.wanted && !slot.cancelled && (slot.verbatim !== null || slot.text !== ""))
    );
  }

  /** `first`: before those that wait. */
  request(response: ModelResponse, first = false): void {
    if (first) this.#queue.unshift(response);
    else this.#queue.push(response);
    this.#next();
  }

  /** A preemptive response is wanted: its output comes now. */
  claim(response: ModelResponse): void {
    response.wanted = true;
    for (const act of response.held.splice(0)) act();
  }

  /** Cancels a response; what the caller has not heard of it leaves the server's conversation. */
  cancel(response: ModelResponse): void {
    if (response.cancelled) return;
    response.cancelled = true;
    response.held = [];
    this.#queue = this.#queue.filter((r) => r !== response);
    if (response.completed) this.#deleteUnheard(response);
    if (response !== this.#slot) return;
    this.#cancelledAt = this.#wire.now();
    if (this.#refusedAt !== null) this.#free();
    // one without a name yet is cancelled by its name, as soon as that is known: no other can be hit
    else if (response.id !== null) this.#wire.send(cancelResponse(response.id));
  }

  /** Cancels all. */
  cancelAll(): void {
    for (const response of [...this.#queue, ...(this.#slot === null ? [] : [this.#slot])]) this.cancel(response);
  }

  receive(event: RealtimeEvent): void {
    switch (event.type) {
      case "response_started":
        this.#started(event);
        return;
      case "item":
        this.#ofSlot(event, (r) => {
          r.items.add(event.item_id);
        });
        return;
      case "audio":
        this.#ofSlot(event, (r) => {
          r.sounded = true;
        });
        this.#output(event, (r) => this.#events.audio(r, event.item_id, event.audio));
        return;
      case "text":
        this.#output(event, (r) => {
          r.text += event.text;
          this.#events.text(r, event.item_id, event.text);
        });
        return;
      case "call":
        this.#output(event, (r) => {
          r.calls.push({ id: event.call_id, name: event.name, arguments: event.arguments });
        });
        return;
      case "response_ended":
        this.#ended(event);
        return;
      default:
    }
  }

  /** An error of the server; true: it was about a response in progress, and is handled. */
  refused(code: string, event_id: string | null): boolean {
    const slot = this.#slot;
    const busy = code === "conversation_already_has_active_response";
    if (slot === null || slot.id !== null || (event_id === null ? !busy : event_id !== slot.ask)) return busy;
    if (busy && !slot.cancelled) this.#refusedAt = this.#wire.now();
    else {
      this.#slot = null;
      this.#refusedAt = null;
      if (!slot.cancelled) this.#finish(slot, { code: "MODEL_ERROR", tokens_in: 0, tokens_out: 0 });
      this.#next();
    }
    return busy;
  }

  /** To be called regularly: time limits. */
  tick(): void {
    const slot = this.#slot;
    const now = this.#wire.now();
    if (!slot) return;
    if (slot.cancelled) {
      if (now - this.#cancelledAt < CANCEL_MS) return;
      if (slot.id === null) this.#unnamed.push(slot.ask);
      this.#free();
    } else if (now - slot.alive_at >= RESPONSE_TIMEOUT_MS) {
      this.cancel(slot);
      this.#finish(slot, { code: "MODEL_TIMEOUT", tokens_in: 0, tokens_out: 0 });
    } else if (this.#refusedAt !== null && now - this.#refusedAt >= REFUSED_MS) this.#send(slot);
  }

  #next(): void {
    if (this.#slot !== null) return;
    const next = this.#queue.shift();
    if (!next) return;
    this.#slot = next;
    next.asked_at = next.alive_at = this.#wire.now();
    this.#send(next);
  }

  #send(response: ModelResponse): void {
    this.#refusedAt = null;
    response.ask = `ask_${++this.#asks}`;
    this.#wire.send(createResponse(this.#wire.dialect, response.ask, response.verbatim));
  }

  #free(): void {
    this.#slot = null;
    this.#refusedAt = null;
    this.#next();
  }

  #started({ response_id, ask }: Of<"response_started">): void {
    const slot = this.#slot;
    // names arrive in the order of the requests, unless the server repeats our name of the response
    const stray = ask === null ? this.#unnamed.shift() !== undefined : ask !== slot?.ask;
    if (ask !== null) this.#unnamed = this.#unnamed.filter((r) => r !== ask);
    if (stray || slot === null || slot.id !== null) {
      this.#wire.send(cancelResponse(response_id));
      return;
    }
    slot.id = response_id;
    if (slot.cancelled) this.#wire.send(cancelResponse(response_id));
  }

  #ofSlot({ response_id }: Output, act: (response: ModelResponse) => void): void {
    if (this.#slot?.id === response_id) act(this.#slot);
  }

  #output(event: Output, act: (response: ModelResponse) => void): void {
    this.#ofSlot(event, (response) => takeOutput(response, event, this.#wire.now(), act));
  }

  #ended({ response_id, status, cut, items, tokens_in, tokens_out }: Of<"response_ended">): void {
    const response = this.#slot;
    if (response === null || response.id !== response_id) {
      if (response !== null && this.#refusedAt !== null) this.#send(response);
      return;
    }
    for (const id of items) response.items.add(id);
    response.completed = true;
    this.#slot = null;
    if (response.cancelled) this.#deleteUnheard(response);
    else {
      this.#finish(response, {
        code: faultOf(response, status),
        cut,
        tokens_in,
        tokens_out,
      });
    }
    this.#next();
  }

  #finish(response: ModelResponse, end: ResponseEnd): void {
    if (response.wanted) this.#events.ended(response, end);
    else if (end.code === null) response.held.push(() => this.#events.ended(response, end));
    else {
      this.cancel(response);
      this.#events.preemptiveFailed(response);
    }
  }

  /** What the caller has not heard leaves the server's conversation. */
  #deleteUnheard({ items, heard_items }: ModelResponse): void {
    for (const id of items) if (!heard_items.has(id)) this.#wire.send(deleteItem(id));
  }
}
