import { itemFields, type Item } from "./conversation-items.ts";
import type { Dialect } from "./session-settings.ts";

/** An event's fields. */
export type Fields = Readonly<Record<string, unknown>>;

/** What a session needs of its connection. */
export interface RealtimeConnection {
  send(text: string): void;
  /** Cuts the connection without a closing handshake. */
  cut(): void;
}

const TRANSCRIPTION = "conversation.item.input_audio_transcription";

/** The events of one session's server side, in its dialect. Ids are counted, so that the same conversation reads the same. */
export class ServerEvents {
  readonly dialect: Dialect;
  readonly #connection: RealtimeConnection;
  readonly #gone = new AbortController();
  readonly #counts = new Map<string, number>();

  constructor(connection: RealtimeConnection, dialect: Dialect) {
    this.#connection = connection;
    this.dialect = dialect;
  }

  /** Aborts when the connection is gone. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** The connection is gone: nothing is sent any more. */
  close(): void {
    this.#gone.abort();
  }

  /** The next id of this kind. */
  nextId(prefix: string): string {
    const next = (this.#counts.get(prefix) ?? 0) + 1;
    this.#counts.set(prefix, next);
    return `${prefix}_${String(next).padStart(6, "0")}`;
  }

  send(event: Fields): void {
    if (!this.gone.aborted) this.#connection.send(JSON.stringify({ ...event, event_id: this.nextId("event") }));
  }

  /** An item is in the conversation now, behind `previous_item_id`. */
  itemAdded(item: Item, previous_item_id: string | null): void {
    const type = this.dialect === "ga" ? "conversation.item.added" : "conversation.item.created";
    this.send({ type, previous_item_id, item: itemFields(item, this.dialect) });
  }

  /** An item is complete; only the GA dialect says so. */
  itemDone(item: Item, previous_item_id: string | null): void {
    if (this.dialect === "ga")
      this.send({ type: "conversation.item.done", previous_item_id, item: itemFields(item, this.dialect) });
  }

  /** A word of the person's as soon as it was recognised. */
  wordDelta(item_id: string, word: string, first: boolean): void {
    this.send({ type: `${TRANSCRIPTION}.delta`, item_id, content_index: 0, delta: first ? word : ` ${word}` });
  }

  /** All words of an item. */
  transcript(item_id: string, words: readonly string[], heard_ms: number): void {
    const usage = { type: "duration", seconds: Math.ceil(heard_ms / 1000) };
    this.send({ type: `${TRANSCRIPTION}.completed`, item_id, content_index: 0, transcript: words.join(" "), usage });
  }
}
