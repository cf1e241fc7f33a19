import { WebSocket } from "ws";
import { personOf, type Call } from "../exchange/call.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { SimTime } from "../exchange/simulated-time.ts";
import { FRAME_MS, type SoundFormat } from "./audio-format.ts";
import type { AudioStream } from "./sound-leg.ts";

/** What the application may ask of a stream. */
export type StreamCommand =
  | { do: "sound"; bytes: Buffer }
  | { do: "mark"; name: string }
  | { do: "clear" }
  | { do: "keys"; digits: string };

/** The numbers a message carries: `sequence` counts all but the first greeting, from 1; `chunk` the frames of sound. `ms`: since the stream began. */
export interface Numbers {
  sequence: number;
  chunk: number;
  ms: number;
}

/** A carrier's own words for what goes over a stream's socket. */
export interface StreamDialect {
  readonly id: string;
  readonly url: string;
  /** Sent with the upgrade. */
  readonly headers: Record<string, string>;
  readonly toAgent: SoundFormat;
  readonly fromAgent: SoundFormat;
  /** Marks that a clear threw away are told as if they had been reached. */
  readonly reportsClearedMarks: boolean;
  /** Frames may come in another order, or twice, when a fault asks for it. */
  readonly mayShuffle: boolean;
  /** Before everything else, without a number. */
  greeting(): object | null;
  start(n: Numbers): object;
  /** JSON: there are very many of these. */
  media(payload: string, n: Numbers): string;
  digit(digit: string, n: Numbers): object;
  mark(name: string, n: Numbers): object;
  cleared(n: Numbers): object | null;
  error(description: string, n: Numbers): object | null;
  stop(n: Numbers): object | null;
  /** What a message asks for; a string is what the carrier complains about. */
  read(message: Record<string, unknown>): StreamCommand | string;
}

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
/** A reader that falls further behind loses frames. */
const MAX_UNREAD_BYTES = 1_000_000;
const KEY_TONE_MS = 300;
const EVERY_NTH_TWICE = 10;

/** Runs one stream from connecting to its end. `leave` aborts when the call is over or goes elsewhere. */
export function runStream(
  parts: StreamDeps,
  call: Call,
  words: StreamDialect,
  leave: AbortSignal,
  watcher: StreamWatcher = {},
): Promise<StreamEnd> {
  call.leg.expectAudio();
  return new Promise((resolve) => {
    new StreamSession(parts, call, words, watcher, resolve).open(leave);
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
  #socket: WebSocket | null = null;
  #stream: AudioStream | null = null;
  #openedAt: number | null = null;
  #over = false;
  #release: (() => void)[] = [];
  #sequence = 0;
  #chunk = 0;
  #lostFrames = 0;
  /** A frame that a fault holds back for the next one; undefined: there is no such fault. */
  #held: string | null | undefined;

  constructor(
    parts: StreamDeps,
    call: Call,
    words: StreamDialect,
    watcher: StreamWatcher,
    resolve: (end: StreamEnd) => void,
  ) {
    this.#parts = parts;
    this.#call = call;
    this.#dialect = words;
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

  /** The next message's numbers. */
  #numbers(): Numbers {
    this.#sequence += 1;
    return { sequence: this.#sequence, chunk: this.#chunk, ms: this.#chunk * FRAME_MS };
  }

  #send(message: object | string | null): void {
    const socket = this.#socket;
    if (message === null || socket?.readyState !== WebSocket.OPEN) return;
    socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  #onOpen(): void {
    if (this.#over) return;
    const { faults, time } = this.#parts;
    const person = personOf(this.#call);
    this.#openedAt = performance.now();
    this.#write("stream", { event: "connected" });
    this.#send(this.#dialect.greeting());
    this.#send(this.#dialect.start(this.#numbers()));
    this.#watcher.opened?.();
    if (this.#dialect.mayShuffle && faults.take("shuffle_media", person)) this.#held = null;
    this.#stream = this.#call.leg.attachAudio({
      toAgent: this.#dialect.toAgent,
      fromAgent: this.#dialect.fromAgent,
      frame: (payload) => this.#frame(payload),
      digit: (digit) => this.#send(this.#dialect.digit(digit, this.#numbers())),
      reached: (marks) => this.#sendMarks(marks),
    });
    const drop = faults.take("drop_socket", person);
    if (drop) this.#release.push(time.after(0, () => this.#drop(), drop.seconds * 1000));
  }

  #drop(): void {
    this.#write("stream", { event: "dropped by a fault" });
    this.#socket?.terminate();
  }

  #sendMarks(marks: readonly string[]): void {
    for (const name of marks) this.#send(this.#dialect.mark(name, this.#numbers()));
  }

  #frame(payload: string): void {
    const socket = this.#socket;
    if (!socket || socket.bufferedAmount > MAX_UNREAD_BYTES) {
      this.#lostFrames += 1;
      return;
    }
    this.#chunk += 1;
    const message = this.#dialect.media(payload, this.#numbers());
    if (this.#held === undefined) {
      this.#send(message);
      return;
    }
    if (this.#held === null) {
      this.#held = message;
      return;
    }
    this.#send(message);
    this.#send(this.#held);
    if (this.#chunk % EVERY_NTH_TWICE === 0) this.#send(message);
    this.#held = null;
  }

  #onMessage(data: string | null): void {
    if (this.#over || !this.#stream) return;
    const message = data === null ? null : parsed(data);
    const command = message ? this.#dialect.read(message) : "the message is not a JSON object";
    if (typeof command === "string") {
      this.#write("warning", { message: `stream: ${command}` });
      this.#send(this.#dialect.error(command, this.#numbers()));
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
        this.#send(this.#dialect.cleared(this.#numbers()));
        if (this.#dialect.reportsClearedMarks) this.#sendMarks(marks);
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
    const seconds = this.#openedAt === null ? 0 : (performance.now() - this.#openedAt) / 1000;
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
      frames_lost: this.#lostFrames,
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
    this.#send(this.#dialect.stop(this.#numbers()));
    socket.close(1000);
    const grace = setTimeout(() => socket.terminate(), CLOSE_GRACE_MS);
    socket.once("close", () => clearTimeout(grace));
  }
}
