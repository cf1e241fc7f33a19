import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { AskedBench } from "../../commands.ts";
import { ROOT } from "../../tools/stack/project-root.ts";
import { costsIn, PAGE, pageOf } from "./cost-page.ts";
import type { Costs } from "./costs.ts";
import { judgeCounts, type Check } from "./judge.ts";

const run = promisify(execFile);
const COUNTING = "test/simulation/costs/main.ts";

/** What each item costs in virtual time. */
async function virtualCosts(): Promise<Costs> {
  const { stdout } = await run(process.execPath, [join(ROOT, COUNTING)]);
  return JSON.parse(stdout) as Costs;
}

/** Prints what grew, then the sum; whether nothing did. */
function tell(checks: readonly Check[]): void {
  for (const { ok, says } of checks) if (!ok || says.includes("→")) console.log(`${ok ? "     " : "GREW "} ${says}`);
  const failed = checks.filter(({ ok }) => !ok).length;
  console.log(`${checks.length - failed} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}

/**
 * `npm run bench -- guard`: what each item costs, by what docs/cost.md keeps.
 */
export async function benchGuard({ values: { write } }: AskedBench): Promise<void> {
  const costs = await virtualCosts();
  const page = join(ROOT, PAGE);
  if (write) {
    writeFileSync(page, pageOf(costs));
    console.log(`${PAGE} is written`);
    return;
  }
  tell(judgeCounts(costsIn(readFileSync(page, "utf8")), costs));
}
