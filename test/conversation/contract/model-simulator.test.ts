import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { startModels } from "../../../local/models/server.ts";
import { DeploymentModels } from "../../../services/conversation/providers/deployment-models.ts";
import { resampleAll } from "../fixtures/sound.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { readEnv } from "../../../shared/process/env.ts";

const MODEL = "callagent-sim";
const TEXT = "Good day Ada. Is Monday fine?";
const forever = new AbortController().signal;
const wishes = { models: {}, voice: null, language: "en-US" };

describe("the models of a deployment on the simulator", () => {
  let server: Awaited<ReturnType<typeof startModels>>;
  beforeAll(async () => {
    server = await startModels({ port: 0, key: "secret", model: MODEL });
  });
  afterAll(() => server.close());

  const modelsOf = (more: Record<string, string> = {}) =>
    new DeploymentModels({
      clock: systemClock,
      log: pino({ enabled: false }),
      env: readEnv({
        OPENAI_BASE_URL: server.url,
        OPENAI_API_KEY: "secret",
        OPENAI_MODEL: MODEL,
        STT_BASE_URL: server.url,
        STT_API_KEY: "secret",
        STT_MODEL: MODEL,
        TTS_BASE_URL: server.url,
        TTS_API_KEY: "secret",
        TTS_MODEL: MODEL,
        ...more,
      }),
    });
  const spoken = async (
    talk: ReturnType<ReturnType<typeof modelsOf>["cascade"]>,
    text: string,
  ): Promise<Int16Array> => {
    const samples: number[] = [];
    for await (const pcm of talk.speech.speak(text, forever)) samples.push(...pcm);
    return resampleAll(Int16Array.from(samples), talk.speech.rate, 8000);
  };
  const FRAME = 160;

  test.each<[string, Record<string, string>]>([
    ["piece by piece", {}],
    ["while it is spoken", { STT_STREAMING: "true" }],
    ["while it is spoken, older names", { STT_STREAMING: "true", REALTIME_DIALECT: "beta" }],
    [
      "where the first endpoints refuse the key",
      {
        STT_API_KEY: "wrong",
        TTS_API_KEY: "wrong",
        ...Object.fromEntries(["STT", "TTS"].map((kind) => [`${kind}_FALLBACK_API_KEY`, "secret"])),
      },
    ],
  ])("what is spoken is understood, %s", async (_name, more) => {
    const fallbacks =
      more["STT_FALLBACK_API_KEY"] === undefined
        ? {}
        : { STT_FALLBACK_BASE_URL: server.url, TTS_FALLBACK_BASE_URL: server.url };
    const talk = modelsOf({ ...more, ...fallbacks }).cascade(wishes);
    const pcm = await spoken(talk, TEXT);
    const partials: string[] = [];
    const stretch = talk.transcription.open({
      rate: 8000,
      language: "en-US",
      onPartial: (text) => partials.push(text),
    });
    for (let at = 0; at < pcm.length; at += FRAME) stretch.push(pcm.subarray(at, at + FRAME));
    expect(await stretch.text(forever)).toBe(TEXT);
    if (more["STT_STREAMING"] !== undefined) expect(partials.length).toBeGreaterThan(3);
    stretch.close();
  });
  test("a template's endpoint is used by name", async () => {
    const named = modelsOf({
      TTS_API_KEY: "wrong",
      MODEL_ENDPOINTS: JSON.stringify({
        own: { base_url: server.url, key: "secret", model: MODEL, sample_rate: 24_000 },
      }),
    });
    expect(
      (await spoken(named.cascade({ ...wishes, models: { speech: { endpoint: "own" } } }), TEXT)).length,
    ).toBeGreaterThan(8000);
    await expect(spoken(named.cascade(wishes), "Another sentence.")).rejects.toMatchObject({ code: "MODEL_REFUSED" });
    expect(() => named.cascade({ ...wishes, models: { chat: { endpoint: "other" } } })).toThrow(
      expect.objectContaining({ type: "NOT_AVAILABLE" }),
    );
  });
  test("thinking and judging are the same model unless the template says otherwise; realtime is told where it is", async () => {
    const models = modelsOf({ REALTIME_BASE_URL: server.url, REALTIME_MODEL: MODEL, REALTIME_API_KEY: "secret" });
    const request = { messages: [{ role: "user", content: "Hello?" }], tools: [] } as const;
    expect((await models.chat(wishes).answer(request, { signal: forever, onText: () => undefined })).text).not.toBe("");
    expect(models.chat(wishes)).toBe(models.cascade(wishes).chat);
    expect(
      (await models.evaluation(wishes).answer(request, { signal: forever, onText: () => undefined })).text,
    ).not.toBe("");
    expect(models.realtime(wishes)).toMatchObject({
      base_url: server.url,
      model: MODEL,
      voice: "alloy",
      key: "secret",
    });
    expect(models.realtime({ ...wishes, voice: "marin" }).voice).toBe("marin");
  });
});
