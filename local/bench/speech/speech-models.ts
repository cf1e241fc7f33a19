import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { phrasesFor } from "../../../shared/phrases.ts";
import { resampled } from "../../speech/utterances.ts";
import { pcmBytes, readWav } from "../../speech/wav.ts";
import type { Recogniser } from "./recogniser.ts";
import { AGENT, type Spoken } from "./spoken.ts";
import { replyOf } from "./texts.ts";

/** OpenAI-compatible models that hear and speak real speech. Delays in milliseconds of the line. */

/** What the models take for their part, as fast services do. */
export const DELAYS = { stt_ms: 130, first_token_ms: 150, first_audio_ms: 70 } as const;
const MODEL_RATE = 24_000;
const TELEPHONE_RATE = 8000;

/** A question to a model: when it came, and when its answer began; null: it has none yet. On the lines' clock. */
export interface Asked {
  at: number;
  answered_at: number | null;
}
/** A question to the recogniser: its sound, and its words. */
export interface Heard extends Asked {
  pcm: Int16Array;
  text: string;
}
/** A question to the language model, or to the voice, with the text of the answer. */
export interface Said extends Asked {
  text: string;
}

/** The models, and what they were asked. */
export interface SpeechModels {
  readonly url: string;
  readonly heard: readonly Heard[];
  /** Replies of the language model. */
  readonly replies: readonly Said[];
  /** Sentences that were made into sound. */
  readonly said: readonly Said[];
  close(): Promise<void>;
}

/** What they are made with. `clock`: of the lines. `phantom`: what the recogniser writes for sound without words. */
export interface SpeechModelsOptions {
  recogniser: Recogniser;
  spoken: Spoken;
  clock: { now(): number; wait(ms: number): Promise<void> };
  phantom: string;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** The file of a multipart body, as a telephone has it: a WAV says itself how long it is, and sessions have more samples. */
function soundIn(body: Buffer): Int16Array {
  const at = body.indexOf("RIFF");
  const length = at < 0 ? 0 : body.readUInt32LE(at + 4) + 8;
  const sound = at < 0 ? null : readWav(body.subarray(at, at + length));
  const [pcm] = sound?.channels ?? [];
  if (pcm === undefined) throw new Error("a transcription was asked for without a WAV");
  const rate = sound?.rate ?? TELEPHONE_RATE;
  return rate === TELEPHONE_RATE ? pcm : resampled(pcm, Math.round((pcm.length * TELEPHONE_RATE) / rate));
}

const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "speech", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

class Models {
  readonly heard: Heard[] = [];
  readonly said: Said[] = [];
  readonly replies: Said[] = [];
  readonly #o: SpeechModelsOptions;
  readonly #silent: ReadonlySet<string>;

  constructor(o: SpeechModelsOptions) {
    this.#o = o;
    // a filler is no answer: it takes its time, and makes no sound
    this.#silent = new Set(phrasesFor("en-US").fillers);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = this.#o.clock.now();
    const body = await bodyOf(request);
    if (request.url?.endsWith("/audio/transcriptions")) return this.#transcribe(body, at, response);
    if (request.url?.endsWith("/audio/speech"))
      return this.#speak((JSON.parse(body.toString()) as { input: string }).input, response);
    return this.#reply(response);
  }

  async #transcribe(body: Buffer, at: number, response: ServerResponse): Promise<void> {
    const pcm = soundIn(body);
    const asked: Heard = { at, answered_at: null, pcm, text: "" };
    this.heard.push(asked);
    const text = await this.#o.recogniser.words(pcm);
    asked.text = text === "" ? this.#o.phantom : withMark(text);
    await this.#until(at + DELAYS.stt_ms);
    asked.answered_at = this.#o.clock.now();
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ text: asked.text }));
  }

  async #speak(text: string, response: ServerResponse): Promise<void> {
    const at = this.#o.clock.now();
    const asked: Said = { at, answered_at: null, text };
    this.said.push(asked);
    const pcm = await this.#o.spoken.model(AGENT, text);
    await this.#until(at + DELAYS.first_audio_ms);
    asked.answered_at = this.#o.clock.now();
    response.writeHead(200, { "content-type": "audio/pcm" });
    response.end(pcmBytes(this.#silent.has(text) ? new Int16Array(MODEL_RATE / 2) : pcm));
  }

  async #reply(response: ServerResponse): Promise<void> {
    const text = replyOf(this.replies.length);
    const asked: Said = { at: this.#o.clock.now(), answered_at: null, text };
    this.replies.push(asked);
    // its sound is made meanwhile, as a model's own machine would: it takes this one 0.1 s, which the language model waits anyway
    void this.#o.spoken.model(AGENT, text).catch(() => undefined);
    await this.#o.clock.wait(DELAYS.first_token_ms);
    asked.answered_at = this.#o.clock.now();
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const word of text.match(/\S+\s*/g) ?? []) response.write(chunk({ content: word }, null));
    response.end(`${chunk({}, "stop")}data: [DONE]\n\n`);
  }

  async #until(instant: number): Promise<void> {
    const left = instant - this.#o.clock.now();
    if (left > 0) await this.#o.clock.wait(left);
  }
}

/** A sentence as transcription models write it: a capital, and a mark at its end. */
const withMark = (text: string): string =>
  `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/^(?:could|hello|what)\b/.test(text) ? "?" : "."}`;

/** Starts them in this process. */
export async function startSpeechModels(o: SpeechModelsOptions): Promise<SpeechModels> {
  const models = new Models(o);
  const server = createServer((request, response) => {
    models.answer(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/v1`,
    heard: models.heard,
    said: models.said,
    replies: models.replies,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
