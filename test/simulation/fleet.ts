import { Worker } from "node:worker_threads";
import type { Tally } from "./faults.ts";
import type { Outcome } from "./run.ts";
import type { Order } from "./worker.ts";

/** What came of many runs. */
export interface Report { runs: number; failed: Outcome[]; tally: Tally; steps: number; virtualSeconds: number; seconds: number }

/** Which runs: `count` seeds from `from` on, on so many threads. */
export interface Campaign { from: number; count: number; workers: number; mutation?: string | undefined; untilFailure?: boolean; onOutcome?(outcome: Outcome): void }

const MS_PER_SECOND = 1000;

/** Runs seeds in a thread of their own: modules replaced, time and chance of the machine forbidden. */
function inThread(order: Order, each: (outcome: Outcome) => void, stop: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: order });
    worker.on("message", each);
    worker.on("error", reject);
    worker.on("exit", () => resolve());
    void stop.then(() => worker.terminate());
  });
}

/** One run; traced, its trace comes with it. */
export async function once(seed: number, how: { traced?: boolean; mutation?: string | undefined } = {}): Promise<Outcome> {
  const outcomes: Outcome[] = [];
  await inThread({ from: seed, to: seed, step: 1, ...how }, (o) => outcomes.push(o), new Promise<void>(() => undefined));
  const [outcome] = outcomes;
  if (!outcome) throw new Error(`the run of seed ${seed} gave no outcome`);
  return outcome;
}

/** Many runs. With `untilFailure` it ends soon after the first that fails. */
export async function campaign({ from, count, workers, mutation, untilFailure, onOutcome }: Campaign): Promise<Report> {
  const report: Report = { runs: 0, failed: [], tally: {}, steps: 0, virtualSeconds: 0, seconds: 0 };
  const began = performance.now();
  const { promise: stop, resolve: stopAll } = Promise.withResolvers<void>();
  const each = (outcome: Outcome): void => {
    report.runs++;
    report.steps += outcome.steps;
    report.virtualSeconds += outcome.virtualSeconds;
    for (const [what, times] of Object.entries(outcome.tally)) report.tally[what] = (report.tally[what] ?? 0) + times;
    if (outcome.violations.length > 0) {
      report.failed.push(outcome);
      if (untilFailure) stopAll();
    }
    onOutcome?.(outcome);
  };
  const threads = Math.min(workers, count);
  await Promise.all(Array.from({ length: threads }, (_, i) => inThread({ from: from + i, to: from + count - 1, step: threads, mutation }, each, stop)));
  report.seconds = (performance.now() - began) / MS_PER_SECOND;
  report.failed.sort((a, b) => a.seed - b.seed);
  return report;
}
