import { Worker } from "node:worker_threads";
import type { Tally } from "../checks/faults.ts";
import type { Outcome, RunHow } from "./run.ts";
import type { Order, Told } from "./worker.ts";

/** What came of many runs. */
export interface Report {
  runs: number;
  failed: Outcome[];
  tally: Tally;
  steps: number;
  virtualSeconds: number;
  seconds: number;
}

/** Which runs: `count` seeds from `from` on. */
export interface Campaign {
  from: number;
  count: number;
  mutation?: string | undefined;
  onOutcome?(outcome: Outcome): void;
}

/** Threads in which runs are made: modules replaced, time and chance of the machine forbidden. */
export interface Fleet {
  /** One run; traced, its trace comes with it. */
  once(seed: number, how?: RunHow): Promise<Outcome>;
  /** Many runs, spread over all threads. */
  campaign(runs: Campaign): Promise<Report>;
  /** At most so many seeds with this mutation until one fails, in one thread; how many runs it took, and the one that failed. */
  hunt(mutation: string, from: number, most: number): Promise<{ runs: number; found: Outcome | null }>;
  close(): Promise<void>;
}

const MS_PER_SECOND = 1000;

/** One thread; orders wait for those before them. */
class Thread {
  readonly #worker = new Worker(new URL("./worker.ts", import.meta.url));
  #last: Promise<void> = Promise.resolve();
  waiting = 0;

  run(order: Order, each: (outcome: Outcome) => void): Promise<void> {
    this.waiting++;
    const mine = this.#last
      .then(() => this.#obey(order, each))
      .finally(() => {
        this.waiting--;
      });
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  #obey(order: Order, each: (outcome: Outcome) => void): Promise<void> {
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      const over = (): void => {
        worker.off("message", hear);
        worker.off("error", fail);
      };
      const hear = (told: Told): void => {
        if ("outcome" in told) {
          each(told.outcome);
          return;
        }
        over();
        resolve();
      };
      const fail = (error: Error): void => {
        over();
        reject(error);
      };
      worker.on("message", hear);
      worker.on("error", fail);
      worker.postMessage(order); // oxlint-disable-line unicorn/require-post-message-target-origin -- a thread, no window
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

const reportOf = (): Report => ({ runs: 0, failed: [], tally: {}, steps: 0, virtualSeconds: 0, seconds: 0 });

function add(report: Report, outcome: Outcome): void {
  report.runs++;
  report.steps += outcome.steps;
  report.virtualSeconds += outcome.virtualSeconds;
  for (const [what, times] of Object.entries(outcome.tally)) report.tally[what] = (report.tally[what] ?? 0) + times;
  if (outcome.violations.length > 0) report.failed.push(outcome);
}

/** Starts the threads; `close` ends them. */
export function openFleet(size: number): Fleet {
  const threads = Array.from({ length: size }, () => new Thread());
  const idlest = (): Thread => {
    const [first] = [...threads].sort((a, b) => a.waiting - b.waiting);
    if (!first) throw new Error("a fleet needs a thread");
    return first;
  };
  return {
    async once(seed, how = {}) {
      const outcomes: Outcome[] = [];
      await idlest().run({ from: seed, to: seed, step: 1, ...how }, (o) => outcomes.push(o));
      const [outcome] = outcomes;
      if (!outcome) throw new Error(`the run of seed ${seed} gave no outcome`);
      return outcome;
    },
    async campaign({ from, count, mutation, onOutcome }) {
      const report = reportOf();
      const began = performance.now();
      await Promise.all(
        threads.map((thread, i) =>
          thread.run({ from: from + i, to: from + count - 1, step: threads.length, mutation }, (outcome) => {
            add(report, outcome);
            onOutcome?.(outcome);
          }),
        ),
      );
      report.seconds = (performance.now() - began) / MS_PER_SECOND;
      report.failed.sort((a, b) => a.seed - b.seed);
      return report;
    },
    async hunt(mutation, from, most) {
      const report = reportOf();
      await idlest().run({ from, to: from + most - 1, step: 1, mutation, untilFailure: true }, (outcome) =>
        add(report, outcome),
      );
      return { runs: report.runs, found: report.failed[0] ?? null };
    },
    async close() {
      await Promise.all(threads.map((t) => t.close()));
    },
  };
}
