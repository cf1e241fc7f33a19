import { WebSocket, type RawData } from "ws";
import { linear16, muLaw } from "../../audio/g711.ts";
import { resampler } from "../../audio/resampler.ts";
import { sessionHeaders, socketBase, type ModelAddress } from "../addresses.ts";
import { ModelError } from "../port.ts";

/** Names of the events that are sent; both are understood. */
export type RealtimeDialect = "ga" | "beta";
/** What a session is opened with. */
export interface TranscriptionStreamOptions {
  readonly address: ModelAddress;
  readonly dialect: RealtimeDialect;
  readonly rate: number;
  readonly language: string;
  readonly prompt: string;
}
/** What comes of it. */
export interface TranscriptionStreamEvents {
  /** More words of what is being said. */
  delta(text: string): void;
  /** The words of what was committed. */
  completed(text: string): void;
  /** The line is of no use any more; comes once and last. */
  failed(fault: ModelError): void;
}
/** A session with a server that transcribes while somebody speaks. */
export interface TranscriptionStream {
  append(pcm: Int16Array): void;
  commit(): void;
  close(): void;
}

const CONNECT_TIMEOUT_MS = 3000;
const MAX_EVENT_BYTES = 1_000_000;
/** A server that takes nothing more has lost us. */
const MAX_UNSENT_BYTES = 2_000_000;
const MAX_QUEUED = 3000;
const TELEPHONE_RATE = 8000;
const WIRE_RATE = 24_000;
/** Servers refuse a commit of less. */
const LEAST_COMMIT_MS = 100;
const OPENAI_BASE = "https://api.openai.com/v1";
const TRANSCRIPTION = "conversation.item.input_audio_transcription";
const CODE = /^[a-z0-9_.]{1,60}$/;

/** How sound travels: that of a telephone as it is, all else at the one rate there is. */
function wireOf(rate: number): {
  ga: object;
  beta: string;
  bytesPerMs: number;
  encode(pcm: Int16Array): Uint8Array;
  rest(): Uint8Array;
  silence(bytes: number): Uint8Array;
} {
  if (rate === TELEPHONE_RATE) {
    return {
      ga: { type: "audio/pcmu" },
      beta: "g711_ulaw",
      bytesPerMs: rate / 1000,
      encode: (pcm) => muLaw.encode(pcm),
      rest: () => new Uint8Array(0),
      silence: (bytes) => muLaw.encode(new Int16Array(bytes)),
    };
  }
  const change = resampler(rate, WIRE_RATE);
  return {
    ga: { type: "audio/pcm", rate: WIRE_RATE },
    beta: "pcm16",
    bytesPerMs: (WIRE_RATE * 2) / 1000,
    encode: (pcm) => linear16.encode(change.push(pcm)),
    rest: () => linear16.encode(change.end()),
    silence: (bytes) => new Uint8Array(bytes & ~1),
  };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

function eventOf(data: RawData): Record<string, unknown> | null {
  try {
    const event: unknown = JSON.parse(Buffer.isBuffer(data) ? data.toString("utf8") : "null");
    return isObject(event) ? event : null;
  } catch {
    return null;
  }
}

/** What a server complains about: its code only, for its words may repeat the key or what was said. */
function complaint(event: Record<string, unknown>, check: string): ModelError {
  const code = isObject(event["error"]) ? event["error"]["code"] : undefined;
  return new ModelError(
    "MODEL_ERROR",
    `the transcription session failed${typeof code === "string" && CODE.test(code) ? ` (${code})` : ""}; check ${check}`,
    true,
  );
}

function settings(
  { address, language, prompt }: TranscriptionStreamOptions,
  dialect: RealtimeDialect,
  wire: { ga: object; beta: string },
): object {
  const transcription = {
    model: address.model,
    ...(language === "" ? {} : { language }),
    ...(prompt === "" ? {} : { prompt }),
  };
  return dialect === "ga"
    ? {
        type: "session.update",
        session: { type: "transcription", audio: { input: { format: wire.ga, transcription, turn_detection: null } } },
      }
    : {
        type: "transcription_session.update",
        session: { input_audio_format: wire.beta, input_audio_transcription: transcription, turn_detection: null },
      };
}

const connected = ({ address, dialect }: TranscriptionStreamOptions): WebSocket =>
  new WebSocket(`${socketBase(address.base_url ?? OPENAI_BASE)}/realtime?intent=transcription`, {
    handshakeTimeout: CONNECT_TIMEOUT_MS,
    maxPayload: MAX_EVENT_BYTES,
    perMessageDeflate: false,
    headers: sessionHeaders(address.key, dialect),
  });

/** What an event of the server means. */
function understand(
  event: Record<string, unknown>,
  to: Pick<TranscriptionStreamEvents, "delta" | "completed"> & { stands(type: string): void; complains(): void },
): void {
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  const type = text(event["type"]);
  if (type === "session.created" || type === "transcription_session.created") to.stands(type);
  else if (type === `${TRANSCRIPTION}.delta`) to.delta(text(event["delta"]));
  else if (type === `${TRANSCRIPTION}.completed`) to.completed(text(event["transcript"]).trim());
  else if (type === "error" || type === `${TRANSCRIPTION}.failed`) to.complains();
}

/** Opens a session; what is appended before it stands is sent then. */
export function openTranscriptionStream(
  options: TranscriptionStreamOptions,
  events: TranscriptionStreamEvents,
): TranscriptionStream {
  const { address, dialect, rate } = options;
  const wire = wireOf(rate);
  const socket = connected(options);
  /** Until the session stands; null afterwards. */
  let queue: string[] | null = [];
  let over = false;
  let uncommitted = 0;

  const fail = (fault: ModelError): void => {
    if (over) return;
    over = true;
    socket.terminate();
    events.failed(fault);
  };
  const lost = (): void =>
    fail(
      new ModelError(
        "MODEL_ERROR",
        `the transcription session can't be reached or was cut; check ${address.check}`,
        true,
      ),
    );
  const send = (event: object): void => {
    if (over) return;
    const text = JSON.stringify(event);
    if (queue !== null && queue.length < MAX_QUEUED) queue.push(text);
    else if (queue === null && socket.bufferedAmount < MAX_UNSENT_BYTES) socket.send(text);
    else lost();
  };
  const appendBytes = (bytes: Uint8Array): void => {
    if (bytes.length === 0) return;
    uncommitted += bytes.length;
    send({
      type: "input_audio_buffer.append",
      audio: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
    });
  };
  const stands = (type: string): void => {
    const waiting = queue ?? [];
    if (queue === null) return;
    queue = null;
    send(settings(options, type === "transcription_session.created" ? "beta" : dialect, wire));
    for (const text of waiting) if (!over) socket.send(text);
  };

  socket.on("message", (data: RawData) => {
    const event = eventOf(data);
    if (over || event === null) return;
    understand(event, {
      stands,
      delta: events.delta,
      completed: events.completed,
      complains: () => fail(complaint(event, address.check)),
    });
  });
  socket.on("error", lost);
  socket.on("close", lost);

  return {
    append: (pcm) => {
      if (!over) appendBytes(wire.encode(pcm));
    },
    commit() {
      appendBytes(wire.rest());
      appendBytes(wire.silence(Math.max(0, LEAST_COMMIT_MS * wire.bytesPerMs - uncommitted)));
      uncommitted = 0;
      send({ type: "input_audio_buffer.commit" });
    },
    close() {
      over = true;
      socket.close();
    },
  };
}
