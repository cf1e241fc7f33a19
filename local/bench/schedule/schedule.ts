import { loadavg } from "node:os";
import { UsageError } from "../../../shared/process/command-line.ts";
import type { AskedBench } from "../../commands.ts";
import { benchEqual, benchQuiet } from "./fairness.ts";
import { benchFaults } from "./outages.ts";
import { benchLatency, parkedWorld } from "./latency.ts";
import { benchRate } from "./dial-rate.ts";
import { benchTrees } from "./two-trees.ts";

const MANY = 1_000_000;
const FEW = 10_000;

const busy = (): string =>
  `load ${loadavg()
    .map((n) => n.toFixed(1))
    .join(" ")}`;

async function row(name: string, run: () => Promise<void>): Promise<void> {
  console.log(`\n== ${name} (${busy()})`);
  await run();
  console.log(`   (${busy()})`);
}

const PER_SECOND = 200;
/** Of two versions that share the machine. */
const PER_SECOND_OF_TREES = 20;

async function parkedRows(perSecond = PER_SECOND): Promise<void> {
  const latency = await parkedWorld(MANY);
  await row("due -> carrier request", () =>
    benchLatency({ perSecond, seconds: 10, rounds: 5, parked: MANY, few: FEW }, latency),
  );
  await row("a quiet tenant", () => benchQuiet(latency, { quietSeconds: 60, equalSeconds: 0 }));
  await latency.world.stop();
}

const treesRow = (tree: string, perSecond = PER_SECOND_OF_TREES): Promise<void> =>
  row(`this tree and ${tree}`, () => benchTrees({ tree, perSecond, seconds: 10, rounds: 10, parked: FEW, few: FEW }));

const ROWS: Record<string, (perSecond?: number) => Promise<void>> = {
  rate: () => row("due -> intent written", () => benchRate({ leads: 5000, burst: 1000, rounds: 5, jobs: 20_000 })),
  parked: parkedRows,
  killed: () => row("a process is killed", () => benchFaults({ leads: 50, rounds: 2 })),
  equal: () => row("equal tenants", () => benchEqual({ quietSeconds: 0, equalSeconds: 30 })),
};

/**
 * `npm run bench -- schedule [rate|parked|killed|equal] [--rate <leads a second>] [--tree <folder>]`: the scheduler's road beside BullMQ and graphile-worker; some twelve minutes in all, most of it for
 * writing a million leads. A machine that others use may need fewer leads a second than 200.
 * With a tree nothing but due → dial of this version and that one, alternating.
 */
export async function benchSchedule({ values: { rate, tree }, parts: [only] }: AskedBench): Promise<void> {
  if (only !== undefined && !ROWS[only])
    throw new UsageError(`There is no part ${only}; there is ${Object.keys(ROWS).join(", ")}`);
  console.log(
    `schedule: node ${process.versions.node}; embedded store as a process of its own, carrier that takes notes and finds every phone busy; all of it shares this machine`,
  );
  if (tree !== undefined) return treesRow(tree, rate);
  for (const [name, run] of Object.entries(ROWS)) if (only === undefined || only === name) await run(rate);
}
