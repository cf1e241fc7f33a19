import { commandStatus } from "../../../shared/process/command-line.ts";
import { VARIABLES } from "../../../shared/process/variables.ts";
import { apiClient, type Client } from "../api-client.ts";
import { laptop, withinReach } from "../deployment.ts";
import { LAPTOP_CALLS_PER_SECOND } from "../stack/service-environment.ts";
import { REHEARSE, rehearsalOf, type Wanted } from "./arguments.ts";
import { forecast } from "./forecast.ts";
import { readWorld } from "./read-world.ts";
import { report } from "./report.ts";

/** The inputs of a run: the command line, the laptop's data folder, and the environment. */
export interface CommandDeps {
  argv: readonly string[];
  folder: string;
  /** The token for a deployment's address that was kept, or is in the environment. */
  tokenFor(url: string): string | undefined;
  now: Date;
  print(line: string): void;
}

async function rehearsed(
  client: Client,
  { template, to, rehearsal, json, calls_per_second, price_per_minute: price }: Wanted,
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
  if (json) return print(JSON.stringify({ name, warnings, rehearsal, forecast: forecast(world, rehearsal) }, null, 2));
  if (calls_per_second === null && learned === null) {
    print(
      `No lead of the template is there to ask the deployment by, so ${usual} call${usual === 1 ? "" : "s"} per second of ${provider} ${usual === 1 ? "is" : "are"} assumed; --calls-per-second says otherwise.`,
    );
  }
  for (const line of report({ name, warnings, world, rehearsal, forecast: forecast(world, rehearsal) })) print(line);
}

/** Runs a rehearsal; the exit code: 0, or 2 for an error that the person can correct, which is printed as one line. */
export const rehearse = ({ argv, folder, tokenFor, now, print }: CommandDeps): Promise<number> =>
  commandStatus(
    REHEARSE,
    argv,
    async (asked) => {
      const { url: at } = asked.values;
      const wanted = rehearsalOf(asked, now, at === undefined ? undefined : tokenFor(at));
      const named = wanted.url !== null && wanted.token !== null ? { url: wanted.url, token: wanted.token } : null;
      const { url, token } = named ?? (await laptop(folder));
      const usual = named === null ? LAPTOP_CALLS_PER_SECOND : VARIABLES.PROVIDER_ONE_CALLS_PER_SECOND.default;
      await withinReach(url, rehearsed(apiClient(url, token), wanted, usual, print));
    },
    { out: print, err: print },
  );
