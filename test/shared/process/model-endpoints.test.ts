import { EnvironmentError, readEnv } from "../../../shared/process/env.ts";
import { parseModelEndpoints } from "../../../shared/process/model-endpoints.ts";

const KEY = "sk-very-secret";
const issuesOf = (env: Record<string, string>): string => {
  try {
    readEnv(env);
    return "";
  } catch (error) {
    return error instanceof EnvironmentError ? error.message : String(error);
  }
};

describe("the table of endpoints", () => {
  test("is read as written; a base loses its last slash", () => {
    const { endpoints, issues } = parseModelEndpoints(
      JSON.stringify({
        eu: { base_url: "https://eu.example.com/v1/", key: KEY, model: "m", sample_rate: 16_000, voice: "anna" },
        local: { base_url: "ws://box:8000/v1", model: "whisper" },
      }),
    );
    expect(issues).toEqual([]);
    expect([...endpoints]).toEqual([
      ["eu", { base_url: "https://eu.example.com/v1", key: KEY, model: "m", sample_rate: 16_000, voice: "anna" }],
      ["local", { base_url: "ws://box:8000/v1", model: "whisper" }],
    ]);
    expect(parseModelEndpoints(undefined)).toEqual({ endpoints: new Map(), issues: [] });
  });
  test.each<[string, string, string]>([
    ["text that is no JSON", `{"eu": {"key": "${KEY}"`, "JSON object"],
    ["a list", `[{"key": "${KEY}"}]`, "JSON object"],
    ["an endpoint that is a text", `{"eu": "${KEY}"}`, "MODEL_ENDPOINTS.eu must be an object"],
    ["a name with a blank", `{"e u": {"base_url": "https://a/v1", "model": "m", "key": "${KEY}"}}`, "endpoint 1"],
    ["no base", `{"eu": {"model": "m", "key": "${KEY}"}}`, "eu.base_url"],
    ["a base of another scheme", `{"eu": {"base_url": "ftp://${KEY}/v1", "model": "m"}}`, "eu.base_url"],
    ["no model", `{"eu": {"base_url": "https://a/v1", "key": "${KEY}"}}`, "eu.model"],
    ["an empty key", `{"eu": {"base_url": "https://a/v1", "model": "m", "key": ""}}`, "eu.key"],
    [
      "a rate of no telephone",
      `{"eu": {"base_url": "https://a/v1", "model": "m", "sample_rate": 44100, "key": "${KEY}"}}`,
      "eu.sample_rate",
    ],
    ["an unknown field", `{"eu": {"base_url": "https://a/v1", "model": "m", "${KEY}": 1}}`, "none of base_url"],
  ])("%s is refused at the start without showing a value", (_name, text, said) => {
    const told = issuesOf({ MODEL_ENDPOINTS: text });
    expect(told).toContain(said);
    expect(told).not.toContain(KEY);
  });
});

describe("what goes together", () => {
  const stt = { STT_BASE_URL: "http://a/v1", STT_MODEL: "w" };
  const tts = { TTS_BASE_URL: "http://a/v1", TTS_MODEL: "k" };
  test.each<[string, Record<string, string>, string]>([
    ["transcription without a model", { STT_BASE_URL: "http://a/v1" }, "STT_BASE_URL needs STT_MODEL"],
    ["speech without a model", { TTS_BASE_URL: "http://a/v1" }, "TTS_BASE_URL needs TTS_MODEL"],
    ["realtime without a model", { REALTIME_BASE_URL: "ws://a/v1" }, "REALTIME_BASE_URL needs REALTIME_MODEL"],
    [
      "a second endpoint for transcription without a first",
      { STT_FALLBACK_BASE_URL: "http://a/v1" },
      "STT_FALLBACK_BASE_URL needs STT_BASE_URL",
    ],
    [
      "a second endpoint for speech without a first",
      { TTS_FALLBACK_BASE_URL: "http://a/v1" },
      "TTS_FALLBACK_BASE_URL needs TTS_BASE_URL",
    ],
    ["a rate of no telephone", { ...tts, TTS_SAMPLE_RATE: "22050" }, "TTS_SAMPLE_RATE"],
    ["cascade without a voice", { ...stt, ENGINE_DEFAULT: "cascade" }, "ENGINE_DEFAULT cascade needs"],
    ["cascade without ears", { ...tts, ENGINE_DEFAULT: "cascade" }, "ENGINE_DEFAULT cascade needs"],
    ["realtime without its endpoint", { ENGINE_DEFAULT: "realtime" }, "ENGINE_DEFAULT realtime needs"],
  ])("%s is refused", (_name, env, said) => expect(issuesOf(env)).toContain(said));
  test.each<[string, Record<string, string>]>([
    ["nothing at all", {}],
    ["cascade with both", { ...stt, ...tts, ENGINE_DEFAULT: "cascade", TTS_SAMPLE_RATE: "8000" }],
    ["realtime with its endpoint", { REALTIME_BASE_URL: "ws://a/v1", REALTIME_MODEL: "r", ENGINE_DEFAULT: "realtime" }],
    ["relay", { ENGINE_DEFAULT: "relay" }],
  ])("%s is fine", (_name, env) => expect(issuesOf(env)).toBe(""));
});
