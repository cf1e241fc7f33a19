import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { modelAddresses, socketBase, webBase } from "../../../services/conversation/providers/addresses.ts";
import { chatModel } from "../../../services/conversation/providers/llm/chat-model.ts";
import { openAiChat } from "../../../services/conversation/providers/llm/openai-chat.ts";
import type { ChatRequest } from "../../../services/conversation/providers/port.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { startScriptedModel, type ScriptedModel } from "../fixtures/scripted-model.ts";
import { answer, heard, play, started, testFlow } from "../../fixtures/flow-template.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const quiet = { signal: new AbortController().signal, onText: () => undefined };
const hello: ChatRequest = { messages: [{ role: "user", content: "Hello?" }], tools: [] };

describe("two endpoints of a chat model", () => {
  let first: ScriptedModel;
  let second: ScriptedModel;
  beforeEach(async () => {
    [first, second] = await Promise.all([startScriptedModel(), startScriptedModel()]);
  });
  afterEach(() => Promise.all([first.close(), second.close()]));
  const model = (clock = virtualClock()) =>
    chatModel(
      openAiChat({ base_url: first.url, key: "k", model: "a" }),
      clock,
      openAiChat({ base_url: second.url, key: undefined, model: "b" }),
    );
  const asked = () => [first.questions.length, second.questions.length];

  test.each<[string, number, number[], number]>([
    ["that is down is asked twice", 503, [2, 1], 3],
    ["that refuses is asked once", 401, [1, 1], 2],
  ])("a first one %s, then the second", async (_name, status, expected, tries) => {
    first.reply = () => ({ status });
    expect(await model().answer(hello, quiet)).toMatchObject({ text: "Yes?", tries });
    expect(asked()).toEqual(expected);
    expect(second.questions[0]?.model).toBe("b");
  });
  test("the first rests for half a minute then, unless the second fails too", async () => {
    const clock = virtualClock();
    const both = model(clock);
    first.reply = () => ({ status: 401 });
    await both.answer(hello, quiet);
    first.reply = () => ({ text: "Well." });
    expect((await both.answer(hello, quiet)).text).toBe("Yes?");
    second.reply = () => ({ status: 401 });
    expect((await both.answer(hello, quiet)).text).toBe("Well.");
    await clock.advance(30_001);
    await both.answer(hello, quiet);
    expect(asked()).toEqual([3, 3]);
  });
  test("where both fail the last error is thrown", async () => {
    first.reply = () => ({ status: 503 });
    second.reply = () => ({ status: 429 });
    await expect(model().answer(hello, quiet)).rejects.toMatchObject({ code: "MODEL_BUSY" });
    expect(asked()).toEqual([2, 2]);
  });
  test("after the first word the second is not asked: the customer has heard it", async () => {
    const clock = virtualClock();
    first.reply = () => ({ text: "Good day", hang: true });
    const words: string[] = [];
    const failed = expect(
      model(clock).answer(hello, {
        ...quiet,
        onText: (text) => {
          words.push(text);
          if (words.length === 2) setImmediate(() => void clock.advance(4001));
        },
      }),
    ).rejects.toMatchObject({ code: "MODEL_TIMEOUT" });
    await failed;
    expect(asked()).toEqual([1, 0]);
  });
  test("of two questions in one node the first is a beginning of the second, byte for byte", async () => {
    const flow = testFlow();
    const opened: Parameters<typeof play>[1] = [started, answer("Ada, do you confirm order A-17?")];
    for (const script of [
      [started],
      [...opened, heard("Who is this?")],
      [...opened, heard("Who is this?"), answer("Mia of Northwind."), heard("Ah.")],
    ]) {
      const thought = play(flow, script).last.find((effect) => effect.type === "think");
      if (thought?.type !== "think") throw new Error("no thought");
      await model().answer({ messages: thought.messages, tools: thought.tools }, quiet);
    }
    const bodies = first.questions.map((q) => JSON.stringify(q));
    expect(bodies.map((b) => b.slice(0, b.indexOf('"messages"')))).toEqual(
      Array(3).fill(bodies[0]?.slice(0, bodies[0].indexOf('"messages"'))),
    );
    for (const [earlier, later] of [
      [bodies[0], bodies[1]],
      [bodies[1], bodies[2]],
    ])
      expect(later?.startsWith(earlier?.slice(0, -"]}".length) ?? "?")).toBe(true);
  });
});

describe("addresses of models", () => {
  const KEY = "sk-hidden";
  const env = readEnv({
    OPENAI_BASE_URL: "http://llm/v1",
    OPENAI_API_KEY: KEY,
    OPENAI_MODEL: "chat-1",
    OPENAI_FALLBACK_BASE_URL: "http://llm2/v1",
    STT_BASE_URL: "http://stt/v1",
    STT_MODEL: "ears",
    TTS_BASE_URL: "http://tts/v1",
    TTS_MODEL: "mouth",
    TTS_SAMPLE_RATE: "16000",
    TTS_FALLBACK_BASE_URL: "http://tts2/v1",
    TTS_FALLBACK_MODEL: "mouth-2",
    TTS_FALLBACK_VOICE: "ben",
    MODEL_ENDPOINTS: JSON.stringify({
      eu: { base_url: "https://eu/v1", key: "k-eu", model: "eu-1", sample_rate: 8000 },
    }),
  });
  const addresses = modelAddresses(env);

  test("the deployment's own, with its second", () => {
    expect(addresses.addressFor(undefined, "chat")).toMatchObject({
      first: { base_url: "http://llm/v1", key: KEY, model: "chat-1" },
      fallback: { base_url: "http://llm2/v1", key: undefined, model: "chat-1" },
    });
    expect(addresses.addressFor({}, "evaluation")).toMatchObject({ first: { model: "chat-1" } });
    expect(addresses.addressFor(undefined, "transcription")).toMatchObject({
      first: { base_url: "http://stt/v1", model: "ears" },
      fallback: null,
    });
    expect(addresses.addressFor(undefined, "speech")).toMatchObject({
      first: { voice: "alloy", sample_rate: 16_000, model: "mouth" },
      fallback: { own_voice: "ben", model: "mouth-2" },
    });
  });
  test("a template's model at the deployment's endpoint", () => {
    expect(addresses.addressFor({ model: "chat-2" }, "chat")).toMatchObject({
      first: { base_url: "http://llm/v1", model: "chat-2" },
      fallback: { model: "chat-2" },
    });
    expect(addresses.addressFor({ model: "mouth-9" }, "speech").fallback?.model).toBe("mouth-2");
  });
  test("a template's endpoint has its own key and rate, and no second", () => {
    expect(addresses.addressFor({ endpoint: "eu" }, "speech")).toEqual({
      first: {
        base_url: "https://eu/v1",
        key: "k-eu",
        model: "eu-1",
        voice: "alloy",
        sample_rate: 8000,
        check: 'endpoint "eu" of MODEL_ENDPOINTS',
      },
      fallback: null,
    });
    expect(addresses.addressFor({ endpoint: "eu", model: "eu-2" }, "chat").first).toMatchObject({
      model: "eu-2",
      key: "k-eu",
    });
  });
  test("an unknown endpoint is refused by its name, a missing kind by its variable", () => {
    const refused = (said: string): unknown =>
      expect.objectContaining({ type: "NOT_AVAILABLE", message: expect.stringContaining(said) });
    expect(() => addresses.addressFor({ endpoint: "us" }, "chat")).toThrow(refused('"us"'));
    expect(() => addresses.addressFor(undefined, "realtime")).toThrow(refused("REALTIME_BASE_URL"));
    expect(() => modelAddresses(readEnv({})).addressFor(undefined, "speech")).toThrow(refused("TTS_BASE_URL"));
  });
  test("a base is written for requests or for sockets", () => {
    expect([webBase("ws://a/v1"), webBase("WSS://a/v1"), webBase("http://a/v1")]).toEqual([
      "http://a/v1",
      "https://a/v1",
      "http://a/v1",
    ]);
    expect([socketBase("http://a/v1"), socketBase("https://a/v1"), socketBase("ws://a/v1")]).toEqual([
      "ws://a/v1",
      "wss://a/v1",
      "ws://a/v1",
    ]);
  });
});
