import { parentPort, workerData } from "node:worker_threads";
import { replacePorts } from "./ports/hooks.ts";
import type { Outcome, RunHow } from "./run.ts";

/** What a worker is told to do: seeds from `from` on, every `step`-th, up to `to` (inclusive); it may end after the first failure. */
export interface Order extends RunHow { from: number; to: number; step: number; untilFailure?: boolean }

/** What a worker tells of one run; the trace only of those that were asked for. */
export type Told = Outcome;

replacePorts();
const { forbidRealTime, simulateIn } = await import("./thread.ts");
forbidRealTime();
const order = workerData as Order;
for (let seed = order.from; seed <= order.to; seed += order.step) {
  const outcome = await simulateIn(seed, order);
  parentPort?.postMessage(outcome satisfies Told);
  if (order.untilFailure && outcome.violations.length > 0) break;
}
