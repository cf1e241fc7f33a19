import type { Engine } from "../../../shared/contracts/records/models.ts";
import type { Sample } from "../sample/seed.ts";
import type { ModelsInUse } from "../stack/model-choice.ts";
import type { Stack } from "../stack/stack.ts";

/** What the banner of `npm start` says. `unused`: variables of models that are set and not used. */
export interface Facts {
  stack: Pick<Stack, "baseUrl" | "httpUrl" | "carrierUrl" | "secrets" | "metricsUrls">;
  sample: Sample;
  talk: string;
  engine: Engine;
  carriers: string;
  models: ModelsInUse;
  unused: readonly string[];
  /** Real phones ring. */
  isReal: boolean;
  logFile: string;
  zone: string;
}

const ENGINE_SAID: Record<Engine, string> = {
  relay: "the carrier's speech, as text",
  cascade: "speech to text, language model, text to speech",
  realtime: "one speech-to-speech model",
};
const NAME_WIDTH = 20;

/** The models by what stands behind each: `language model: gpt-5.4-mini at api.openai.com; speech to text: simulated`. */
export const modelsSaid = (models: ModelsInUse): string =>
  Object.entries(models)
    .map(([kind, model]) => `${kind}: ${model ?? "simulated"}`)
    .join("; ");

/** What `npm start` prints when all runs. */
export function banner({
  stack,
  sample,
  talk,
  engine,
  carriers,
  models,
  unused,
  isReal,
  logFile,
  zone,
}: Facts): string {
  const rows: (readonly [string, string])[] = [
    ["base URL", stack.baseUrl],
    ["in a browser", `${stack.httpUrl}/`],
    ["docs", `${stack.httpUrl}/docs`],
    ["talk to the agent", `${talk}   (in a browser on this machine)`],
    ["admin", `${stack.secrets.admin_email}  password ${stack.secrets.admin_password}`],
    ["reseller_id", sample.reseller_id],
    ["merchant_id", sample.merchant_id],
    ...sample.templates.flatMap(({ id, name, configuration_id }): [string, string][] => [
      ["template_id", `${id}  (${name})`],
      ["configuration_id", configuration_id],
    ]),
    ["webhook secret", sample.webhook_secret],
    ["engine", `${engine}: ${ENGINE_SAID[engine]}`],
    ["carriers", carriers],
    ["models", modelsSaid(models)],
    ...(unused.length === 0 ? [] : [["not used", `${unused.join(", ")}: --real uses them`] as const]),
    ["carrier's ledger", `${stack.carrierUrl}/ledger`],
    ...Object.entries(stack.metricsUrls).map(([name, url]): [string, string] => [
      `metrics of ${name}`,
      `${url}/metrics`,
    ]),
    ["log file", logFile],
    ["times below", zone],
  ];
  return [
    "",
    "callagent is running",
    ...rows.map(([name, said]) => `  ${name.padEnd(NAME_WIDTH)} ${said}`),
    "",
    isReal
      ? "  Call your own phone first: docs/first-real-call.md. Ctrl-C lets calls end and stops everything."
      : "  The last two digits of a number choose who answers: 01 confirms, 02 reschedules, 06 busy … (docs/tools.md). Ctrl-C lets calls end and stops everything.",
    "",
  ].join("\n");
}
