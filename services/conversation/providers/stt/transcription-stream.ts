import { WebSocket, type RawData } from "ws";
import { isRecord, recordIn, textOf } from "../../../../shared/json.ts";
import { sessionHeaders, socketBase, type ModelAddress } from "../addresses.ts";
import { ModelError } from "../port.ts";
import { BETA_SOUND, gaSound, type Dialect, type RealtimeAudioFormat } from "../realtime/realtime-dialect.ts";
import { wireAudio, type WireAudio } from "../realtime/wire-audio.ts";

/** Options of a session. */
export interface TranscriptionStreamOptions {
  readonly address: ModelAddress;
  readonly dialect: Dialect;
  readonly rate: number;
  readonly language: string;
}
/** What the server sends. */
export interface TranscriptionStreamEvents {
  /** Further words of the current speech. */
  delta(text: string): void;
  /** The text of the audio that was committed. */
  completed(text: string): void;
  /** The session is lost. Comes once and last. */
  failed(error: ModelError): void;
}
const CONNECT_TIMEOUT_MS = 3000;
const MAX_EVENT_BYTES = 1_000_000;
/** Unsent bytes at which the server counts as gone. */
const MAX_UNSENT_BYTES = 2_000_000;
const MAX_QUEUED = 3000;
const TELEPHONE_RATE = 8000;
/** Servers refuse a shorter commit. */
const MIN_COMMIT_MS = 100;
const OPENAI_BASE = "https://api.openai.com/v1";
const TRANSCRIPTION = "conversation.item.input_audio_transcription";
const CODE = /^[a-z0-9_.]{1,60}$/;

/** The error a server reports: its code only, for its message may repeat the key or what was said. */
function serverError(event: Record<string, unknown>, check: string): ModelError {
  const code = isRecord(event["error"]) ? event["error"]["code"] : undefined;
  return new ModelError(
    "MODEL_ERROR",
    `the transcription session failed${typeof code === "string" && CODE.test(code) ? ` (${code})` : ""}; check ${check}`,
    true,
  );
}

function settings(
  { address, language }: TranscriptionStreamOptions,
  dialect: Dialect,
  audio_format: RealtimeAudioFormat,
): object {
  const transcription = { model: address.model, ...(language === "" ? {} : { language }) };
  return dialect === "ga"
    ? {
        type: "session.update",
        session: {
          type: "transcription",
          audio: { input: { format: gaSound(audio_format), transcription, turn_detection: null } },
        },
      }
    : {
        type: "transcription_session.update",
        session: {
          input_audio_format: BETA_SOUND[audio_format],
          input_audio_transcription: transcription,
          turn_detection: null,
        },
      };
}

const connect = ({ address, dialect }: TranscriptionStreamOptions): WebSocket =>
  new WebSocket(`${socketBase(address.base_url ?? OPENAI_BASE)}/realtime?intent=transcription`, {
    handshakeTimeout: CONNECT_TIMEOUT_MS,
    maxPayload: MAX_EVENT_BYTES,
    perMessageDeflate: false,
    headers: sessionHeaders(address.key, dialect),
  });

/** A session with a server that transcribes during speech. Audio appended before it is ready is sent then. */
export class TranscriptionStream {
  readonly #options: TranscriptionStreamOptions;
  readonly #events: TranscriptionStreamEvents;
  readonly #wire: WireAudio;
  readonly #socket: WebSocket;
  /** Events to be sent once the session is ready; null afterwards. */
  #queue: string[] | null = [];
  #over = false;
  #uncommittedBytes = 0;

  constructor(options: TranscriptionStreamOptions, events: TranscriptionStreamEvents) {
    this.#options = options;
    this.#events = events;
    this.#wire = wireAudio({ codec: options.rate === TELEPHONE_RATE ? "pcmu" : "s16le", rate: options.rate });
    this.#socket = connect(options);
    this.#socket.on("message", (data: RawData) => {
      const event = recordIn(Buffer.isBuffer(data) ? data.toString("utf8") : "");
      if (!this.#over && event !== null) this.#receive(event);
    });
    this.#socket.on("error", () => this.#lost());
    this.#socket.on("close", () => this.#lost());
  }

  append(pcm: Int16Array): void {
    if (!this.#over) this.#appendBytes(this.#wire.up(pcm, null));
  }

  commit(): void {
    this.#appendBytes(this.#wire.rest());
    this.#appendBytes(this.#wire.silence(Math.max(0, MIN_COMMIT_MS * this.#wire.bytesPerMs - this.#uncommittedBytes)));
    this.#uncommittedBytes = 0;
    this.#send({ type: "input_audio_buffer.commit" });
  }

  close(): void {
    this.#over = true;
    this.#socket.close();
  }

  #receive(event: Record<string, unknown>): void {
    const type = textOf(event["type"]);
    if (type === "session.created" || type === "transcription_session.created") this.#begin(type);
    else if (type === `${TRANSCRIPTION}.delta`) this.#events.delta(textOf(event["delta"]));
    else if (type === `${TRANSCRIPTION}.completed`) this.#events.completed(textOf(event["transcript"]).trim());
    else if (type === "error" || type === `${TRANSCRIPTION}.failed`)
      this.#fail(serverError(event, this.#options.address.check));
  }

  /** The session exists: sends its settings and what was queued. */
  #begin(type: string): void {
    const queued = this.#queue;
    if (queued === null) return;
    this.#queue = null;
    const dialect = type === "transcription_session.created" ? "beta" : this.#options.dialect;
    this.#send(settings(this.#options, dialect, this.#wire.name));
    for (const text of queued) if (!this.#over) this.#socket.send(text);
  }

  #appendBytes(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#uncommittedBytes += bytes.length;
    const audio = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
    this.#send({ type: "input_audio_buffer.append", audio });
  }

  #send(event: object): void {
    if (this.#over) return;
    const text = JSON.stringify(event);
    if (this.#queue !== null && this.#queue.length < MAX_QUEUED) this.#queue.push(text);
    else if (this.#queue === null && this.#socket.bufferedAmount < MAX_UNSENT_BYTES) this.#socket.send(text);
    else this.#lost();
  }

  #lost(): void {
    const { check } = this.#options.address;
    this.#fail(
      new ModelError("MODEL_ERROR", `the transcription session can't be reached or was cut; check ${check}`, true),
    );
  }

  #fail(error: ModelError): void {
    if (this.#over) return;
    this.#over = true;
    this.#socket.terminate();
    this.#events.failed(error);
  }
}
