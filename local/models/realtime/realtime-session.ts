import { delay } from "../api/delays.ts";
import { errorType } from "../api/json-http.ts";
import { ApiError } from "../api/chat-request.ts";
import type { RequestContext } from "../api/request-context.ts";
import { SpeechInput } from "./turn-detection.ts";
import { Conversation, itemFields, readItem, type Item } from "./conversation-items.ts";
import { ResponseQueue } from "./response-queue.ts";
import { described, fieldsOf, updated, type Dialect, type Settings } from "./session-settings.ts";

/** One realtime session: events of the client in, events of the server out. Ids are counted, so that the same talk reads the same. */

type Fields = Readonly<Record<string, unknown>>;

/** What a session needs of its connection. */
export interface RealtimeConnection {
  send(text: string): void;
  /** Cuts the line without a goodbye. */
  cut(): void;
}

const LEAST_COMMIT_MS = 100;

/** A session on a connection. */
export class RealtimeSession {
  readonly #connection: RealtimeConnection;
  readonly #dialect: Dialect;
  readonly #id: string;
  readonly #context: RequestContext;
  readonly #gone = new AbortController();
  readonly #conversation = new Conversation();
  readonly #responses: ResponseQueue;
  readonly #input: SpeechInput;
  readonly #counts = new Map<string, number>();
  #settings: Settings;
  #pendingId: string | null = null;
  #wordsSent = 0;

  constructor(o: {
    line: RealtimeConnection;
    id: string;
    dialect: Dialect;
    settings: Settings;
    context: RequestContext;
  }) {
    this.#connection = o.line;
    this.#dialect = o.dialect;
    this.#id = o.id;
    this.#context = o.context;
    this.#settings = o.settings;
    this.#responses = new ResponseQueue(
      {
        dialect: o.dialect,
        conversation: this.#conversation,
        delays: o.context.delays,
        send: (event) => this.#send(event),
        itemId: () => this.#count("item"),
        added: (item, previous) => this.#added(item, previous),
        cut: () => o.line.cut(),
      },
      o.context,
      () => this.#count("resp"),
    );
    this.#input = new SpeechInput(o.settings, {
      started: (at) => this.#started(at),
      stopped: (at) => this.#stopped(at),
      word: (word) => this.#word(word),
    });
    this.#send({ type: this.#sessionEvent("created"), session: described(this.#settings, o.id, o.dialect) });
  }

  /** Takes an event of the client; what is wrong with it is told as an error event. */
  receive(text: string): void {
    let event: Fields = {};
    try {
      event = parsed(text);
      this.#take(event);
    } catch (error) {
      const fault =
        error instanceof ApiError
          ? error
          : new ApiError(500, "The model simulator failed on this event.", null, "server_error");
      if (!(error instanceof ApiError)) console.error(error);
      this.#send({
        type: "error",
        error: {
          type: errorType(fault.status),
          code: fault.code,
          message: fault.message,
          param: fault.param,
          event_id: event["event_id"] ?? null,
        },
      });
    }
  }

  /** The connection is gone. */
  closed(): void {
    this.#gone.abort();
    this.#responses.cancel("client_cancelled");
  }

  #take(event: Fields): void {
    switch (event["type"]) {
      case "session.update":
      case "transcription_session.update":
        return this.#update(event["session"]);
      case "input_audio_buffer.append":
        return this.#append(event["audio"]);
      case "input_audio_buffer.commit":
        if (this.#input.buffered_ms < LEAST_COMMIT_MS)
          throw new ApiError(
            400,
            `Error committing input audio buffer: buffer too small. Expected at least ${LEAST_COMMIT_MS}ms of audio, but buffer only has ${this.#input.buffered_ms.toFixed(2)}ms of audio.`,
            null,
            "input_audio_buffer_commit_empty",
          );
        return this.#commit();
      case "input_audio_buffer.clear":
        this.#input.clear();
        this.#pendingId = null;
        return this.#send({ type: "input_audio_buffer.cleared" });
      case "conversation.item.create": {
        const item = readItem(event["item"], () => this.#count("item"), this.#conversation);
        const after = event["previous_item_id"];
        this.#added(item, this.#conversation.add(item, typeof after === "string" ? after : null));
        return this.#itemDone(item);
      }
      case "conversation.item.retrieve":
        return this.#send({
          type: "conversation.item.retrieved",
          item: itemFields(this.#conversation.get(event["item_id"]), this.#dialect),
        });
      case "conversation.item.delete":
        this.#conversation.delete(event["item_id"]);
        return this.#send({ type: "conversation.item.deleted", item_id: event["item_id"] });
      case "conversation.item.truncate": {
        const audio_end_ms = this.#conversation.truncate(event["item_id"], event["audio_end_ms"]);
        return this.#send({
          type: "conversation.item.truncated",
          item_id: event["item_id"],
          content_index: 0,
          audio_end_ms,
        });
      }
      case "response.create":
        if (this.#settings.purpose === "transcription")
          throw new ApiError(400, "A transcription session gives no responses.", "type", "invalid_value");
        return this.#responses.create(this.#settings, event["response"]);
      case "response.cancel":
        if (!this.#responses.cancel("client_cancelled", event["response_id"]))
          throw new ApiError(400, "Cancellation failed: no active response found", null, "response_cancel_not_active");
        return;
      default:
        throw new ApiError(400, `Invalid value: '${String(event["type"])}'.`, "type", "invalid_value");
    }
  }

  #update(session: unknown): void {
    this.#settings = updated(this.#settings, session, this.#dialect);
    this.#input.configure(this.#settings);
    this.#send({ type: this.#sessionEvent("updated"), session: described(this.#settings, this.#id, this.#dialect) });
  }

  #append(audio: unknown): void {
    if (typeof audio !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(audio))
      throw new ApiError(400, "Invalid 'audio': expected base64.", "audio", "invalid_value");
    this.#input.push(Buffer.from(audio, "base64"));
  }

  #started(at_ms: number): void {
    this.#send({ type: "input_audio_buffer.speech_started", audio_start_ms: at_ms, item_id: this.#pending() });
    if (this.#settings.detection?.interrupt_response === true) this.#responses.cancel("turn_detected");
  }

  #stopped(at_ms: number): void {
    this.#send({ type: "input_audio_buffer.speech_stopped", audio_end_ms: at_ms, item_id: this.#pending() });
    this.#commit();
    if (this.#settings.purpose === "transcription" || this.#settings.detection?.create_response !== true) return;
    if (!this.#responses.active) return this.#responses.create(this.#settings, {});
    if (this.#settings.detection.interrupt_response) void this.#answerNext();
  }

  /** A cancelled answer still tells its end; then the next one begins. */
  async #answerNext(): Promise<void> {
    await this.#responses.over;
    if (!this.#responses.active && !this.#gone.signal.aborted) this.#responses.create(this.#settings, {});
  }

  #word(word: string): void {
    if (this.#settings.purpose !== "transcription") return;
    this.#wordDelta(this.#pending(), word);
  }

  #wordDelta(item_id: string, word: string): void {
    this.#send({
      type: "conversation.item.input_audio_transcription.delta",
      item_id,
      content_index: 0,
      delta: this.#wordsSent === 0 ? word : ` ${word}`,
    });
    this.#wordsSent += 1;
  }

  #commit(): void {
    const heard_ms = this.#input.buffered_ms;
    const words = this.#input.commit();
    const item: Item = {
      id: this.#pending(),
      status: "completed",
      body: { kind: "message", role: "user", sound: true, text: words.join(" "), made_ms: heard_ms, truncated: false },
    };
    this.#pendingId = null;
    this.#wordsSent = 0;
    this.#send({
      type: "input_audio_buffer.committed",
      previous_item_id: this.#conversation.lastId(),
      item_id: item.id,
    });
    this.#added(item, this.#conversation.add(item));
    this.#itemDone(item);
    if (this.#settings.transcription !== null) void this.#transcribe(item.id, words, heard_ms);
  }

  async #transcribe(item_id: string, words: readonly string[], heard_ms: number): Promise<void> {
    try {
      await delay(this.#context.delays.stt_ms, this.#gone.signal);
    } catch {
      return; // Nobody is there to be told.
    }
    const where = { item_id, content_index: 0 };
    const live = this.#settings.purpose === "transcription";
    for (const [index, word] of live ? [] : words.entries())
      this.#send({
        type: "conversation.item.input_audio_transcription.delta",
        ...where,
        delta: index === 0 ? word : ` ${word}`,
      });
    this.#send({
      type: "conversation.item.input_audio_transcription.completed",
      ...where,
      transcript: words.join(" "),
      usage: { type: "duration", seconds: Math.ceil(heard_ms / 1000) },
    });
  }

  #added(item: Item, previous_item_id: string | null): void {
    this.#send({
      type: this.#dialect === "ga" ? "conversation.item.added" : "conversation.item.created",
      previous_item_id,
      item: itemFields(item, this.#dialect),
    });
  }

  #itemDone(item: Item): void {
    if (this.#dialect === "ga")
      this.#send({
        type: "conversation.item.done",
        previous_item_id: this.#conversation.before(item.id),
        item: itemFields(item, this.#dialect),
      });
  }

  #pending(): string {
    this.#pendingId ??= this.#count("item");
    return this.#pendingId;
  }

  #sessionEvent(what: "created" | "updated"): string {
    return `${this.#dialect === "beta" && this.#settings.purpose === "transcription" ? "transcription_session" : "session"}.${what}`;
  }

  #count(prefix: string): string {
    const next = (this.#counts.get(prefix) ?? 0) + 1;
    this.#counts.set(prefix, next);
    return `${prefix}_${String(next).padStart(6, "0")}`;
  }

  #send(event: Fields): void {
    if (!this.#gone.signal.aborted) this.#connection.send(JSON.stringify({ ...event, event_id: this.#count("event") }));
  }
}

function parsed(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    return fieldsOf(value, "event");
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError(400, "We could not parse the JSON of your event.", null, "invalid_json");
  }
}
