import type { StreamDialect } from "../../../shared/contracts/records/stream-dialect.ts";
import type { Frame } from "./leg-socket.ts";
import type { AudioFormat } from "./port.ts";
import { reorderBuffer } from "./reorder-buffer.ts";
import { countAt, formatOf, textAt, valueAt, type FrameReader } from "./stream-frame.ts";

/** What the frames of a carrier say. */
export interface StreamEvents {
  /** The stream is set up; format null: one that is not supported. */
  start(call_id: string, format: AudioFormat | null): void;
  /** Audio of the caller in base64, in order. */
  audio(payload: string): void;
  digit(digit: string): void;
  /** A mark returned. */
  markReturned(name: string): void;
  /** The carrier complains about something we sent. */
  complaint(): void;
  /** The frame is none that the carrier may send. */
  badFrame(): void;
  /** The stream is over. */
  stop(): void;
}

/** Reads and writes the frames of one stream as its dialect says. Frames are written only after `start`. */
export interface StreamCodec {
  read(frame: Frame): void;
  /** Delivers the audio in the reorder buffer: no more audio arrives. */
  flush(): void;
  media(audio: Uint8Array): string;
  mark(name: string): string;
  clear(): string;
  /** Null: the stream has no message that sends DTMF. */
  readonly dtmf: ((digits: string) => string) | null;
}

const PLACEHOLDER = /"\{(stream_id|payload|name|digits|content_type|sample_rate)\}"/;
const INBOUND_TRACKS: readonly unknown[] = [undefined, "inbound", "inbound_track"];

type Known = Readonly<Record<string, string | number>>;

/** Writes a frame of which all values but one are known; takes that one as JSON. */
function frameWriter(template: unknown, known: Known, open: string): (json: string) => string {
  const literals = [""];
  for (const [i, part] of JSON.stringify(template).split(PLACEHOLDER).entries()) {
    if (i % 2 === 1 && part === open) literals.push("");
    else literals.push(`${literals.pop() ?? ""}${i % 2 === 0 ? part : JSON.stringify(known[part] ?? "")}`);
  }
  const [before = "", after, ...more] = literals;
  if (after === undefined) return () => before;
  // the writer of media frames: 50 a second and call
  if (more.length === 0) return (json) => `${before}${json}${after}`;
  return (json) => literals.join(json);
}

/** The base64 of a frame of audio as JSON, without copying the frame. */
const payloadOf = (audio: Uint8Array): string =>
  `"${Buffer.from(audio.buffer, audio.byteOffset, audio.byteLength).toString("base64")}"`;

const noText: FrameReader<string> = () => "";

/** The reader of a `start` frame. */
function startReader({
  receive: { start },
}: StreamDialect): FrameReader<{ call_id: string; stream_id: string; format: AudioFormat | null }> {
  const call_id = start.call_id === null ? noText : textAt(start.call_id);
  const ids = start.stream_id.map(textAt);
  const [encoding, rate, channels] = [textAt(start.encoding), countAt(start.sample_rate), countAt(start.channels)];
  return (frame) => ({
    call_id: call_id(frame),
    stream_id: ids.map((read) => read(frame)).find((id) => id !== "") ?? "",
    format: formatOf(encoding(frame), rate(frame), channels(frame)),
  });
}

/** The writers of the frames we send, once the stream's own values are known. */
function writersOf({ send }: StreamDialect, known: Known) {
  return {
    media: frameWriter(send.media, known, "payload"),
    mark: frameWriter(send.mark, known, "name"),
    clear: frameWriter(send.clear, known, ""),
    dtmf: frameWriter(send.dtmf, known, "digits"),
  };
}

/** The codec of a new stream. */
export function streamCodec(dialect: StreamDialect, events: StreamEvents): StreamCodec {
  const { receive, send, content_types } = dialect;
  const readStart = startReader(dialect);
  const [payload, track] = [textAt(receive.media.payload), valueAt(receive.media.track)];
  const sequence = receive.media.sequence === null ? null : countAt(receive.media.sequence);
  const [markName, digit] = [textAt(receive.mark.name), textAt(receive.dtmf.digit)];
  const audio = reorderBuffer<string>((sound) => events.audio(sound));
  let known: Known = {};
  let write = writersOf(dialect, known);

  const start = (frame: Frame): void => {
    const { call_id, stream_id, format } = readStart(frame);
    const named = format && { content_type: content_types?.[format.codec] ?? "", sample_rate: format.rate };
    known = { ...known, stream_id, ...named };
    write = writersOf(dialect, known);
    events.start(call_id, format);
  };
  const media = (frame: Frame): void => {
    if (INBOUND_TRACKS.includes(track(frame))) audio.push(sequence?.(frame) ?? null, payload(frame));
  };
  const handlers = new Map<unknown, (frame: Frame) => void>([
    ...receive.ignored.map((name) => [name, () => undefined] as const),
    ...receive.error.map((name) => [name, () => events.complaint()] as const),
    ...receive.stop.map((name) => [name, () => events.stop()] as const),
    [receive.start.event, start],
    [receive.media.event, media],
    [receive.mark.event, (frame) => events.markReturned(markName(frame))],
    [receive.dtmf.event, (frame) => events.digit(digit(frame))],
  ]);

  return {
    read(frame) {
      const handle = handlers.get(frame["event"]);
      if (handle) handle(frame);
      else events.badFrame();
    },
    flush: () => audio.flush(),
    media: (sound) => write.media(payloadOf(sound)),
    mark: (name) => write.mark(JSON.stringify(name)),
    clear: () => write.clear(""),
    dtmf: send.dtmf === null ? null : (digits) => write.dtmf(JSON.stringify(digits)),
  };
}
