import { WebSocket, type RawData } from "ws";
import { g711Decode, g711Encode } from "../../speech/g711.ts";
import { noiseFrom } from "../../speech/noises.ts";
import { STREAM_SID } from "../voice/sounds.ts";
import { endStream } from "../voice/stream-caller.ts";
import { mixed } from "./levels.ts";
import type { Utterance } from "./told-ear.ts";

const RATE = 8000;
const FRAME_MS = 20;
const FRAME = (RATE * FRAME_MS) / 1000;
const CONNECT_MS = 30_000;
/** A quieter frame of the agent's is no sound. */
const AUDIBLE = 200;
/** After a longer standstill of this process the missed frames are made up for, as carriers do. */
const SILENCE = new Int16Array(FRAME);

/** What a line does to sound. Times in milliseconds of the line, levels in dB. */
export interface LineFeatures {
  /** What is heard beside the caller, from the first frame on; it begins anew at its end. */
  background: Int16Array;
  /** The agent's voice comes back, so much quieter and so much later. */
  echo?: { level_db: number; delay_ms: number };
  /** Frames are late by up to so much; their order stays. */
  jitter_ms?: number;
  /** The share of frames that is missing, or comes as silence. */
  loss?: { share: number; as: "missing" | "silence" };
}

/** When a sound set in and ended, on the line's clock. */
export interface Spoke {
  onset: number;
  end: number;
}

/** Lines run on this clock: `slow` 3 means that a second of the line takes three, so that a busy machine keeps up. */
export interface LineClock {
  readonly slow: number;
  now(): number;
  wait(ms: number): Promise<void>;
}

/** A clock that begins now. */
export function lineClock(slow: number): LineClock {
  const began = performance.now();
  return {
    slow,
    now: () => (performance.now() - began) / slow,
    wait: (ms) =>
      new Promise((resolve) => {
        setTimeout(resolve, ms * slow);
      }),
  };
}

const base64 = (pcm: Int16Array): string => Buffer.from(g711Encode("pcmu", pcm)).toString("base64");
const media = (pcm: Int16Array): string =>
  `{"event":"media","sequenceNumber":"2","media":{"track":"inbound","chunk":"1","timestamp":"0","payload":"${base64(pcm)}"},"streamSid":"${STREAM_SID}"}`;
const isSound = (pcm: Int16Array): boolean => pcm.some((v) => Math.abs(v) > AUDIBLE);

/** The carrier's end of a Twilio stream with a person, a room and a network on it. It keeps all that was sent and heard, sample by sample. */
export class SpeechLine {
  /** Instants at which a frame with sound came, and at which our queue was cleared. */
  readonly cameAt: number[] = [];
  readonly clearedAt: number[] = [];
  /** What the person said and says, in samples of what was sent. */
  readonly utterances: Utterance[] = [];
  /** When the agent closed the leg; null: it did not. */
  closedAt: number | null = null;
  readonly #socket: WebSocket;
  readonly #clock: LineClock;
  readonly #features: LineFeatures;
  readonly #chance: () => number;
  readonly #sent: Int16Array[] = [];
  /** What was played, frame by frame; null: nothing was there to be played. */
  readonly #heard: (Int16Array | null)[] = [];
  readonly #began: number;
  #queue: (Int16Array | string)[] = [];
  #mouth: { pcm: Int16Array; said: readonly Utterance[]; at: number; onset: number; done(spoke: Spoke): void } | null =
    null;
  #lastSoundAt: number;
  #onWay: { due: number; text: string }[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(socket: WebSocket, clock: LineClock, features: LineFeatures, seed: number) {
    this.#socket = socket;
    this.#clock = clock;
    this.#features = features;
    this.#chance = noiseFrom(seed);
    this.#began = clock.now();
    this.#lastSoundAt = this.#began;
    socket.on("message", (data: RawData) => {
      if (Buffer.isBuffer(data)) this.#take(data);
    });
    socket.on("close", () => {
      this.closedAt ??= clock.now();
      this.#stop();
    });
    socket.send(`{"event":"connected","protocol":"Call","version":"1.0.0"}`);
    const mediaFormat = { encoding: "audio/x-mulaw", sampleRate: RATE, channels: 1 };
    const start = {
      accountSid: "AC0",
      streamSid: STREAM_SID,
      callSid: "CA0",
      tracks: ["inbound"],
      customParameters: {},
      mediaFormat,
    };
    socket.send(JSON.stringify({ event: "start", sequenceNumber: "1", streamSid: STREAM_SID, start }));
    this.#tick();
  }

  /** The person says something, whose words are known, by samples of it; resolves when the last of it has been sent. */
  say(pcm: Int16Array, said: readonly Utterance[]): Promise<Spoke> {
    return new Promise((done) => {
      this.#mouth = { pcm, said, at: 0, onset: 0, done };
    });
  }

  /** Resolves once the agent has been silent for so long, or after the limit. */
  async agentSilent(ms: number, limit_ms: number): Promise<void> {
    const until = this.#clock.now() + limit_ms;
    while (this.closedAt === null && this.#clock.now() < until) {
      if (this.#queue.length === 0 && this.#clock.now() - this.#lastSoundAt >= ms) return;
      await this.#clock.wait(FRAME_MS);
    }
  }

  /** When sound of the agent first came after the instant; null: not within the limit. */
  async answeredAfter(instant: number, limit_ms: number): Promise<number | null> {
    const found = (): number | undefined => this.cameAt.find((at) => at > instant);
    while (found() === undefined && this.closedAt === null && this.#clock.now() < instant + limit_ms)
      await this.#clock.wait(FRAME_MS);
    return found() ?? null;
  }

  /** All that was sent: frames of the stream as the other side decodes them, and when the first was sent. */
  get sent(): { began: number; frames: readonly Int16Array[] } {
    return { began: this.#began, frames: this.#sent };
  }
  /** All that was played. */
  get heard(): readonly (Int16Array | null)[] {
    return this.#heard;
  }

  async hangUp(): Promise<void> {
    this.#stop();
    await endStream(this.#socket);
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #tick(): void {
    const due = (): number => this.#began + this.#sent.length * FRAME_MS;
    for (; due() <= this.#clock.now();) this.#frame(due());
    const now = this.#clock.now();
    while ((this.#onWay[0]?.due ?? Infinity) <= now)
      this.#socket.send(this.#onWay.shift()?.text ?? "", { binary: false });
    const next = Math.min(due(), this.#onWay[0]?.due ?? Infinity);
    this.#timer = setTimeout(() => this.#tick(), Math.max(0, next - now) * this.#clock.slow);
  }

  #frame(now: number): void {
    const { background, echo, jitter_ms = 0, loss } = this.#features;
    const at = (this.#sent.length * FRAME) % Math.max(FRAME, background.length - FRAME + 1);
    const room = Int16Array.from({ length: FRAME }, (_, n) => background[at + n] ?? 0);
    const parts = [this.#spoken(now), this.#echoed(echo)];
    let pcm = g711Decode("pcmu", g711Encode("pcmu", mixed(room, ...parts)));
    const lost = loss !== undefined && (this.#chance() + 1) / 2 < loss.share;
    if (lost && loss.as === "silence") pcm = SILENCE;
    this.#sent.push(pcm);
    if (!(lost && loss.as === "missing")) {
      const due_ms = Math.max(now + jitter_ms * ((this.#chance() + 1) / 2), this.#onWay.at(-1)?.due ?? 0);
      this.#onWay.push({ due: due_ms, text: media(pcm) });
    }
    this.#play(now);
  }

  #spoken(now: number): Int16Array {
    const mouth = this.#mouth;
    if (!mouth) return SILENCE;
    if (mouth.at === 0) {
      mouth.onset = now - FRAME_MS;
      const began = this.#sent.length * FRAME;
      for (const { text, from, to } of mouth.said) this.utterances.push({ text, from: began + from, to: began + to });
    }
    const piece = mouth.pcm.subarray(mouth.at, mouth.at + FRAME);
    mouth.at += FRAME;
    if (mouth.at >= mouth.pcm.length) {
      this.#mouth = null;
      mouth.done({ onset: mouth.onset, end: mouth.onset + (mouth.pcm.length * 1000) / RATE });
    }
    return piece;
  }

  #echoed(echo: LineFeatures["echo"]): Int16Array {
    if (!echo) return SILENCE;
    const frame = this.#heard[this.#heard.length - Math.round(echo.delay_ms / FRAME_MS)];
    const factor = 10 ** (echo.level_db / 20);
    return frame ? frame.map((v) => v * factor) : SILENCE;
  }

  #play(now: number): void {
    for (let first = this.#queue[0]; typeof first === "string"; first = this.#queue[0]) {
      this.#queue.shift();
      this.#returnMark(first);
    }
    const frame = this.#queue.shift();
    const played = typeof frame === "object" ? frame : null;
    if (played !== null) this.#lastSoundAt = now;
    this.#heard.push(played);
  }

  #take(data: Buffer): void {
    const message = JSON.parse(data.toString()) as {
      event: string;
      media?: { payload: string };
      mark?: { name: string };
    };
    if (message.media) {
      const pcm = g711Decode("pcmu", Buffer.from(message.media.payload, "base64"));
      if (isSound(pcm)) this.cameAt.push(this.#clock.now());
      this.#queue.push(pcm);
    } else if (message.mark) this.#queue.push(message.mark.name);
    else if (message.event === "clear") {
      this.clearedAt.push(this.#clock.now());
      const marks = this.#queue.filter((piece) => typeof piece === "string");
      this.#queue = [];
      for (const mark of marks) this.#returnMark(mark);
    }
  }

  #returnMark(name: string): void {
    if (this.#socket.readyState === WebSocket.OPEN)
      this.#socket.send(JSON.stringify({ event: "mark", sequenceNumber: "4", streamSid: STREAM_SID, mark: { name } }));
  }
}

/** Answers the phone: the stream is connected. */
export async function speechLine(
  url: string,
  clock: LineClock,
  features: LineFeatures,
  seed: number,
): Promise<SpeechLine> {
  const socket = new WebSocket(url, {
    handshakeTimeout: CONNECT_MS,
    headers: { "x-twilio-signature": "bench" },
    perMessageDeflate: false,
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => socket.terminate());
  return new SpeechLine(socket, clock, features, seed);
}
