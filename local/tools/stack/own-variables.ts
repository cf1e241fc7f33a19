import { VARIABLES } from "../../../shared/process/variables.ts";
import { firstVariableOf } from "./model-choice.ts";
import { StartError } from "./data-folder.ts";

/** Which variables of the configuration a person's `npm start` takes: every one of shared/process/variables.ts is in exactly one of these. */
export interface OwnVariables {
  /** They go to the services as they are. */
  passed: Record<string, string>;
  /** Lines that say which can't be taken, and why. */
  refused: string[];
  /** Variables of models, which --real alone uses. */
  unused: string[];
}

/** `npm start` reads these itself: ports, the database, the models in place of the simulated ones (service-environment.ts). */
const TAKEN: ReadonlySet<string> = new Set(["HTTP_PORT", "MEDIA_PORT", "METRICS_PORT", "MONGODB_URI", "LOG_LEVEL"]);

const SIMULATED =
  "its carriers are simulated and no real phone rings; --carrier twilio uses a real account (docs/first-real-call.md)";
const ITS_OWN = "it makes its own at the first start and prints it";
const ITS_ADDRESS =
  "it listens on this machine only; choose the port with HTTP_PORT, MEDIA_PORT and METRICS_PORT (a public address is for --carrier twilio)";
const ITS_BUS = "it has no bus of others; --split starts one of its own";

/** Why a variable can't be taken, by the beginning of its name; the longest that fits holds. */
const REFUSED: Readonly<Record<string, string>> = {
  NODE_ENV: "it is for a laptop",
  NAMESPACE: ITS_BUS,
  NODE_ID: ITS_BUS,
  TRANSPORTER: ITS_BUS,
  NATS_: ITS_BUS,
  BUS_: ITS_BUS,
  MIGRATE_AT_START: "it prepares the database itself",
  HTTP_HOST: ITS_ADDRESS,
  MEDIA_HOST: ITS_ADDRESS,
  METRICS_HOST: ITS_ADDRESS,
  PUBLIC_HTTP_URL: ITS_ADDRESS,
  PUBLIC_WS_URL: ITS_ADDRESS,
  ADMIN_: ITS_OWN,
  JWT_: ITS_OWN,
  SECRETS_: ITS_OWN,
  PROVIDER_: SIMULATED,
  TWILIO_: SIMULATED,
  PLIVO_: SIMULATED,
  TELNYX_: SIMULATED,
  ENGINE_DEFAULT: "choose it with --engine",
  TALK_PAGE_URL: "it has a page of its own",
  RECORDINGS_DIR: "recordings lie in the data folder; choose that with CALLAGENT_DATA",
  CRASH_AT: "it is a switch of the tests",
};

const beginningOf = (name: string): string | undefined =>
  Object.keys(REFUSED).find((beginning) => (beginning.endsWith("_") ? name.startsWith(beginning) : name === beginning));

function refusalOf(name: string, env: Readonly<Record<string, string | undefined>>): string | null {
  const beginning = beginningOf(name);
  if (beginning !== undefined) return `${name}: ${REFUSED[beginning]}`;
  const first = firstVariableOf(name);
  return first !== undefined && !env[first]
    ? `${name}: it needs ${first}; without it the simulated model is used`
    : null;
}

/** What `--carrier twilio` takes beyond that; it reads the account and the addresses itself. */
const OF_REAL_CARRIER = /^(?:TWILIO_|PUBLIC_(?:HTTP|WS)_URL$|PROVIDER_ONE_CALLS_PER_SECOND$)/;

/** How a stack is started, as far as variables depend on it. */
export interface Chosen {
  /** The models of the environment are used. */
  real: boolean;
  /** A real account of a carrier is. */
  carrier: boolean;
}

/** What of a person's environment goes to the services, and what can't; an empty variable counts as unset. */
export function ownVariables(
  env: Readonly<Record<string, string | undefined>>,
  { real, carrier }: Chosen,
): OwnVariables {
  const passed: Record<string, string> = {};
  const refused: string[] = [];
  const unused: string[] = [];
  for (const name of Object.keys(VARIABLES)) {
    const value = env[name];
    if (value === undefined || value.trim() === "") continue;
    const isModel = firstVariableOf(name) !== undefined;
    const refusal = refusalOf(name, env);
    if (carrier && OF_REAL_CARRIER.test(name)) {
      if (name.startsWith("PROVIDER_ONE_")) passed[name] = value;
    } else if (isModel && !real) unused.push(name);
    else if (refusal !== null) refused.push(refusal);
    else if (!isModel && !TAKEN.has(name)) passed[name] = value;
  }
  return { passed, refused, unused };
}

/** What `ownVariables` says. StartError names each variable that can't be taken. */
export function passedVariables(env: Readonly<Record<string, string | undefined>>, chosen: Chosen): OwnVariables {
  const own = ownVariables(env, chosen);
  if (own.refused.length > 0)
    throw new StartError(
      `npm start does not take these variables; unset them:\n${own.refused.map((line) => `  ${line}`).join("\n")}`,
    );
  return own;
}
