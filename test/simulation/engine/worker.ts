import { parentPort } from "node:worker_threads";
import { replaceModules } from "../stand-ins/replace-modules.ts";
import type { Outcome, RunHow } from "./run.ts";

/** What a thread is told to do: every `step`-th seed from `from` up to `to` (inclusive). `untilFailure`: it ends after the first run that violates something. */
export interface Order extends RunHow {
  from: number;
  to: number;
  step: number;
  untilFailure?: boolean;
}

/** What a thread tells: one run's outcome, or that the order is done. */
export type Told = { outcome: Outcome } | { done: true };

replaceModules();
const { forbidRealTime, simulateIn } = await import("./thread.ts");
forbidRealTime();

const tell = (told: Told): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
  parentPort?.postMessage(told);
};

async function obey(order: Order): Promise<void> {
  for (let seed = order.from; seed <= order.to; seed += order.step) {
    const outcome = await simulateIn(seed, order);
    tell({ outcome });
    if (order.untilFailure && outcome.violations.length > 0) break;
  }
  tell({ done: true });
}

parentPort?.on("message", (order: Order) => {
  void obey(order);
});
