import { availableParallelism } from "node:os";
import { SIMULATE } from "../../local/commands.ts";
import { runCommand } from "../../shared/process/command-line.ts";
import { openFleet, type Fleet, type Report } from "./engine/fleet.ts";
import type { Outcome } from "./engine/run.ts";

/** `npm run simulate`: many seeds, or one seed again with its whole trace. */
const LAST_LINES = 60;
/** Who tells a violation in the trace. */
const JUDGE = " JUDGE ";
const FAILURES_SHOWN = 3;
const TELL_EVERY = 1000;

const violations = (outcome: Outcome): string =>
  outcome.violations.map((v) => `  ${(v.at / 1000).toFixed(3)} s  ${v.invariant}: ${v.what}`).join("\n");
const table = (tally: Readonly<Record<string, number>>): string =>
  Object.entries(tally)
    .sort((a, b) => b[1] - a[1])
    .map(([what, times]) => `  ${String(times).padStart(9)}  ${what}`)
    .join("\n");

async function oneSeed(fleet: Fleet, seed: number, mutation: string | undefined, json: boolean): Promise<number> {
  const outcome = await fleet.once(seed, { traced: true, mutation });
  if (json) console.log(JSON.stringify(outcome, null, 2));
  if (json) return outcome.violations.length === 0 ? 0 : 1;
  console.log(outcome.trace.join("\n"));
  console.log(
    `\nseed ${seed}: ${outcome.steps} steps, ${outcome.virtualSeconds} virtual seconds, hash ${outcome.hash}\n${table(outcome.tally)}`,
  );
  console.log(outcome.violations.length === 0 ? "every invariant held" : `violated:\n${violations(outcome)}`);
  return outcome.violations.length === 0 ? 0 : 1;
}

/** Tells the story of a failure: the run is repeated with its trace. */
async function tellFailure(fleet: Fleet, failed: Outcome, mutation: string | undefined): Promise<void> {
  const { trace } = await fleet.once(failed.seed, { traced: true, mutation });
  const until = trace.findIndex((line) => line.includes(JUDGE)) + 1 || trace.length;
  console.log(
    `\nseed ${failed.seed} violated:\n${violations(failed)}\nits last lines before that:\n${trace.slice(Math.max(0, until - LAST_LINES), until).join("\n")}\nagain: npm run simulate -- --seed ${failed.seed}${mutation === undefined ? "" : ` --mutation ${mutation}`}`,
  );
}

function figures({ runs, seconds, steps, virtualSeconds, failed, tally }: Report, workers: number): string {
  return (
    `${table(tally)}\n${runs} seeds on ${workers} threads in ${seconds.toFixed(1)} s: ${(runs / seconds).toFixed(1)} seeds/s, ${Math.round(steps / runs)} steps and ${Math.round(virtualSeconds / runs)} virtual seconds each\n` +
    (failed.length === 0
      ? "every invariant held in every run"
      : `${failed.length} runs violated an invariant: seeds ${failed
          .slice(0, 20)
          .map((f) => f.seed)
          .join(", ")}${failed.length > 20 ? ", …" : ""}`)
  );
}

interface Campaign {
  seeds: number;
  from: number;
  mutation: string | undefined;
  json: boolean;
}

async function manySeeds(fleet: Fleet, workers: number, asked: Campaign): Promise<number> {
  const { seeds, from, mutation, json } = asked;
  const tell = (line: string): void => (json ? undefined : console.log(line));
  let told = 0;
  const report = await fleet.campaign({
    from,
    count: seeds,
    mutation,
    onOutcome: ({ seed, violations: found }) => {
      told++;
      if (found.length > 0) tell(`seed ${seed} violated ${found.map(({ invariant }) => invariant).join(", ")}`);
      if (told % TELL_EVERY === 0) tell(`${told} of ${seeds} seeds`);
    },
  });
  if (json) console.log(JSON.stringify(report, null, 2));
  else {
    for (const failed of report.failed.slice(0, FAILURES_SHOWN)) await tellFailure(fleet, failed, mutation);
    console.log(`\n${figures(report, workers)}`);
  }
  return report.failed.length === 0 ? 0 : 1;
}

await runCommand(SIMULATE, async ({ values }) => {
  const { seed, mutation, json, workers = availableParallelism() } = values;
  const fleet = openFleet(seed === undefined ? workers : 1);
  try {
    return seed === undefined ? await manySeeds(fleet, workers, values) : await oneSeed(fleet, seed, mutation, json);
  } finally {
    await fleet.close();
  }
});
