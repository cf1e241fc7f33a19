import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { VARIABLES } from "../../../shared/process/variables.ts";
import { apiClient, ApiFailure, login, type Client } from "../api-client.ts";
import type { LocalSecrets } from "../stack/secrets.ts";
import { LAPTOP_CALLS_PER_SECOND } from "../stack/service-environment.ts";
import { readArguments, RehearsalFault, USAGE, type Asked } from "./arguments.ts";
import { forecast } from "./forecast.ts";
import { readWorld } from "./read-world.ts";
import { report } from "./report.ts";

/** The inputs of a run: the command line, the laptop's data folder, and the environment. */
export interface CommandDeps {
  argv: readonly string[];
  folder: string;
  token: string | undefined;
  now: Date;
  print(line: string): void;
}

/** `usual`: the calls per second that are assumed of PROVIDER_ONE's account where no deployment tells them. */
interface Address {
  url: string;
  token: string;
  usual: number;
}

/** The stack that npm start runs with this folder, as its first admin. */
async function laptop(folder: string): Promise<Address> {
  const none = `No callagent runs with the data folder ${folder}: start one with npm start, or name a deployment with --url and --token.`;
  const [sample, secrets] = ["sample.env", "secrets.json"].map((name) => join(folder, name)) as [string, string];
  if (!existsSync(sample) || !existsSync(secrets)) throw new RehearsalFault(none);
  const url = /^BASE=(\S+)$/m.exec(readFileSync(sample, "utf8"))?.[1] ?? "";
  const { admin_email, admin_password } = JSON.parse(readFileSync(secrets, "utf8")) as LocalSecrets;
  const token = await login(url, admin_email, admin_password).catch((error: unknown) => {
    throw isUnreachable(error) ? new RehearsalFault(none) : error;
  });
  return { url, token, usual: LAPTOP_CALLS_PER_SECOND };
}

/** fetch throws a TypeError with a cause for all that keeps it from an answer. */
const isUnreachable = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "name" in error &&
  (error.name === "TimeoutError" || (error.name === "TypeError" && "cause" in error));
const isNoJson = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "name" in error && error.name === "SyntaxError";

async function rehearsed(
  client: Client,
  { template, to, rehearsal, calls_per_second, price_per_minute: price }: Asked,
  usual: number,
  print: CommandDeps["print"],
): Promise<void> {
  const {
    name,
    numbers: _numbers,
    calls_per_second: learned,
    ceilings,
    warnings,
    ...read
  } = await readWorld(client, template, to);
  const provider = read.plan.configuration?.calling_provider ?? "PROVIDER_ONE";
  const spend = ceilings && { ceilings, price };
  const world = { ...read, spend, calls_per_second: calls_per_second ?? learned ?? usual };
  if (calls_per_second === null && learned === null) {
    print(
      `No lead of the template is there to ask the deployment by, so ${usual} call${usual === 1 ? "" : "s"} per second of ${provider} ${usual === 1 ? "is" : "are"} assumed; --calls-per-second says otherwise.`,
    );
  }
  for (const line of report({ name, warnings, world, rehearsal, forecast: forecast(world, rehearsal) })) print(line);
}

/** Runs a rehearsal; the exit code: 0, or 2 for an error that the person can correct, which is printed as one line. */
export async function rehearse(deps: CommandDeps): Promise<number> {
  try {
    const asked = readArguments(deps.argv, deps.now, deps.token);
    if (!asked) {
      deps.print(USAGE);
      return 0;
    }
    const usual = VARIABLES.PROVIDER_ONE_CALLS_PER_SECOND.default;
    const at: Address =
      asked.url !== null && asked.token !== null
        ? { url: asked.url, token: asked.token, usual }
        : await laptop(deps.folder);
    const { url } = at;
    await rehearsed(apiClient(url, at.token), asked, at.usual, deps.print).catch((error: unknown) => {
      if (isUnreachable(error))
        throw new RehearsalFault(`Nothing answers at ${url}; is the address right, and does it run?`);
      if (isNoJson(error))
        throw new RehearsalFault(
          `What answers at ${url} is no callagent; the address ends with /agent/voice/callagent.`,
        );
      throw error;
    });
    return 0;
  } catch (error) {
    if (!(error instanceof RehearsalFault) && !(error instanceof ApiFailure)) throw error;
    deps.print(error.message);
    return 2;
  }
}
