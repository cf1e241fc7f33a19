import type { LocalSecrets } from "../../../../local/tools/stack/secrets.ts";
import { modelsSaid } from "../../../../local/tools/console/banner.ts";
import { modelsInUse, realModels } from "../../../../local/tools/stack/model-choice.ts";
import { ownVariables, passedVariables } from "../../../../local/tools/stack/own-variables.ts";
import { serviceEnv } from "../../../../local/tools/stack/service-environment.ts";
import { VARIABLES, type Variable } from "../../../../shared/process/variables.ts";
import { pageAt } from "../../../docs/pages.ts";

/** Every variable of the configuration page reaches the services of `npm start`, is read by it, or is refused by name. */
const LISTED = [...pageAt("docs/configuration.md").matchAll(/^\| `([A-Z0-9_]+)` \|/gm)].map((m) => m[1] ?? "");
/** What `npm start` reads itself; a test elsewhere sees each of them at work. */
const READ = ["HTTP_PORT", "MEDIA_PORT", "METRICS_PORT", "MONGODB_URI", "LOG_LEVEL"];
/** What makes others be taken: a model of one's own. */
const MODELS = {
  OPENAI_API_KEY: "key",
  STT_BASE_URL: "http://stt.test",
  TTS_BASE_URL: "http://tts.test",
  REALTIME_BASE_URL: "http://rt.test",
};

const valueOf = (name: string): string => {
  const v = Object.entries<Variable>(VARIABLES).find(([known]) => known === name)?.[1];
  if (v?.kind === "integer") return String(v.max ?? 7);
  if (v?.kind === "boolean") return "true";
  if (v?.kind === "url") return "http://set.test";
  return v?.values?.at(-1) ?? "Europe/Berlin";
};
const secrets = new Proxy({} as LocalSecrets, { get: () => "made" });
const servicesWith = (extra: Record<string, string>, real: Record<string, string> = {}): Record<string, string> =>
  serviceEnv({
    http: 1,
    media: 2,
    carrier: "http://carrier.test",
    models: "http://models.test",
    mongo: "mongodb://store.test",
    recordings: "/data/recordings",
    secrets,
    engine: "relay",
    real,
    twilio: null,
    extra,
  });

test("the page lists variables, and all there are", () => {
  expect([...LISTED].sort()).toEqual(Object.keys(VARIABLES).sort());
});

test.each(LISTED)("%s reaches the services, is read by npm start, or is refused by name", (name) => {
  const value = valueOf(name);
  const env = { ...MODELS, [name]: value };
  const { passed, refused } = ownVariables(env, { real: true, carrier: false });
  const reaches = servicesWith(passed, realModels(env))[name] === value;
  const named = refused.some((line) => line.startsWith(`${name}: `));
  expect({ name, ways: [reaches, READ.includes(name), named].filter(Boolean).length }).toEqual({ name, ways: 1 });
});

test.each([
  "DEFAULT_TIMEZONE",
  "API_RATE_LIMIT_PER_MINUTE",
  "UPLOAD_CALL_RECORDINGS_TO_CLOUD",
  "S3_BUCKET",
  "S3_ENDPOINT",
  "S3_ACCESS_KEY_ID",
  "S3_SECRET_ACCESS_KEY",
  "CORS_ORIGINS",
  "CALL_PRICES",
])("%s reaches the services", (name) => {
  expect(servicesWith(passedVariables({ [name]: "x" }, { real: false, carrier: false }).passed)[name]).toBe("x");
});

test("variables of a model without its address are refused, and with it they reach the services", () => {
  expect(() => passedVariables({ TTS_VOICE: "nova" }, { real: true, carrier: false })).toThrow(
    /TTS_VOICE: it needs TTS_BASE_URL/,
  );
  expect(realModels({ TTS_VOICE: "nova", TTS_BASE_URL: "http://tts.test" })).toEqual({
    TTS_VOICE: "nova",
    TTS_BASE_URL: "http://tts.test",
  });
});

describe("a key in the shell", () => {
  const env = { OPENAI_API_KEY: "sk-paid", STT_BASE_URL: "http://stt.test", DEFAULT_TIMEZONE: "UTC" };
  test("is not used without --real, and it is said", () => {
    expect(ownVariables(env, { real: false, carrier: false })).toEqual({
      passed: { DEFAULT_TIMEZONE: "UTC" },
      refused: [],
      unused: ["OPENAI_API_KEY", "STT_BASE_URL"],
    });
    expect(servicesWith({})).toMatchObject({
      OPENAI_API_KEY: "made",
      OPENAI_BASE_URL: "http://models.test",
      STT_BASE_URL: "http://models.test",
      VOICE_DETECTION: "pitch",
    });
  });
  test("is used with --real, the rest stays simulated, and the banner names each", () => {
    const real = realModels(env);
    expect(servicesWith({}, real)).toMatchObject({
      OPENAI_API_KEY: "sk-paid",
      OPENAI_MODEL: "gpt-5.4-mini",
      STT_BASE_URL: "http://stt.test",
      TTS_BASE_URL: "http://models.test",
    });
    expect(servicesWith({}, real)).not.toHaveProperty("OPENAI_BASE_URL");
    expect(servicesWith({}, real)).not.toHaveProperty("VOICE_DETECTION");
    expect(modelsSaid(modelsInUse(real))).toBe(
      "language model: gpt-5.4-mini at api.openai.com; speech to text: its default at stt.test; text to speech: simulated; realtime: simulated",
    );
    expect(modelsSaid(modelsInUse({}))).not.toMatch(/ at /);
  });
  test("--real without any says what is missing", () =>
    expect(() => realModels({ OPENAI_MODEL: "x" })).toThrow(
      /^--real needs a model: set OPENAI_API_KEY .*STT_BASE_URL/,
    ));
});

test("what can't be taken stops the start, every name with its reason; an empty value is none", () => {
  expect(() =>
    passedVariables(
      { TWILIO_AUTH_TOKEN: "x", JWT_PRIVATE_KEY: "y", DEFAULT_TIMEZONE: "UTC" },
      { real: false, carrier: false },
    ),
  ).toThrow(
    /unset them:\n {2}JWT_PRIVATE_KEY: it makes its own[^\n]*\n {2}TWILIO_AUTH_TOKEN: its carriers are simulated/,
  );
  expect(ownVariables({ TWILIO_AUTH_TOKEN: "", S3_BUCKET: " " }, { real: false, carrier: false })).toEqual({
    passed: {},
    refused: [],
    unused: [],
  });
});
