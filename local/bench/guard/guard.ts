import { readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import type { AskedBench } from "../../commands.ts";
import { commitTree } from "../../harness/commit-tree.ts";
import { ROOT } from "../../tools/stack/project-root.ts";
import { costsIn, PAGE, pageOf } from "./cost-page.ts";
import { judgeCounts, judgeProcessor, judgeCommands, type Check } from "./judge.ts";
import { IDLE, playTrees } from "./tree-rounds.ts";
import { virtualCosts, virtualRounds } from "./virtual-rounds.ts";

const PARENT = "HEAD^";

/** Processor time and commands of real processes beside those of another commit; nothing where git has no such commit here. */
async function besideCommit(ref: string, short: boolean): Promise<Check[]> {
  const other = await commitTree(ref).catch((error: Error) => {
    console.log(`Processor time is not judged: ${error.message}`);
    return null;
  });
  if (!other) return [];
  try {
    const virtual = await virtualRounds(other.root);
    if (virtual.pairs.length === 0) console.log(`Processor time in virtual time is not judged: ${ref} tells none.`);
    const rounds = await playTrees(ROOT, other.root, short);
    return [
      ...(virtual.pairs.length === 0 ? [] : [judgeProcessor(virtual)]),
      ...rounds.flatMap((of) => [judgeProcessor(of), ...(of.item === IDLE ? [] : [judgeCommands(of)])]),
    ];
  } finally {
    other.remove();
  }
}

function tell(checks: readonly Check[]): void {
  for (const { ok, says } of checks) if (!ok || says.includes("→")) console.log(`${ok ? "ok  " : "GREW"}  ${says}`);
}

/**
 * `npm run bench -- guard [ref]`: what each item costs in virtual time by what docs/cost.md keeps, and on real processes by what it costs another commit. `--short` takes less than three minutes. Exit
 * status 1 where anything grew.
 */
export async function benchGuard({ values: { write, short }, parts: [ref = PARENT] }: AskedBench): Promise<void> {
  const costs = await virtualCosts();
  const page = join(ROOT, PAGE);
  if (write) {
    writeFileSync(page, pageOf(costs));
    console.log(`${PAGE} is written`);
    return;
  }
  const counts = judgeCounts(costsIn(readFileSync(page, "utf8")), costs);
  console.log(`In virtual time, by what ${PAGE} keeps: ${counts.length} figures`);
  tell(counts);
  console.log(`On real processes, beside ${ref}, in alternating rounds; load ${loadavg()[0]?.toFixed(1) ?? ""}`);
  const processes = await besideCommit(ref, short);
  tell(processes);
  const checks = [...counts, ...processes];
  const failed = checks.filter(({ ok }) => !ok).length;
  console.log(`${checks.length - failed} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}
