import { describe, expect, test } from "@jest/globals";
import {
  choosePipeline,
  mediaKindOf,
  type PipelineEnv,
} from "../../../services/conversation/pipelines/pipeline-choice.ts";
import type { Engine, ModelUses } from "../../../shared/contracts/records/models.ts";

const STT = { STT_BASE_URL: "http://stt/v1" };
const TTS = { TTS_BASE_URL: "http://tts/v1" };
const SPEECH = { ...STT, ...TTS };
const REALTIME = { REALTIME_BASE_URL: "http://rt/v1" };
const NAMED = { MODEL_ENDPOINTS: JSON.stringify({ here: { base_url: "http://m/v1", model: "m" } }) };
const template = (engine: Engine | null, models: ModelUses = {}) => ({ engine, models });

describe("who has the say: the template, its configuration, the deployment", () => {
  test.each<[string, Engine | null, Engine | null, PipelineEnv, Engine]>([
    ["nobody says anything, no speech endpoints", null, null, {}, "relay"],
    ["nobody says anything, only one speech endpoint", null, null, STT, "relay"],
    ["nobody says anything, both speech endpoints", null, null, SPEECH, "cascade"],
    ["the deployment", null, null, { ...SPEECH, ENGINE_DEFAULT: "relay" }, "relay"],
    ["the configuration over the deployment", null, "relay", SPEECH, "relay"],
    ["the template over the configuration", "cascade", "relay", { ...SPEECH, ENGINE_DEFAULT: "relay" }, "cascade"],
    ["realtime by the template", "realtime", null, REALTIME, "realtime"],
    ["realtime by the deployment", null, null, { ...REALTIME, ENGINE_DEFAULT: "realtime" }, "realtime"],
  ])("%s", (_what, wanted, configured, env, engine) =>
    expect(choosePipeline(template(wanted), configured, env)).toEqual({ engine }),
  );
});

describe("what an engine needs", () => {
  test.each<[string, Engine, ModelUses, PipelineEnv, RegExp]>([
    ["cascade without both", "cascade", {}, {}, /STT_BASE_URL and TTS_BASE_URL/],
    ["cascade without speech", "cascade", {}, STT, /cascade needs TTS_BASE_URL in/],
    ["realtime without its endpoint", "realtime", {}, SPEECH, /REALTIME_BASE_URL/],
    ["an endpoint that is not named", "cascade", { chat: { endpoint: "there" } }, { ...SPEECH, ...NAMED }, /"there"/],
    ["an endpoint where none is named", "relay", { chat: { endpoint: "here" } }, {}, /"here"/],
  ])("%s is refused, and it is said what to set", (_what, engine, models, env, words) =>
    expect(choosePipeline(template(engine, models), null, env)).toEqual({ refused: expect.stringMatching(words) }),
  );

  test.each<[string, Engine, ModelUses, PipelineEnv]>([
    [
      "named endpoints stand in for the deployment's",
      "cascade",
      { transcription: { endpoint: "here" }, speech: { endpoint: "here" } },
      NAMED,
    ],
    ["another model at the deployment's own endpoint", "realtime", { realtime: { model: "other" } }, REALTIME],
    ["models of other engines are not looked at", "relay", { speech: { endpoint: "there" } }, {}],
  ])("%s", (_what, engine, models, env) =>
    expect(choosePipeline(template(engine, models), null, env)).toEqual({ engine }),
  );
});

test("only the relay's conversations travel as text", () => {
  expect((["cascade", "relay", "realtime"] as const).map(mediaKindOf)).toEqual(["audio", "text", "audio"]);
});
