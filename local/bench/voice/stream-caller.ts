import { WebSocket, type RawData } from "ws";
import { createDecoder, type Decoder } from "../../speech/modem.ts";
import { arrivals, type Arrivals } from "./frame-arrivals.ts";
import { FRAME_MS, type FrameTicker } from "./frame-clock.ts";
import { sessionSocket } from "./sessions/session-socket.ts";
import type { StreamSocket } from "./sessions/session-sound.ts";
import { quietLine, samplesOf, STREAM_SID, type Sound } from "./sounds.ts";

const TELEPHONE_RATE = 8000;
const CLOSE_MS = 5000;
const CONNECT_MS = 10_000;
/** The longest wait in a call; a bench that waits longer fails and names what it waited for. */
const MOST_MS = 60_000;
/** Where the kind of a message stands out: {"event":"m… */
const KIND_AT = 10;
const [M, E] = [0x6d, 0x65];

/** The carrier ends the stream in order; resolves once the socket is closed, which is cut where that takes longer than CLOSE_MS. */
export async function endStream(socket: StreamSocket): Promise<void> {
  if (socket.readyState === WebSocket.CLOSED) return;
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
  });
  const stop = { accountSid: "AC0", callSid: "CA0" };
  socket.send(JSON.stringify({ event: "stop", sequenceNumber: "3", streamSid: STREAM_SID, stop }));
  socket.close(1000);
  const late = setTimeout(() => socket.terminate(), CLOSE_MS);
  await closed;
  clearTimeout(late);
}

/** When a sound set in and ended, on performance.now's clock: a frame leaves when its last sample was spoken. */
export interface Said {
  onset: number;
  end: number;
}

/** The carrier's end of one stream in Twilio's dialect: it sends a frame every 20 ms whatever happens, plays what comes at the same pace, and notes the moments. */
export interface StreamCaller {
  /** The person makes a sound; resolves when its last frame has been sent. */
  say(sound: Sound): Promise<Said>;
  /** The instant of the first frame that comes after this one. */
  firstFrame(after: number): Promise<number>;
  /** The instant of the next clear. */
  cleared(): Promise<number>;
  /** Resolves once nothing has waited to be played for so long. */
  silentFor(ms: number): Promise<void>;
  /** Resolves when the agent has been heard for so long since it last fell silent. */
  hearsFor(ms: number): Promise<void>;
  /** When frames came, utterance by utterance. */
  readonly arrivals: Arrivals;
  /** What the person heard; only of those who listen. */
  heard(): string;
  /** Milliseconds of the agent's sound that were played, and of all. */
  readonly played_ms: number;
  readonly lived_ms: number;
  /** Neither side has ended the call. */
  readonly isOpen: boolean;
  hangUp(): Promise<void>;
}

/** What is waited for, or an error that names it. */
function inTime<T>(what: string, begin: (done: (value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`waited ${MOST_MS / 1000} s in vain for ${what}`)), MOST_MS);
    begin((value) => {
      clearTimeout(late);
      resolve(value);
    });
  });
}

interface Watch {
  met(now: number): boolean;
  done(now: number): void;
}

/** How a call comes about. `url`: of a carrier's stream, or with "#" and its token of a session. `listens`: what is played is decoded (costs more than all the rest). */
export interface CallerOptions {
  url: string;
  ticker: FrameTicker;
  listens: boolean;
}

class Caller implements StreamCaller {
  readonly arrivals = arrivals();
  played_ms = 0;
  lived_ms = 0;
  readonly #socket: StreamSocket;
  readonly #ticker: FrameTicker;
  readonly #leave: () => void;
  readonly #words: string[] = [];
  readonly #ear: Decoder | null;
  #quiet = Math.floor(Math.random() * quietLine.length);
  #mouth: { sound: Sound; at: number; onset: number; done(said: Said): void } | null = null;
  /** What is to be played: sound ("" where the caller does not listen), and marks. */
  #queue: (string | { mark: string })[] = [];
  #silentSince = performance.now();
  #soundSince: number | null = null;
  #watches: Watch[] = [];
  #clears: ((now: number) => void)[] = [];
  #firsts: { after: number; done(now: number): void }[] = [];

  constructor(socket: StreamSocket, { ticker, listens }: CallerOptions) {
    this.#socket = socket;
    this.#ticker = ticker;
    this.#ear = listens ? createDecoder(TELEPHONE_RATE, { heard: (word) => this.#words.push(word) }) : null;
    socket.on("message", (data: RawData) => {
      if (Buffer.isBuffer(data)) this.#take(data);
    });
    socket.send(`{"event":"connected","protocol":"Call","version":"1.0.0"}`);
    socket.send(
      JSON.stringify({
        event: "start",
        sequenceNumber: "1",
        streamSid: STREAM_SID,
        start: {
          accountSid: "AC0",
          streamSid: STREAM_SID,
          callSid: "CA0",
          tracks: ["inbound"],
          customParameters: {},
          mediaFormat: { encoding: "audio/x-mulaw", sampleRate: TELEPHONE_RATE, channels: 1 },
        },
      }),
    );
    this.#leave = ticker.join((due) => this.#tick(due));
  }

  say(sound: Sound): Promise<Said> {
    return inTime("a sound to be sent", (done) => {
      this.#mouth = { sound, at: 0, onset: 0, done };
    });
  }

  firstFrame(after: number): Promise<number> {
    return new Promise((done) => {
      this.#firsts.push({ after, done });
    });
  }

  cleared(): Promise<number> {
    return new Promise((done) => {
      this.#clears.push(done);
    });
  }

  silentFor(ms: number): Promise<void> {
    const met = (now: number): boolean =>
      this.#queue.length === 0 && this.#soundSince === null && now - this.#silentSince >= ms;
    return inTime<void>("the agent to fall silent", (done) => {
      this.#watches.push({ met, done: () => done() });
    });
  }

  hearsFor(ms: number): Promise<void> {
    return inTime<void>("the agent to be heard", (done) => {
      this.#watches.push({
        met: (now) => this.#soundSince !== null && now - this.#soundSince >= ms,
        done: () => done(),
      });
    });
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  heard(): string {
    return this.#words.join(" ");
  }

  async hangUp(): Promise<void> {
    this.#leave();
    await endStream(this.#socket);
  }

  #tick(due: number): void {
    this.lived_ms += FRAME_MS;
    this.#speak(due);
    this.#play(due);
    const now = performance.now();
    if (this.#watches.length > 0)
      this.#watches = this.#watches.filter((w) => {
        if (w.met(now)) w.done(now);
        else return true;
        return false;
      });
  }

  #speak(due: number): void {
    const mouth = this.#mouth;
    const message = mouth ? mouth.sound.messages[mouth.at++] : quietLine[this.#quiet++ % quietLine.length];
    if (message) this.#socket.send(message, { binary: false });
    if (!mouth) return;
    if (mouth.at === 1) mouth.onset = due - FRAME_MS + mouth.sound.onset_ms;
    if (mouth.at < mouth.sound.messages.length) return;
    this.#mouth = null;
    mouth.done({ onset: mouth.onset, end: due - FRAME_MS + mouth.sound.end_ms });
  }

  #play(now: number): void {
    for (let first = this.#queue[0]; typeof first === "object"; first = this.#queue[0]) {
      this.#queue.shift();
      this.#socket.send(
        JSON.stringify({ event: "mark", sequenceNumber: "4", streamSid: STREAM_SID, mark: { name: first.mark } }),
      );
    }
    const frame = this.#queue.shift();
    if (typeof frame !== "string") {
      if (this.#soundSince !== null) {
        this.#soundSince = null;
        this.#silentSince = now;
      }
      this.#ear?.push(SILENCE);
      return;
    }
    this.#soundSince ??= now;
    this.played_ms += FRAME_MS;
    this.#ear?.push(samplesOf(frame));
  }

  #take(data: Buffer): void {
    const now = performance.now();
    if (data[KIND_AT] === M && data[KIND_AT + 1] === E) {
      this.arrivals.frame(now, !this.#ticker.behind);
      this.#queue.push(this.#ear ? payloadOf(data) : "");
      if (this.#firsts.length > 0)
        this.#firsts = this.#firsts.filter(({ after, done }) => {
          if (now < after) return true;
          done(now);
          return false;
        });
    } else if (data[KIND_AT] === M) {
      this.arrivals.ends();
      this.#queue.push({ mark: markOf(data) });
    } else {
      this.arrivals.ends();
      const marks = this.#queue.filter((piece) => typeof piece === "object");
      this.#queue = [];
      for (const { mark } of marks)
        this.#socket.send(
          JSON.stringify({ event: "mark", sequenceNumber: "4", streamSid: STREAM_SID, mark: { name: mark } }),
        );
      for (const done of this.#clears.splice(0)) done(now);
    }
  }
}

const SILENCE = new Int16Array((TELEPHONE_RATE * FRAME_MS) / 1000);

function payloadOf(data: Buffer): string {
  const { media } = JSON.parse(data.toString()) as { media?: { payload?: string } };
  return media?.payload ?? "";
}

function markOf(data: Buffer): string {
  const { mark } = JSON.parse(data.toString()) as { mark?: { name?: string } };
  return mark?.name ?? "";
}

/** Answers the phone: the stream is connected. */
export async function streamCaller(options: CallerOptions): Promise<StreamCaller> {
  if (options.url.includes("#")) return new Caller(await sessionSocket(options.url, options.listens), options);
  const socket = new WebSocket(options.url, {
    handshakeTimeout: CONNECT_MS,
    headers: { "x-twilio-signature": "bench" },
    perMessageDeflate: false,
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => socket.terminate());
  return new Caller(socket, options);
}
