import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../tools/stack/project-root.ts";
import type { Costs } from "./costs.ts";
import type { TimedRounds } from "./judge.ts";

const run = promisify(execFile);
const COUNTING = "test/simulation/costs/main.ts";
/** Pairs of processes, one of each tree, that run side by side; each plays so many rounds. */
const WORLDS = 3;
const ROUNDS = 8;

/** What the simulation of one tree says. */
interface Counted {
  costs: Costs;
  /** Absent: the tree's simulation is older than these times. */
  processor_ms?: number[];
}

async function count(root: string, rounds: number): Promise<Counted> {
  const { stdout } = await run(process.execPath, [join(root, COUNTING), String(rounds)]);
  return JSON.parse(stdout) as Counted;
}

/** What each item costs in virtual time. */
export const virtualCosts = async (): Promise<Costs> => (await count(ROOT, 0)).costs;

/**
 * Processor time of all items together in virtual time, on this tree and on another. The same is done in the same order each time, so it swings much less than on real
 * processes; the driver, the store and sockets are not in it. A tree whose simulation tells no times has none.
 */
export async function virtualRounds(theirs: string): Promise<TimedRounds> {
  const pairs: TimedRounds["pairs"] = [];
  for (let world = 0; world < WORLDS && existsSync(join(theirs, COUNTING)); world++) {
    const [a, b] = await Promise.all([count(ROOT, ROUNDS), count(theirs, ROUNDS)]);
    for (const [i, ms] of (a.processor_ms ?? []).entries()) {
      const other = b.processor_ms?.[i];
      if (other !== undefined) pairs.push({ ours: { ms }, theirs: { ms: other }, world });
    }
  }
  return { item: "all items in virtual time", pairs };
}
