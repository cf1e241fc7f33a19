import { execFile } from "node:child_process";
import { join } from "node:path";
import { startModels } from "../../../local/models/server.ts";
import { checkEndpoints, endpointsOf } from "../../../local/tools/models/endpoints.ts";
import { findingsText, oddLength, wordsHeard } from "../../../local/tools/models/findings.ts";
import { ROOT } from "../../../local/tools/stack/project-root.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { startScriptedModel, type ScriptedModel } from "../../conversation/fixtures/scripted-model.ts";

/** `npm run models -- check`: what an endpoint can't do is told before a customer notices. */

const KEY = "sk-never-told";
let models: Awaited<ReturnType<typeof startModels>>;
let scripted: ScriptedModel;
beforeAll(async () => {
  [models, scripted] = await Promise.all([startModels({ port: 0 }), startScriptedModel()]);
});
afterAll(() => Promise.all([models.close(), scripted.close()]));

const own = (kind: string, rest: Record<string, string> = {}): Record<string, string> => ({
  [`${kind}_BASE_URL`]: models.url,
  [`${kind}_API_KEY`]: KEY,
  [`${kind}_MODEL`]: "callagent-sim",
  ...rest,
});
const checked = async (variables: Record<string, string>) => {
  const env = readEnv(variables);
  const all = await checkEndpoints(env, endpointsOf(env), { clock: systemClock, language: "en" }, () => undefined);
  expect(JSON.stringify(all)).not.toContain(KEY);
  return findingsText(all).split("\n");
};

test("every endpoint that is named is asked for what conversations need of it", async () => {
  const all = { ...own("OPENAI"), ...own("STT", { STT_STREAMING: "true" }), ...own("TTS"), ...own("REALTIME") };
  const lines = await checked(all);
  expect(lines.filter((line) => !line.startsWith(" ")).map((line) => line.split(":")[0])).toEqual([
    "language model",
    "speech",
    "transcription",
    "realtime",
  ]);
  expect(
    lines.filter((line) => /^ {2}ok +(?:words|function call|sound|transcription|streaming|session) +\d+ ms/.test(line)),
  ).toHaveLength(6);
  expect(lines.filter((line) => line.includes("100 % of the words"))).toHaveLength(2);
});

test.each<[string, () => Record<string, string>, RegExp[]]>([
  [
    "the second endpoint, which nobody would miss until the first fails",
    () => own("OPENAI", { OPENAI_FALLBACK_BASE_URL: "http://127.0.0.1:9/v1" }),
    [
      /^language model, fallback: callagent-sim at 127.0.0.1:9$/,
      /FAILS words .*can't be reached; check OPENAI_FALLBACK_BASE_URL/,
    ],
  ],
  [
    "a wrong sample rate",
    () => own("TTS", { TTS_SAMPLE_RATE: "8000" }),
    [/FAILS sound .*too slow for speech; is the sample rate of the endpoint right\?$/],
  ],
  [
    "an endpoint that templates choose, whose model is gone",
    () => ({ MODEL_ENDPOINTS: JSON.stringify({ eu: { base_url: models.url, key: KEY, model: "gone" } }) }),
    [
      /^endpoint "eu", language model: gone/,
      /FAILS words .*the model answered 404; check endpoint "eu" of MODEL_ENDPOINTS$/,
    ],
  ],
  [
    "a language model that calls no function",
    () => ({ OPENAI_BASE_URL: scripted.url, OPENAI_MODEL: "m" }),
    [/ok +words/, /FAILS function call .*it does not call the function that it is told to call/],
  ],
  [
    "a realtime model that is not there",
    () => own("REALTIME", { REALTIME_BASE_URL: "ws://127.0.0.1:9/v1" }),
    [/FAILS session .*no connection; check REALTIME_BASE_URL/],
  ],
])("it tells of %s", async (_what, variables, expected) => {
  const lines = await checked(variables());
  for (const told of expected) expect(lines).toContainEqual(expect.stringMatching(told));
});

test("words and lengths are compared as a person would", () => {
  expect(wordsHeard("I am sorry, could you?", "i'm sorry could YOU")).toBe(0.8);
  expect(wordsHeard("", "anything")).toBe(1);
  expect(oddLength("a".repeat(45), 3)).toBeNull();
  expect(oddLength("a".repeat(45), 1)).toContain("too fast");
  expect(oddLength("a".repeat(45), 0)).toContain("too fast");
});

test.each<[Record<string, string>, number, string]>([
  [{}, 2, "No model is named: set OPENAI_API_KEY"],
  [{ OPENAI_API_KEY: KEY }, 2, "OPENAI_MODEL is not set; name the language model"],
  [{ OPENAI_API_KEY: KEY, TTS_SAMPLE_RATE: "5" }, 2, "TTS_SAMPLE_RATE must be a whole number from 8000 to 48000"],
  [{ OPENAI_BASE_URL: "http://127.0.0.1:9/v1", OPENAI_API_KEY: KEY, OPENAI_MODEL: "m" }, 1, "FAILS words"],
])("with %j it ends with %d", async (variables, code, said) => {
  const done = await new Promise<{ code: number; said: string }>((resolve) => {
    const env = { PATH: process.env["PATH"], ...variables };
    const program = join(ROOT, "local/tools/models/main.ts");
    execFile(process.execPath, [program, "check"], { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), said: stdout + stderr }),
    );
  });
  expect(done).toEqual({ code, said: expect.stringContaining(said) });
  expect(done.said).not.toMatch(/\n {4}at |sk-never-told/);
});
