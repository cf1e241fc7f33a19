import type { Prepared } from "../../../shared/contracts/conversation.ts";
import type { Engine, ModelUses } from "../../../shared/contracts/records/models.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import type { Env } from "../../../shared/process/env.ts";
import { parseModelEndpoints } from "../../../shared/process/model-endpoints.ts";

/** The settings of the deployment that decide which pipelines it can run. */
export type PipelineEnv = Pick<
  Env,
  "ENGINE_DEFAULT" | "STT_BASE_URL" | "TTS_BASE_URL" | "REALTIME_BASE_URL" | "MODEL_ENDPOINTS"
>;

/** The pipeline of a conversation, or why there can be none: a sentence for people. */
export type PipelineChoice = { engine: Engine } | { refused: string };

/** The models that each engine needs besides the deployment's language model, and the settings that name the deployment's own. */
const NEEDS: Record<
  Engine,
  readonly (readonly [
    use: "transcription" | "speech" | "realtime",
    variable: "STT_BASE_URL" | "TTS_BASE_URL" | "REALTIME_BASE_URL",
  ])[]
> = {
  cascade: [
    ["transcription", "STT_BASE_URL"],
    ["speech", "TTS_BASE_URL"],
  ],
  relay: [],
  realtime: [["realtime", "REALTIME_BASE_URL"]],
};
/** The models a template may choose for each of them. */
const USES: Record<Engine, readonly (keyof ModelUses)[]> = {
  cascade: ["chat", "transcription", "speech"],
  relay: ["chat"],
  realtime: ["realtime"],
};

const defaultOf = (env: PipelineEnv): Engine =>
  env.ENGINE_DEFAULT ?? (env.STT_BASE_URL !== undefined && env.TTS_BASE_URL !== undefined ? "cascade" : "relay");

/** How a conversation's media travels: as text where the carrier does the speech, else as audio. */
export const mediaKindOf = (engine: Engine): Prepared["kind"] => (engine === "relay" ? "text" : "audio");

/**
 * The pipeline of a template's conversations: the template's own, else its configuration's, else the deployment's. Refused where a model that it needs is missing: falling back to another
 * would change who processes the speech and what the call costs, and no client asked for it. Pure.
 */
export function choosePipeline(
  { engine: wanted, models }: Pick<TemplateRecord, "engine" | "models">,
  configured: Engine | null,
  env: PipelineEnv,
): PipelineChoice {
  const engine = wanted ?? configured ?? defaultOf(env);
  const missing = NEEDS[engine].flatMap(([use, variable]) =>
    models[use]?.endpoint === undefined && env[variable] === undefined ? [variable] : [],
  );
  if (missing.length > 0) {
    return {
      refused: `The engine ${engine} needs ${missing.join(" and ")} in the conversation service's environment, or endpoints of MODEL_ENDPOINTS that the template's models name; set them, or choose the engine relay.`,
    };
  }
  const named = USES[engine].flatMap((use) => models[use]?.endpoint ?? []);
  const { endpoints } = parseModelEndpoints(named.length === 0 ? undefined : env.MODEL_ENDPOINTS);
  const unknown = named.find((name) => !endpoints.has(name));
  return unknown === undefined
    ? { engine }
    : {
        refused: `The template asks for the model endpoint "${unknown}", which this deployment does not have; add it to MODEL_ENDPOINTS, or name another in the template's models.`,
      };
}

/** The same for the session of a browser, where no carrier does the speech: in place of the text relay one of the deployment's own pipelines that it has models for. Pure. */
export function chooseSessionPipeline(
  template: Pick<TemplateRecord, "engine" | "models">,
  configured: Engine | null,
  env: PipelineEnv,
): PipelineChoice {
  const choice = choosePipeline(template, configured, env);
  if (!("engine" in choice) || choice.engine !== "relay") return choice;
  const cascade = choosePipeline({ ...template, engine: "cascade" }, null, env);
  const realtime = choosePipeline({ ...template, engine: "realtime" }, null, env);
  return "engine" in cascade || !("engine" in realtime) ? cascade : realtime;
}
