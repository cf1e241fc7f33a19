import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { assert, integer, property } from "fast-check";
import type { ModelAddress } from "../../../services/conversation/providers/addresses.ts";
import {
  openAiTranscriber,
  type SpeechSegment,
  type Transcriber,
} from "../../../services/conversation/providers/stt/openai-transcription.ts";
import pLimit from "p-limit";
import { ModelError } from "../../../services/conversation/providers/port.ts";
import { quietestCut } from "../../../services/conversation/providers/stt/segmented-transcription.ts";
import { segmentedTranscription } from "../../../services/conversation/providers/stt/segmented-transcription.ts";
import { readWav } from "../fixtures/sound.ts";
import { systemClock, type Clock } from "../../../shared/time/clock.ts";
import { startScriptedAudio, type ScriptedAudio } from "../fixtures/scripted-audio.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const RATE = 8000;
const forever = new AbortController().signal;
const turnOver = () =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

describe("transcription requests", () => {
  let server: ScriptedAudio;
  let second: ScriptedAudio;
  beforeEach(async () => {
    [server, second] = await Promise.all([startScriptedAudio(), startScriptedAudio()]);
  });
  afterEach(() => Promise.all([server.close(), second.close()]));
  const at = (url: string, model: string): ModelAddress => ({ base_url: url, key: "k1", model, check: "STT_BASE_URL" });
  const transcriber = (clock: Clock = systemClock, most = 8, two = true) =>
    openAiTranscriber(at(server.url, "ears"), two ? at(second.url, "ears-2") : null, clock, { limit: pLimit(most) });
  const piece: SpeechSegment = {
    pcm: Int16Array.of(1, -2, 3),
    rate: RATE,
    language: "en-US",
  };

  test("the sound goes out as a WAV, with its language", async () => {
    server.reply = () => ({ json: { text: " Yes, please. " } });
    expect(await transcriber()(piece, forever)).toBe("Yes, please.");
    expect(server.requests[0]).toMatchObject({
      path: "/v1/audio/transcriptions",
      key: "Bearer k1",
      fields: { model: "ears", response_format: "json", language: "en" },
    });
    expect(readWav(server.requests[0]!.file)).toEqual({ rate: RATE, channels: 1, samples: [piece.pcm] });
  });
  test.each<[string, object, string]>([
    [
      "silence",
      { text: "Terima kasih.", segments: [{ text: " Terima kasih.", no_speech_prob: 0.72, avg_logprob: -0.89 }] },
      "",
    ],
    ["surely silence", { text: "You", segments: [{ text: " You", no_speech_prob: 0.95 }] }, ""],
    [
      "silence behind words",
      {
        text: "Yes. Thank you.",
        segments: [
          { text: " Yes.", no_speech_prob: 0.43, avg_logprob: -0.42 },
          { text: " Thank you.", no_speech_prob: 0.6, avg_logprob: -1.1 },
        ],
      },
      "Yes.",
    ],
    ["words, softly", { text: "Yes.", segments: [{ text: " Yes.", no_speech_prob: 0.8, avg_logprob: -0.3 }] }, "Yes."],
    ["mumbled words", { text: "Yes.", segments: [{ text: " Yes.", no_speech_prob: 0.1, avg_logprob: -1.4 }] }, "Yes."],
    ["segments without figures", { text: "Yes.", segments: [{ text: " Yes." }] }, "Yes."],
  ])("what a server calls %s is read of its segments", async (_what, json, words) => {
    server.reply = () => ({ json });
    expect(await transcriber()(piece, forever)).toBe(words);
    expect(server.requests[0]!.fields["response_format"]).toBe("json");
  });
  test("without a language none is named", async () => {
    await transcriber()({ ...piece, language: "" }, forever);
    expect(Object.keys(server.requests[0]!.fields).sort()).toEqual(["model", "response_format"]);
  });
  test.each<[string, number[], number[]]>([
    ["a fault that may pass is asked again", [503], [2, 0]],
    ["twice is enough, then the second endpoint", [503, 503], [2, 1]],
    ["a refusal goes to the second at once", [401], [1, 1]],
  ])("%s", async (_name, statuses, asked) => {
    server.reply = () => {
      const status = statuses[server.requests.length - 1];
      return status === undefined ? { json: { text: "Yes" } } : { status };
    };
    second.reply = () => ({ json: { text: "Yes" } });
    expect(await transcriber()(piece, forever)).toBe("Yes");
    expect([server.requests.length, second.requests.length]).toEqual(asked);
  });
  test("an answer without text is a refusal; neither key nor body is in the fault", async () => {
    server.reply = () => ({ json: { words: "secret" } });
    await expect(transcriber(systemClock, 8, false)(piece, forever)).rejects.toMatchObject({
      code: "MODEL_REFUSED",
      message: "the transcription model answers no text; check STT_BASE_URL",
    });
  });
  test("a silent server is asked again after 5 s, then it has failed", async () => {
    const clock = virtualClock();
    server.reply = () => ({ silent: true });
    const failed = expect(transcriber(clock, 8, false)(piece, forever)).rejects.toMatchObject({
      code: "MODEL_TIMEOUT",
    });
    for (const times of [1, 2]) {
      await server.untilAsked(times);
      await clock.advance(5001);
    }
    await failed;
    await server.untilAborted(2);
  });
  test("taken back: the server sees the close", async () => {
    server.reply = () => ({ silent: true });
    const abort = new AbortController();
    const failed = expect(transcriber()(piece, abort.signal)).rejects.toMatchObject({ code: "MODEL_ABORTED" });
    await server.untilAsked(1);
    abort.abort();
    await failed;
    await server.untilAborted(1);
    expect([server.requests.length, second.requests.length]).toEqual([1, 0]);
  });
  test("requests at once are bounded; one aborted while it waits takes no room", async () => {
    const answers: (() => void)[] = [];
    server.reply = () =>
      new Promise((resolve) => {
        answers.push(() => resolve({ json: { text: "Yes" } }));
      });
    const ask = transcriber(systemClock, 1);
    const first = ask(piece, forever);
    const abort = new AbortController();
    const gone = expect(ask(piece, abort.signal)).rejects.toMatchObject({ code: "MODEL_ABORTED" });
    const third = ask(piece, forever);
    abort.abort();
    await gone;
    while (answers.length === 0) await turnOver();
    expect(server.requests.length).toBe(1);
    answers[0]!();
    expect(await first).toBe("Yes");
    while (answers.length === 1) await turnOver();
    answers[1]!();
    expect(await third).toBe("Yes");
    expect(server.requests.length).toBe(2);
  });
});

describe("a stretch of speech", () => {
  const how = { rate: 100, language: "en" };
  /** Tells the samples of a piece as its words. */
  const scripted = (
    answers: (piece: SpeechSegment, signal: AbortSignal) => Promise<string> = async (p) => [...p.pcm].join(""),
  ) => {
    const asked: { piece: SpeechSegment; signal: AbortSignal }[] = [];
    const ask: Transcriber = (piece, signal) => {
      asked.push({ piece, signal });
      return answers(piece, signal);
    };
    return { asked, open: () => segmentedTranscription(ask).open(how) };
  };
  test("all audio is transcribed as one segment; without audio nothing is asked", async () => {
    const s = scripted();
    const stretch = s.open();
    expect(await stretch.text(forever)).toBe("");
    stretch.push(Int16Array.of(1, 2));
    stretch.push(Int16Array.of(3));
    expect(await stretch.text(forever)).toBe("123");
    expect(await stretch.text(forever)).toBe("123");
    expect(s.asked.length).toBe(1);
    stretch.push(Int16Array.of(4));
    expect(await stretch.text(forever)).toBe("1234");
    expect(s.asked.length).toBe(2);
  });
  test("two questions at once share a request; it is cancelled when both are aborted", async () => {
    const s = scripted(() => new Promise(() => undefined));
    const stretch = s.open();
    stretch.push(Int16Array.of(1));
    const [one, two] = [new AbortController(), new AbortController()];
    const gone = Promise.all(
      [one, two].map((a) => expect(stretch.text(a.signal)).rejects.toMatchObject({ code: "MODEL_ABORTED" })),
    );
    await turnOver();
    one.abort();
    await turnOver();
    expect(s.asked.map((a) => a.signal.aborted)).toEqual([false]);
    two.abort();
    await gone;
    expect(s.asked.map((a) => a.signal.aborted)).toEqual([true]);
  });
  test("the next question asks again after a failure", async () => {
    let times = 0;
    const s = scripted(async () => {
      if (times++ === 0) throw new ModelError("MODEL_ERROR", "down", true);
      return "yes";
    });
    const stretch = s.open();
    stretch.push(Int16Array.of(1));
    await expect(stretch.text(forever)).rejects.toMatchObject({ code: "MODEL_ERROR" });
    expect(await stretch.text(forever)).toBe("yes");
  });
  test("the oldest part of a very long stretch is transcribed on the way, cut in a pause; all words stay in order", async () => {
    const s = scripted(async (p) => `${p.pcm[0]}-${p.pcm.at(-1)}`);
    const stretch = s.open();
    for (let second = 1; second <= 65; second++)
      stretch.push(new Int16Array(how.rate).fill(second === 25 || second === 48 ? 0 : second));
    expect(s.asked.length).toBe(2);
    expect(await stretch.text(forever)).toBe("1-0 0-0 0-65");
    expect(s.asked.reduce((sum, a) => sum + a.piece.pcm.length, 0)).toBe(6500);
  });
  test("a lost part is reported once; the next question gets the rest", async () => {
    let times = 0;
    const s = scripted(async () => {
      if (times++ === 0) throw new ModelError("MODEL_TIMEOUT", "late", true);
      return "rest";
    });
    const stretch = s.open();
    for (let second = 0; second < 31; second++) stretch.push(new Int16Array(how.rate).fill(1));
    await expect(stretch.text(forever)).rejects.toMatchObject({ code: "MODEL_TIMEOUT" });
    expect(await stretch.text(forever)).toBe("rest");
  });
  test("closing lets all go", async () => {
    const s = scripted(() => new Promise(() => undefined));
    const stretch = s.open();
    stretch.push(Int16Array.of(1));
    void stretch.text(forever).catch(() => undefined);
    stretch.close();
    expect(s.asked.map((a) => a.signal.aborted)).toEqual([true]);
    await expect(stretch.text(forever)).rejects.toMatchObject({ code: "MODEL_ABORTED" });
  });
});

test("a cut lies within the sound, and in its pause where there is one", () => {
  assert(
    property(integer({ min: 0, max: 3000 }), integer({ min: 1, max: 2 }), (length, from) => {
      const at = quietestCut(new Int16Array(length).fill(9), 1000, from);
      expect(at).toBeGreaterThanOrEqual(0);
      expect(at).toBeLessThanOrEqual(length);
    }),
  );
  const pcm = new Int16Array(30_000).fill(5000);
  pcm.fill(0, 24_000, 24_200);
  const at = quietestCut(pcm, 1000, 20);
  expect(at).toBeGreaterThanOrEqual(24_000);
  expect(at).toBeLessThanOrEqual(24_200);
});
