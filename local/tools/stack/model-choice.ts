import { UsageError } from "../../../shared/process/command-line.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** The hosted model that a person with a key of their own gets, where they name none. */
export const LAPTOP_MODEL = "gpt-5.4-mini";
const HOSTED = "https://api.openai.com/v1";
const SIMULATED_MODEL = "callagent-sim";

/** What each kind of model is called, the beginning of its variables, and the one without which none of them is used. */
const KINDS = [
  { name: "language model", beginning: "OPENAI_", first: "OPENAI_API_KEY" },
  { name: "speech to text", beginning: "STT_", first: "STT_BASE_URL" },
  { name: "text to speech", beginning: "TTS_", first: "TTS_BASE_URL" },
  { name: "realtime", beginning: "REALTIME_", first: "REALTIME_BASE_URL" },
] as const;

/** For each kind of model who answers, such as `gpt-5.4-mini at api.openai.com`; null: the simulator. */
export type ModelsInUse = Readonly<Record<(typeof KINDS)[number]["name"], string | null>>;

/** The kind that a variable belongs to, by the one it needs; undefined: it is no model's. */
export const firstVariableOf = (name: string): string | undefined =>
  KINDS.find(({ beginning }) => name.startsWith(beginning))?.first;

const isSet = (env: Variables, name: string): boolean => (env[name] ?? "").trim() !== "";

/** The variables of the models that a person named, as the services take them, by `--real` alone: a key in the shell makes nothing paid. UsageError where none is named. */
export function realModels(env: Variables): Record<string, string> {
  const given = Object.entries(env).filter(([name]) => {
    const first = firstVariableOf(name);
    return first !== undefined && isSet(env, first) && isSet(env, name);
  });
  if (given.length === 0)
    throw new UsageError(
      `--real needs a model: set OPENAI_API_KEY (with OPENAI_BASE_URL for another endpoint than OpenAI's; any key where it asks for none), or ${KINDS.slice(
        1,
      )
        .map(({ first }) => first)
        .join(", ")} (docs/models.md).`,
    );
  const chosen: Record<string, string> = {};
  for (const [name, value] of given) if (value !== undefined) chosen[name] = value;
  if (isSet(chosen, "OPENAI_API_KEY")) chosen["OPENAI_MODEL"] ??= LAPTOP_MODEL;
  return chosen;
}

/** The simulator's models at this address, under whatever `real` names in their place. */
export function modelVariables(url: string, key: string, real: Variables): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const { beginning, first } of KINDS)
    if (!isSet(real, first)) {
      variables[`${beginning}BASE_URL`] = url;
      variables[`${beginning}API_KEY`] = key;
      variables[`${beginning}MODEL`] = SIMULATED_MODEL;
    }
  for (const [name, value] of Object.entries(real)) if (value !== undefined) variables[name] = value;
  // simulated people speak in tones, which are no voice to a network; where speech is heard by a real model, voices are real too
  if (!isSet(real, "STT_BASE_URL") && !isSet(real, "REALTIME_BASE_URL")) variables["VOICE_DETECTION"] = "pitch";
  return variables;
}

/** Who answers for each kind. */
export function modelsInUse(real: Variables): ModelsInUse {
  const used = (beginning: string, first: string): string | null =>
    isSet(real, first)
      ? `${real[`${beginning}MODEL`] ?? "its default"} at ${new URL(real[`${beginning}BASE_URL`] ?? HOSTED).host}`
      : null;
  const [language, stt, tts, realtime] = KINDS.map(({ beginning, first }) => used(beginning, first));
  return {
    "language model": language ?? null,
    "speech to text": stt ?? null,
    "text to speech": tts ?? null,
    realtime: realtime ?? null,
  };
}
