import { WebSocket } from "ws";
import { personOf, type Call } from "../exchange/call.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { SimTime } from "../exchange/simulated-time.ts";
import { StreamSender } from "./stream-sender.ts";
import type { AudioStream } from "./sound-leg.ts";
import type { StreamDialect, StreamCommand } from "./stream-dialect.ts";

/** How a stream ended. */
export interface StreamEnd {
  /** completed: the call ended or went elsewhere; ended: the application closed; failed: the socket failed or never opened. */
  status: "completed" | "ended" | "failed";
  opened: boolean;
  seconds: number;
  error?: string;
}

/** What a session stands on. */
export interface StreamDeps {
  time: SimTime;
  ledger: Ledger;
  faults: Faults;
}

/** Told of the stream's steps. */
export interface StreamWatcher {
  opened?(): void;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** The other side gets this long to answer the closing of the socket. */
const CLOSE_GRACE_MS = 1_000;
/** A message may hold thirty seconds of the widest sound. */
const MAX_FRAME_BYTES = 8_000_000;
const KEY_TONE_MS = 300;

/** Runs one stream from connecting to its end. `leave` aborts when the call is over or goes elsewhere. */
export function runStream(
  parts: StreamDeps,
  call: Call,
  dialect: StreamDialect,
  leave: AbortSignal,
  watcher: StreamWatcher = {},
): Promise<StreamEnd> {
  call.leg.expectAudio();
  return new Promise((resolve) => {
    new StreamSession(parts, call, dialect, watcher, resolve).open(leave);
  });
}

function parsed(data: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}

class StreamSession {
  readonly #parts: StreamDeps;
  readonly #call: Call;
  readonly #dialect: StreamDialect;
  readonly #watcher: StreamWatcher;
  readonly #resolve: (end: StreamEnd) => void;
  readonly #sender: StreamSender;
  #socket: WebSocket | null = null;
  #stream: AudioStream | null = null;
  #openedAt: number | null = null;
  #over = false;
  #release: (() => void)[] = [];

  constructor(
    parts: StreamDeps,
    call: Call,
    dialect: StreamDialect,
    watcher: StreamWatcher,
    resolve: (end: StreamEnd) => void,
  ) {
    this.#parts = parts;
    this.#call = call;
    this.#dialect = dialect;
    this.#sender = new StreamSender(dialect);
    this.#watcher = watcher;
    this.#resolve = resolve;
  }

  open(leave: AbortSignal): void {
    const onLeave = (): void => this.#finish("completed");
    leave.addEventListener("abort", onLeave, { once: true });
    this.#release.push(() => leave.removeEventListener("abort", onLeave));
    if (leave.aborted) {
      onLeave();
      return;
    }
    const hang = this.#parts.faults.take("hang_socket", personOf(this.#call));
    if (!hang) {
      this.#connect();
      return;
    }
    this.#write("stream", { event: "held back by a fault" });
    this.#release.push(this.#parts.time.after(0, () => this.#connect(), hang.seconds * 1000));
  }

  #connect(): void {
    const { url, headers } = this.#dialect;
    const socket = new WebSocket(url, {
      headers,
      handshakeTimeout: CONNECT_TIMEOUT_MS,
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
    });
    this.#socket = socket;
    this.#sender.use(socket);
    socket.on("open", () => this.#onOpen());
    socket.on("message", (data, isBinary) => this.#onMessage(isBinary ? null : String(data)));
    socket.on("close", (code) => this.#onClose(code));
    socket.on("error", (error) => {
      if (this.#openedAt === null) this.#finish("failed", `cannot connect to the stream's URL: ${error.message}`);
    });
  }

  #write(kind: "stream" | "warning", facts: Record<string, unknown>): void {
    const { sid, to, from } = this.#call.order;
    this.#parts.ledger.write({ kind, call_sid: sid, to, from, stream_id: this.#dialect.id, ...facts });
  }

  #onOpen(): void {
    if (this.#over) return;
    const { faults, time } = this.#parts;
    const person = personOf(this.#call);
    this.#openedAt = time.clock.monotonicMs();
    this.#write("stream", { event: "connected" });
    this.#sender.send(this.#dialect.greeting());
    this.#sender.send(this.#dialect.start(this.#sender.numbers()));
    this.#watcher.opened?.();
    if (this.#dialect.mayShuffle && faults.take("shuffle_media", person)) this.#sender.shuffle();
    this.#stream = this.#call.leg.attachAudio({
      toAgent: this.#dialect.toAgent,
      fromAgent: this.#dialect.fromAgent,
      frame: (payload) => this.#sender.frame(payload),
      digit: (digit) => this.#sender.send(this.#dialect.digit(digit, this.#sender.numbers())),
      reached: (marks) => this.#sender.marks(marks),
    });
    const drop = faults.take("drop_socket", person);
    if (drop) this.#release.push(time.after(0, () => this.#drop(), drop.seconds * 1000));
  }

  #drop(): void {
    this.#write("stream", { event: "dropped by a fault" });
    this.#socket?.terminate();
  }

  #onMessage(data: string | null): void {
    if (this.#over || !this.#stream) return;
    const message = data === null ? null : parsed(data);
    const command = message ? this.#dialect.read(message) : "the message is not a JSON object";
    if (typeof command === "string") {
      this.#write("warning", { message: `stream: ${command}` });
      this.#sender.send(this.#dialect.error(command, this.#sender.numbers()));
    } else this.#apply(command, this.#stream);
  }

  #apply(command: StreamCommand, stream: AudioStream): void {
    switch (command.do) {
      case "sound":
        if (!stream.push(command.bytes))
          this.#write("warning", { message: "stream: too much sound is waiting, some is thrown away" });
        return;
      case "mark":
        stream.mark(command.name);
        return;
      case "keys":
        this.#call.leg.voice.play(`keys:${command.digits}`, command.digits.length * KEY_TONE_MS, {
          interruptible: false,
        });
        return;
      case "clear": {
        const { marks, ...facts } = stream.clear();
        this.#write("stream", { event: "clear", ...facts });
        this.#sender.send(this.#dialect.cleared(this.#sender.numbers()));
        if (this.#dialect.reportsClearedMarks) this.#sender.marks(marks);
      }
    }
  }

  #onClose(code: number): void {
    if (this.#openedAt === null) this.#finish("failed", `the socket closed with code ${code} before it was open`);
    else if (code === 1000 || code === 1005) this.#finish("ended");
    else this.#finish("failed", `the socket ended with code ${code}`);
  }

  #finish(status: StreamEnd["status"], error?: string): void {
    if (this.#over) return;
    this.#over = true;
    for (const release of this.#release) release();
    const facts = this.#stream?.facts();
    this.#stream?.leave();
    this.#shut();
    const { clock } = this.#parts.time;
    const seconds = this.#openedAt === null ? 0 : (clock.monotonicMs() - this.#openedAt) / 1000;
    const { frames, clears, gap_ms, underruns, underrun_ms, played_ms, frames_to_agent, voiced_ms } = facts ?? {
      frames: 0,
      clears: 0,
      gap_ms: 0,
      underruns: 0,
      underrun_ms: 0,
      played_ms: 0,
      frames_to_agent: 0,
      voiced_ms: 0,
    };
    this.#write("stream", {
      event: "closed",
      status,
      frames_from_agent: frames,
      frames_to_agent,
      frames_lost: this.#sender.lostFrames,
      gap_ms,
      underruns,
      underrun_ms,
      clears,
      played_ms,
      voiced_ms,
      seconds: Math.round(seconds * 10) / 10,
      ...(error === undefined ? {} : { error }),
    });
    this.#resolve({
      status,
      opened: this.#openedAt !== null,
      seconds: Math.round(seconds),
      ...(error === undefined ? {} : { error }),
    });
  }

  #shut(): void {
    const socket = this.#socket;
    if (!socket) return;
    if (this.#call.endedBy === "carrier" || socket.readyState !== WebSocket.OPEN) {
      socket.terminate();
      return;
    } // the line went dead
    this.#sender.send(this.#dialect.stop(this.#sender.numbers()));
    socket.close(1000);
    const grace = setTimeout(() => socket.terminate(), CLOSE_GRACE_MS);
    socket.once("close", () => clearTimeout(grace));
  }
}
