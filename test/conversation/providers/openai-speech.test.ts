import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { openAiSpeech } from "../../../services/conversation/providers/tts/openai-speech.ts";
import type { SpeechModel } from "../../../services/conversation/providers/port.ts";
import { audioDecoder } from "../../../services/conversation/providers/tts/audio-decoder.ts";
import { speechWithFailover } from "../../../services/conversation/providers/tts/speech-failover.ts";
import { systemClock, type Clock } from "../../../shared/time/clock.ts";
import { startScriptedAudio, type ScriptedAudio } from "../fixtures/scripted-audio.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const RATE = 8000;
const tone = (samples: number): Int16Array =>
  Int16Array.from({ length: samples }, (_, i) => Math.round(8000 * Math.sin(i / 3)));
const bytesOf = (pcm: Int16Array): Buffer => Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength);
const wav = (
  pcm: Int16Array,
  { rate = RATE, channels = 1, size = pcm.byteLength, coding = 1, extra = Buffer.alloc(0) } = {},
): Buffer => {
  const head = Buffer.alloc(36);
  head.write("RIFF", 0);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(coding, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt16LE(16, 34);
  const data = Buffer.alloc(8);
  data.write("data", 0);
  data.writeUInt32LE(size, 4);
  return Buffer.concat([head, extra, data, bytesOf(pcm)]);
};
const joined = (parts: Int16Array[]): number[] => parts.flatMap((p) => [...p]);
const read = (reader: ReturnType<typeof audioDecoder>, bytes: Buffer, step: number): number[] => {
  const parts: Int16Array[] = [];
  for (let at = 0; at < bytes.length; at += step) parts.push(reader.push(bytes.subarray(at, at + step)));
  return joined([...parts, reader.end()]);
};

describe("the audio decoder", () => {
  test.each([1, 3, 7, 64, 10_000])("are the same samples in pieces of %d bytes, raw and as WAV", (step) => {
    const pcm = tone(500);
    expect(read(audioDecoder(RATE), bytesOf(pcm), step)).toEqual([...pcm]);
    expect(read(audioDecoder(RATE), wav(pcm), step)).toEqual([...pcm]);
  });
  test("an odd byte at the end is dropped; two bytes are a sound too", () => {
    expect(read(audioDecoder(RATE), Buffer.concat([bytesOf(tone(20)), Buffer.from([1])]), 8)).toEqual([...tone(20)]);
    expect(read(audioDecoder(RATE), bytesOf(tone(1)), 8)).toEqual([...tone(1)]);
    expect(read(audioDecoder(RATE), Buffer.alloc(0), 8)).toEqual([]);
  });
  test("chunks before the sound are passed over, what follows it is no sound", () => {
    const list = Buffer.concat([Buffer.from("LIST"), Buffer.from([3, 0, 0, 0]), Buffer.from("abc\0")]);
    expect(read(audioDecoder(RATE), Buffer.concat([wav(tone(50), { extra: list }), list]), 5)).toEqual([...tone(50)]);
  });
  test.each([0, 0xffff_ffff, 0x7fff_ffff])("a stream that writes %d for its length is read to its end", (size) => {
    expect(read(audioDecoder(RATE), wav(tone(300), { size }), 100)).toEqual([...tone(300)]);
  });
  test("the rate of a WAV wins over the configured one", () => {
    expect(read(audioDecoder(RATE), wav(tone(3000), { rate: 24_000 }), 999).length).toBe(1000);
  });
  test("of two channels the first is taken", () => {
    expect(read(audioDecoder(RATE), wav(Int16Array.of(1, 9, 2, 9, 3, 9), { channels: 2 }), 3)).toEqual([1, 2, 3]);
  });
  test.each<[string, Buffer]>([
    ["an MP3", Buffer.from("ID3\u0004abcdefgh")],
    ["an Ogg", Buffer.from("OggSabcdefgh")],
    ["a WAV of floats", wav(tone(9), { coding: 3 })],
    ["a WAV that ends in its header", wav(tone(9)).subarray(0, 30)],
    ["a WAV of no rate", wav(tone(9), { rate: 1 })],
  ])("%s is refused in place of being played as noise", (_name, bytes) => {
    expect(() => read(audioDecoder(RATE), bytes, 16)).toThrow(expect.objectContaining({ code: "MODEL_REFUSED" }));
  });
});

describe("speech requests", () => {
  let server: ScriptedAudio;
  beforeEach(async () => {
    server = await startScriptedAudio();
  });
  afterEach(() => server.close());
  const model = (clock: Clock = systemClock): SpeechModel =>
    openAiSpeech({
      address: { base_url: server.url.replace("http:", "ws:"), key: "k1", model: "kokoro", check: "TTS_BASE_URL" },
      voice: "anna",
      rate: RATE,
      clock,
    });
  const heard = async (m: SpeechModel, signal = new AbortController().signal): Promise<number[]> => {
    const parts: Int16Array[] = [];
    for await (const pcm of m.speak("Good day.", signal)) parts.push(pcm);
    return joined(parts);
  };
  const pcm = tone(400);
  const cut = [bytesOf(pcm).subarray(0, 301), bytesOf(pcm).subarray(301)];

  test("model, voice and text go out, samples come in as they were sent", async () => {
    server.reply = () => ({ pieces: cut });
    expect(await heard(model())).toEqual([...pcm]);
    expect(server.requests).toEqual([
      {
        path: "/v1/audio/speech",
        key: "Bearer k1",
        file: expect.anything(),
        fields: { model: "kokoro", voice: "anna", input: "Good day.", response_format: "pcm" },
      },
    ]);
  });
  test("what holds no word is not asked for", async () => {
    for await (const _ of model().speak(" … !", new AbortController().signal)) throw new Error("sound of nothing");
    expect(server.requests.length).toBe(0);
  });
  test.each<[string, number[], string | null, number]>([
    ["a fault that may pass is asked again", [503], null, 2],
    ["twice is enough", [503, 500], "MODEL_ERROR", 2],
    ["too many requests", [429, 429], "MODEL_BUSY", 2],
    ["a refusal is not asked again", [401], "MODEL_REFUSED", 1],
  ])("%s", async (_name, statuses, code, asked) => {
    server.reply = () => {
      const status = statuses[server.requests.length - 1];
      return status === undefined ? { pieces: cut } : { status };
    };
    if (code === null) expect(await heard(model())).toEqual([...pcm]);
    else await expect(heard(model())).rejects.toMatchObject({ code });
    expect(server.requests.length).toBe(asked);
  });
  test.each<[string, object]>([
    ["no byte", {}],
    ["an error page", { type: "text/html", pieces: [Buffer.from("<html>")] }],
    ["JSON", { json: { error: "no" } }],
  ])("%s is no sound", async (_name, reply) => {
    server.reply = () => reply;
    await expect(heard(model())).rejects.toMatchObject({ code: expect.stringMatching(/MODEL_(?:ERROR|REFUSED)/) });
  });
  test("neither text nor key is in a fault", async () => {
    server.reply = () => ({ status: 401 });
    const fault = await heard(model()).catch((e: Error) => e.message);
    expect(fault).toBe("the model answered 401; check TTS_BASE_URL");
  });
  test("aborted: the server sees the close, also without a listener", async () => {
    server.reply = () => ({ pieces: cut, hang: true });
    const abort = new AbortController();
    const sound = model().speak("Good day.", abort.signal)[Symbol.asyncIterator]();
    expect((await sound.next()).value.length).toBeGreaterThan(0);
    abort.abort();
    await server.untilAborted(1);
    await expect(
      (async () => {
        for (;;) if ((await sound.next()).done) return;
      })(),
    ).rejects.toMatchObject({ code: "MODEL_ABORTED" });
    const another = model().speak("Good day.", new AbortController().signal)[Symbol.asyncIterator]();
    await another.next();
    await another.return?.();
    await server.untilAborted(2);
    expect(server.requests.length).toBe(2);
  });
  test("a silent server is asked again after 4 s, then it has failed", async () => {
    const clock = virtualClock();
    server.reply = () => (server.requests.length === 1 ? { silent: true } : { hang: true });
    const failed = expect(heard(model(clock))).rejects.toMatchObject({ code: "MODEL_TIMEOUT" });
    await server.untilAsked(1);
    await clock.advance(4001);
    await server.untilAsked(2);
    await clock.advance(4001);
    await failed;
    await server.untilAborted(2);
  });
  test("sound that stalls has failed after 3 s, without a second try: the customer has heard its beginning", async () => {
    const clock = virtualClock();
    server.reply = () => ({ pieces: cut, hang: true });
    const sound = model(clock).speak("Good day.", new AbortController().signal)[Symbol.asyncIterator]();
    for (let samples = 0; samples < pcm.length;) samples += (await sound.next()).value.length;
    const failed = expect(sound.next()).rejects.toMatchObject({ code: "MODEL_TIMEOUT" });
    await clock.advance(3001);
    await failed;
    expect(server.requests.length).toBe(1);
  });
});

describe("two endpoints of speech", () => {
  const speaking = (rate: number, sound: Int16Array | Error, asked: string[], name: string): SpeechModel => ({
    rate,
    signature: name,
    async *speak() {
      asked.push(name);
      if (sound instanceof Error) throw sound;
      yield sound;
    },
  });
  const heard = async (m: SpeechModel): Promise<number> => {
    let n = 0;
    for await (const pcm of m.speak("Hi.", new AbortController().signal)) n += pcm.length;
    return n;
  };

  test("the second speaks where the first fails, at the first one's rate; the first rests for half a minute then", async () => {
    const asked: string[] = [];
    const clock = virtualClock();
    const route = speechWithFailover(
      speaking(8000, new Error("down"), asked, "a"),
      speaking(24_000, tone(2400), asked, "b"),
      clock,
    );
    expect(route.rate).toBe(8000);
    expect(await heard(route)).toBe(800);
    expect(await heard(route)).toBe(800);
    await clock.advance(30_001);
    await heard(route);
    expect(asked).toEqual(["a", "b", "b", "a", "b"]);
  });
  test("where both fail the last error is thrown", async () => {
    const asked: string[] = [];
    await expect(
      heard(
        speechWithFailover(
          speaking(8000, new Error("one"), asked, "a"),
          speaking(8000, new Error("two"), asked, "b"),
          virtualClock(),
        ),
      ),
    ).rejects.toThrow("two");
  });
  test("begun is begun: what broke off is not said again by another voice", async () => {
    const asked: string[] = [];
    const first: SpeechModel = {
      rate: 8000,
      signature: "a",
      async *speak() {
        asked.push("a");
        yield tone(8);
        throw new Error("cut");
      },
    };
    await expect(heard(speechWithFailover(first, speaking(8000, tone(8), asked, "b"), virtualClock()))).rejects.toThrow(
      "cut",
    );
    expect(asked).toEqual(["a"]);
  });
});
