import type { StreamDialect } from "../../../shared/contracts/records/stream-dialect.ts";
import type { MediaEnd } from "../../../shared/hangup-source.ts";
import { eventBuffer } from "./event-buffer.ts";
import { endOfSocket, NORMAL_CLOSURE, parseFrame, sendFrame, type LegSocket } from "./leg-socket.ts";
import type { AudioFormat, MediaLeg, MediaLegEvents } from "./port.ts";
import { streamCodec, type StreamCodec, type StreamEvents } from "./stream-codec.ts";

/** Marks in flight; a further one counts as not played at once. */
const MAX_MARKS = 1000;
const UNSUPPORTED_DATA = 1003;
const DTMF_KEY = /^[0-9*#A-D]$/i;

/** A leg over a carrier's stream of JSON frames with audio. `dialect`: how the stream speaks; null: the carrier has none, and whatever comes is refused. */
export class StreamLeg implements MediaLeg, StreamEvents {
  readonly sendDtmf?: (digits: string) => void;
  readonly #socket: LegSocket;
  readonly #codec: StreamCodec | null;
  readonly #returnsClearedMarks: boolean;
  readonly #events = eventBuffer<MediaLegEvents>();
  #format: AudioFormat | null = null;
  #closing = false;
  /** We cut the socket ourselves. */
  #cut = false;
  #badFrameReported = false;
  /** Marks that have not returned; true: cleared since. */
  readonly #marks = new Map<string, boolean>();

  constructor(socket: LegSocket, dialect: StreamDialect | null) {
    this.#socket = socket;
    this.#codec = dialect && streamCodec(dialect, this);
    this.#returnsClearedMarks = dialect?.returns_cleared_marks ?? false;
    const dtmf = this.#codec?.dtmf;
    if (dtmf) this.sendDtmf = (digits) => this.#send(() => dtmf(digits));
    socket.on("message", (data, isBinary) => {
      if (!this.#closing && this.#events.isOpen()) this.#read(isBinary ? null : data.toString());
    });
    socket.on("error", () => socket.terminate());
    socket.on("close", (code) => this.#closed(this.#cut ? "closed" : endOfSocket(code)));
  }

  listen(events: MediaLegEvents): void {
    this.#events.listen(events);
  }

  write(frame: Uint8Array): void {
    this.#send((codec) => codec.media(frame));
  }

  mark(name: string): void {
    if (!this.#format || this.#closing) return;
    if (this.#marks.size >= MAX_MARKS) {
      this.badFrame();
      this.#events.emit((e) => e.mark(name, "cleared"));
      return;
    }
    this.#marks.set(name, false);
    this.#send((codec) => codec.mark(name));
  }

  clear(): void {
    this.#send((codec) => codec.clear());
    const pending = [...this.#marks.keys()];
    if (this.#returnsClearedMarks) {
      for (const name of pending) this.#marks.set(name, true);
      return;
    }
    this.#marks.clear();
    for (const name of pending) this.#events.emit((e) => e.mark(name, "cleared"));
  }

  close(): void {
    this.#cut = this.#closing;
    if (this.#cut) this.#socket.terminate();
    else this.#socket.close(NORMAL_CLOSURE);
    this.#closing = true;
  }

  start(call_id: string, format: AudioFormat | null): void {
    if (this.#format) return;
    if (!format) {
      this.#refuse("MEDIA_FORMAT_UNKNOWN");
      return;
    }
    this.#format = format;
    this.#events.emit((e) => e.ready(call_id === "" ? null : call_id, format));
  }

  audio(payload: string): void {
    if (!this.#format) return;
    const bytes = Buffer.from(payload, "base64");
    if (bytes.length === 0 || (this.#format.codec === "s16le" && bytes.length % 2 !== 0)) {
      this.badFrame();
      return;
    }
    this.#events.emit((e) => e.audio(bytes));
  }

  digit(digit: string): void {
    if (DTMF_KEY.test(digit)) this.#events.emit((e) => e.digit(digit));
    else this.badFrame();
  }

  markReturned(name: string): void {
    const cleared = this.#marks.get(name);
    if (cleared === undefined) return; // never sent, or reported already
    this.#marks.delete(name);
    this.#events.emit((e) => e.mark(name, cleared ? "cleared" : "played"));
  }

  complaint(): void {
    this.#events.emit((e) => e.fault());
  }

  /** Reported once a call: a carrier that gets one frame wrong gets them all wrong. */
  badFrame(): void {
    if (this.#badFrameReported) return;
    this.#badFrameReported = true;
    this.complaint();
  }

  stop(): void {
    this.#closed("closed");
    if (!this.#closing) this.close();
  }

  #read(message: string | null): void {
    const frame = message === null ? null : parseFrame(message);
    if (!frame) this.badFrame();
    else if (this.#codec) this.#codec.read(frame);
    else this.#refuse("MEDIA_UNEXPECTED");
  }

  #refuse(code: string): void {
    this.#closing = true;
    this.#events.emit((e) => e.refused(code));
    this.#socket.close(UNSUPPORTED_DATA);
  }

  #closed(how: MediaEnd): void {
    if (!this.#closing) this.#codec?.flush();
    this.#marks.clear();
    this.#events.close(how);
  }

  #send(frame: (codec: StreamCodec) => string): void {
    const codec = this.#codec;
    if (codec && this.#events.isOpen() && !this.#closing && this.#format) sendFrame(this.#socket, frame(codec));
  }
}
