import OpenAI, { toFile } from "openai";
import { startModels } from "../../../local/models/server.ts";
import type { RequestSummary } from "../../../local/models/server.ts";
import { decodeSpeech, encodeSpeech } from "../../../local/speech/modem.ts";
import { coughPcm } from "../../../local/speech/noises.ts";
import type { Rate } from "../../../local/speech/tones.ts";
import { pcmOf, readWav, writeWav } from "../../../local/speech/wav.ts";
import { skippingClock } from "../../fixtures/skipping-clock.ts";

const TEXT = "Hello Ada. Does Monday suit you?";
const DEADLINE_MS = 30_000;
const POLL_MS = 10;

const clock = skippingClock();
type Running = Awaited<ReturnType<typeof startModels>>;
let models: Running;
let openai: OpenAI;
beforeAll(async () => {
  models = await startModels({ port: 0, key: "secret", model: "speaker", clock });
  openai = new OpenAI({ apiKey: "secret", baseURL: models.url, maxRetries: 0 });
});
afterAll(async () => models.close());

const control = async (path: string, body?: unknown): Promise<Response> =>
  fetch(models.url.replace(/\/v1$/, path), body === undefined ? {} : { method: "POST", body: JSON.stringify(body) });
const latest = async (): Promise<RequestSummary | undefined> =>
  ((await (await control("/requests")).json()) as { requests: RequestSummary[] }).requests.at(-1);
async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error("the condition did not come true in time");
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
const recording = async (pcm: Int16Array, rate: Rate = 8000): Promise<File> =>
  toFile(writeWav({ rate, channels: [pcm] }), "turn.wav", { type: "audio/wav" });
const say = async (more: Partial<OpenAI.Audio.SpeechCreateParams> = {}, signal?: AbortSignal): Promise<Response> =>
  openai.audio.speech.create(
    { model: "speaker", input: TEXT, voice: "alloy", response_format: "pcm", ...more },
    signal === undefined ? {} : { signal },
  );

describe("speech", () => {
  test("streams PCM with the words in it, piece by piece", async () => {
    const response = await say();
    const pieces: Uint8Array[] = [];
    for await (const piece of response.body!) pieces.push(piece);
    const pcm = pcmOf(Buffer.concat(pieces));
    expect(decodeSpeech(pcm, 24_000)).toBe(TEXT);
    expect(pieces.length).toBeGreaterThan(3);
    expect(await latest()).toMatchObject({ kind: "speech", model: "speaker", reply: { content: TEXT }, end: "sent" });
  });

  test("gives WAV whose header says it is still being made", async () => {
    const file = Buffer.from(await (await say({ response_format: "wav", model: "callagent-sim" })).arrayBuffer());
    expect(file.readUInt32LE(40)).toBe(0xffff_ffff);
    const sound = readWav(file)!;
    expect([sound.rate, sound.channels.length, decodeSpeech(sound.channels[0]!, 24_000)]).toEqual([24_000, 1, TEXT]);
  });

  test("sounds again the same", async () => {
    const [one, two] = [await (await say()).arrayBuffer(), await (await say({ speed: 1.5 })).arrayBuffer()];
    expect(Buffer.from(one).equals(Buffer.from(two))).toBe(true);
  });

  test.each<[string, Record<string, unknown>, string, number]>([
    ["MP3", { response_format: "mp3" }, "response_format", 400],
    ["no format, which means MP3", { response_format: undefined }, "response_format", 400],
    ["an unknown format", { response_format: "midi" }, "response_format", 400],
    ["no words", { input: " " }, "input", 400],
    ["too many words", { input: "x".repeat(4097) }, "input", 400],
    ["no voice", { voice: "" }, "voice", 400],
    ["too fast", { speed: 5 }, "speed", 400],
    ["events instead of sound", { stream_format: "sse" }, "stream_format", 400],
    ["another model", { model: "nobody" }, "model", 404],
  ])("refuses %s", async (_what, more, param, status) => {
    await expect(say(more)).rejects.toMatchObject({ status, param });
  });

  test("an abort ends it", async () => {
    const stop = new AbortController();
    const response = await say({ input: TEXT.repeat(50) }, stop.signal);
    const reader = response.body!.getReader();
    await reader.read();
    stop.abort();
    await until(async () => (await latest())?.end === "aborted");
  });
});

describe("transcription", () => {
  test.each<Rate>([8000, 16_000, 24_000, 48_000])("finds the words at %d Hz", async (rate) => {
    const answer = await openai.audio.transcriptions.create({
      model: "speaker",
      file: await recording(encodeSpeech(TEXT, rate), rate),
      language: "en",
      prompt: "Ada",
    });
    expect(answer.text).toBe(TEXT);
    expect(await latest()).toMatchObject({
      kind: "transcription",
      stream: false,
      reply: { content: TEXT },
      end: "sent",
    });
  });

  test("finds none in a cough", async () => {
    expect(
      (await openai.audio.transcriptions.create({ model: "speaker", file: await recording(coughPcm(350, 8000, 1)) }))
        .text,
    ).toBe("");
  });

  test("answers as text and with times", async () => {
    const file = await recording(encodeSpeech("Yes please.", 8000));
    expect(await openai.audio.transcriptions.create({ model: "speaker", file, response_format: "text" })).toBe(
      "Yes please.\n",
    );
    const verbose = await openai.audio.transcriptions.create({
      model: "speaker",
      file,
      response_format: "verbose_json",
    });
    expect(verbose).toMatchObject({
      text: "Yes please.",
      duration: 0.768,
      words: [{ word: "Yes", start: 0.008 }, { word: "please." }],
    });
    expect(verbose.words![1]!.start).toBeCloseTo(4 * 0.064 + 0.008, 2);
  });

  test("streams them word by word", async () => {
    const deltas: string[] = [];
    let done = "";
    for await (const event of await openai.audio.transcriptions.create({
      model: "speaker",
      file: await recording(encodeSpeech(TEXT, 8000)),
      stream: true,
    })) {
      if (event.type === "transcript.text.delta") deltas.push(event.delta);
      if (event.type === "transcript.text.done") done = event.text;
    }
    expect([deltas.join(""), deltas.length, done]).toEqual([TEXT, TEXT.split(" ").length, TEXT]);
  });

  test.each<[string, () => Promise<Record<string, unknown>>, string]>([
    ["no sound", async () => ({ file: await toFile(Buffer.from("hello"), "x.wav") }), "file"],
    [
      "two channels",
      async () => ({
        file: await toFile(writeWav({ rate: 8000, channels: [new Int16Array(80), new Int16Array(80)] }), "x.wav"),
      }),
      "file",
    ],
    [
      "another rate",
      async () => ({ file: await toFile(writeWav({ rate: 11_025, channels: [new Int16Array(80)] }), "x.wav") }),
      "file",
    ],
    ["subtitles", async () => ({ response_format: "srt" }), "response_format"],
    ["a language's name", async () => ({ language: "English" }), "language"],
  ])("refuses %s", async (_what, more, param) => {
    const file = await recording(encodeSpeech("Yes", 8000));
    await expect(
      openai.audio.transcriptions.create({ model: "speaker", file, ...(await more()) }),
    ).rejects.toMatchObject({ status: 400, param });
  });

  test("refuses what is no form, and who has no key", async () => {
    const ask = async (key: string, type: string): Promise<unknown> => {
      const response = await fetch(`${models.url}/audio/transcriptions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": type },
        body: "--x--",
      });
      return [response.status, ((await response.json()) as { error: { code: string | null } }).error.code];
    };
    expect(await ask("secret", "application/json")).toEqual([400, null]);
    expect(await ask("secret", "multipart/form-data; boundary=y")).toEqual([400, null]);
    expect(await ask("wrong", "multipart/form-data; boundary=y")).toEqual([401, "invalid_api_key"]);
  });
});

describe("delays and faults", () => {
  test("delays are ordered while it runs", async () => {
    expect((await control("/delays", { stt_ms: 120, first_audio_ms: 80 })).status).toBe(200);
    const began = clock.monotonicMs();
    await openai.audio.transcriptions.create({ model: "speaker", file: await recording(encodeSpeech("Yes", 8000)) });
    expect(clock.monotonicMs() - began).toBeGreaterThanOrEqual(119);
    expect(await (await control("/delays", { stt_ms: 0, first_audio_ms: 0 })).json()).toEqual({
      stt_ms: 0,
      first_token_ms: 0,
      token_ms: 0,
      first_audio_ms: 0,
    });
    expect([
      (await control("/delays", { stt_ms: -1 })).status,
      (await control("/delays", { quick: 1 })).status,
    ]).toEqual([400, 400]);
  });

  test("faults meet their target only", async () => {
    await control("/faults", { kind: "error_500", target: "speech" });
    await control("/faults", { kind: "error_429", target: "transcription" });
    await expect(
      openai.audio.transcriptions.create({ model: "speaker", file: await recording(new Int16Array(80)) }),
    ).rejects.toMatchObject({ status: 429 });
    await expect(say()).rejects.toMatchObject({ status: 500 });
    expect((await say()).status).toBe(200);
    expect((await control("/faults", { kind: "garbage_tool_call", target: "speech" })).status).toBe(400);
    expect((await control("/faults", { kind: "hang", target: "nobody" })).status).toBe(400);
  });

  test("a cut stream breaks off in the middle of a word's sound", async () => {
    await control("/faults", { kind: "cut_stream", target: "speech" });
    const pieces: Uint8Array[] = [];
    const read = async (): Promise<void> => {
      for await (const piece of (await say()).body!) pieces.push(piece);
    };
    await expect(read()).rejects.toThrow();
    const heard = decodeSpeech(pcmOf(Buffer.concat(pieces)), 24_000);
    expect(heard.length).toBeGreaterThan(0);
    expect(TEXT.startsWith(heard)).toBe(true);
  });

  test("slow takes as much longer as was ordered; a hang lasts until the client gives up", async () => {
    await control("/faults", { kind: "slow", target: "speech", ms: 150 });
    const began = clock.monotonicMs();
    await say();
    expect(clock.monotonicMs() - began).toBeGreaterThanOrEqual(149);
    await control("/faults", { kind: "hang", target: "transcription" });
    await expect(
      openai.audio.transcriptions.create(
        { model: "speaker", file: await recording(new Int16Array(80)) },
        { timeout: 100 },
      ),
    ).rejects.toThrow();
    await until(async () => (await latest())?.end === "aborted");
    expect(await latest()).toMatchObject({ kind: "transcription", fault: "hang", reply: null });
  });
});
