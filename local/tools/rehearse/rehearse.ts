import { VARIABLES } from "../../../shared/process/variables.ts";
import { apiClient, ApiFailure, type Client } from "../api-client.ts";
import { CommandFault, laptop, withinReach } from "../deployment.ts";
import { LAPTOP_CALLS_PER_SECOND } from "../stack/service-environment.ts";
import { readArguments, USAGE, type Asked } from "./arguments.ts";
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
    const named = asked.url !== null && asked.token !== null ? { url: asked.url, token: asked.token } : null;
    const { url, token } = named ?? (await laptop(deps.folder));
    const usual = named === null ? LAPTOP_CALLS_PER_SECOND : VARIABLES.PROVIDER_ONE_CALLS_PER_SECOND.default;
    await withinReach(url, rehearsed(apiClient(url, token), asked, usual, deps.print));
    return 0;
  } catch (error) {
    if (!(error instanceof CommandFault) && !(error instanceof ApiFailure)) throw error;
    deps.print(error.message);
    return 2;
  }
}
