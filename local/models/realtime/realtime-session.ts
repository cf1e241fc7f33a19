import { ServerEvents, type Fields, type RealtimeConnection } from "./server-events.ts";
import { delay } from "../api/delays.ts";
import { errorType } from "../api/json-http.ts";
import { ApiError } from "../api/chat-request.ts";
import type { RequestContext } from "../api/request-context.ts";
import { SpeechInput } from "./turn-detection.ts";
import { Conversation, itemFields, readItem, type Item } from "./conversation-items.ts";
import { ResponseQueue } from "./response-queue.ts";
import { described, fieldsOf, updated, type Dialect, type Settings } from "./session-settings.ts";

/** One realtime session: events of the client in, events of the server out. Ids are counted, so that the same conversation reads the same. */

const LEAST_COMMIT_MS = 100;

/** A session on a connection. */
export class RealtimeSession {
  readonly #events: ServerEvents;
  readonly #dialect: Dialect;
  readonly #id: string;
  readonly #context: RequestContext;
  readonly #conversation = new Conversation();
  readonly #responses: ResponseQueue;
  readonly #input: SpeechInput;
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
    this.#events = new ServerEvents(o.line, o.dialect);
    this.#dialect = o.dialect;
    this.#id = o.id;
    this.#context = o.context;
    this.#settings = o.settings;
    this.#responses = new ResponseQueue(
      {
        dialect: o.dialect,
        conversation: this.#conversation,
        delays: o.context.delays,
        clock: o.context.clock,
        send: (event) => this.#events.send(event),
        itemId: () => this.#events.nextId("item"),
        added: (item, previous) => this.#events.itemAdded(item, previous),
        cut: () => o.line.cut(),
      },
      o.context,
      () => this.#events.nextId("resp"),
    );
    this.#input = new SpeechInput(o.settings, {
      started: (at) => this.#started(at),
      stopped: (at) => this.#stopped(at),
      word: (word) => this.#word(word),
    });
    this.#events.send({ type: this.#sessionEvent("created"), session: described(this.#settings, o.id, o.dialect) });
  }

  /** Takes an event of the client; what is wrong with it is sent as an error event. */
  receive(text: string): void {
    let event: Fields = {};
    try {
      event = parsed(text);
      this.#take(event);
    } catch (error) {
      if (!(error instanceof ApiError)) console.error(error);
      this.#events.send(errorEvent(error, event["event_id"] ?? null));
    }
  }

  /** The connection is gone. */
  closed(): void {
    this.#events.close();
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
        if (this.#input.buffered_ms < LEAST_COMMIT_MS) throw bufferTooSmall(this.#input.buffered_ms);
        return this.#commit();
      case "input_audio_buffer.clear":
        this.#input.clear();
        this.#pendingId = null;
        return this.#events.send({ type: "input_audio_buffer.cleared" });
      case "conversation.item.create": {
        const item = readItem(event["item"], () => this.#events.nextId("item"), this.#conversation);
        const after = event["previous_item_id"];
        this.#events.itemAdded(item, this.#conversation.add(item, typeof after === "string" ? after : null));
        return this.#events.itemDone(item, this.#conversation.before(item.id));
      }
      case "conversation.item.retrieve":
        return this.#events.send({
          type: "conversation.item.retrieved",
          item: itemFields(this.#conversation.get(event["item_id"]), this.#dialect),
        });
      case "conversation.item.delete":
        this.#conversation.delete(event["item_id"]);
        return this.#events.send({ type: "conversation.item.deleted", item_id: event["item_id"] });
      case "conversation.item.truncate": {
        const audio_end_ms = this.#conversation.truncate(event["item_id"], event["audio_end_ms"]);
        return this.#events.send({
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
    this.#events.send({
      type: this.#sessionEvent("updated"),
      session: described(this.#settings, this.#id, this.#dialect),
    });
  }

  #append(audio: unknown): void {
    if (typeof audio !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(audio))
      throw new ApiError(400, "Invalid 'audio': expected base64.", "audio", "invalid_value");
    this.#input.push(Buffer.from(audio, "base64"));
  }

  #started(at_ms: number): void {
    this.#events.send({ type: "input_audio_buffer.speech_started", audio_start_ms: at_ms, item_id: this.#pending() });
    if (this.#settings.detection?.interrupt_response === true) this.#responses.cancel("turn_detected");
  }

  #stopped(at_ms: number): void {
    this.#events.send({ type: "input_audio_buffer.speech_stopped", audio_end_ms: at_ms, item_id: this.#pending() });
    this.#commit();
    if (this.#settings.purpose === "transcription" || this.#settings.detection?.create_response !== true) return;
    if (!this.#responses.active) return this.#responses.create(this.#settings, {});
    if (this.#settings.detection.interrupt_response) void this.#answerNext();
  }

  /** A cancelled answer still tells its end; then the next one begins. */
  async #answerNext(): Promise<void> {
    await this.#responses.over;
    if (!this.#responses.active && !this.#events.gone.aborted) this.#responses.create(this.#settings, {});
  }

  #word(word: string): void {
    if (this.#settings.purpose !== "transcription") return;
    this.#events.wordDelta(this.#pending(), word, this.#wordsSent === 0);
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
    this.#events.send({
      type: "input_audio_buffer.committed",
      previous_item_id: this.#conversation.lastId(),
      item_id: item.id,
    });
    this.#events.itemAdded(item, this.#conversation.add(item));
    this.#events.itemDone(item, this.#conversation.before(item.id));
    if (this.#settings.transcription !== null) void this.#transcribe(item.id, words, heard_ms);
  }

  async #transcribe(item_id: string, words: readonly string[], heard_ms: number): Promise<void> {
    try {
      await delay(this.#context.clock, this.#context.delays.stt_ms, this.#events.gone);
    } catch {
      return; // the connection is gone
    }
    if (this.#settings.purpose !== "transcription")
      for (const [index, word] of words.entries()) this.#events.wordDelta(item_id, word, index === 0);
    this.#events.transcript(item_id, words, heard_ms);
  }

  #pending(): string {
    this.#pendingId ??= this.#events.nextId("item");
    return this.#pendingId;
  }

  #sessionEvent(what: "created" | "updated"): string {
    return `${this.#dialect === "beta" && this.#settings.purpose === "transcription" ? "transcription_session" : "session"}.${what}`;
  }
}

function errorEvent(error: unknown, event_id: unknown): Fields {
  const { status, code, message, param } =
    error instanceof ApiError
      ? error
      : new ApiError(500, "The model simulator failed on this event.", null, "server_error");
  return { type: "error", error: { type: errorType(status), code, message, param, event_id } };
}

function bufferTooSmall(ms: number): ApiError {
  const message = `Error committing input audio buffer: buffer too small. Expected at least ${LEAST_COMMIT_MS}ms of audio, but buffer only has ${ms.toFixed(2)}ms of audio.`;
  return new ApiError(400, message, null, "input_audio_buffer_commit_empty");
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
