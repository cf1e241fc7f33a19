import { Worker } from "node:worker_threads";
import pLimit from "p-limit";
import type { Clock } from "../time/clock.ts";
import { startTimer } from "../time/timer.ts";
import type { Answer, Order } from "./schema-worker.ts";

/** Orders that wait at most, and for how long, ms; what is past either is not done. */
const MAX_WAITING = 500;
const MAX_WAIT_MS = 2000;
/** The thread ends an order that uses its processor time up. It is ended itself after so many times that on the wall's clock, and this, ms: then it can't. */
const WALL_TIMES = 16;
const WALL_MS = 5000;
/** Memory of the thread; an order that needs more ends it. */
const MEMORY = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

/** A thread for orders. It starts with the first one, and anew after one that ended it. */
export interface SchemaThread {
  /** The answer; `lost`: the order has ended the thread; null: too many orders wait, or it would wait too long, and it was not done. */
  ask(order: Order): Promise<Answer | "lost" | null>;
  /** Ends it; what it was asked is lost. */
  close(): Promise<void>;
}

/** One order to a worker that does nothing else. Its end, its error and its silence are all the same: the order is lost. */
function obeyed(clock: Clock, worker: Worker, order: Order): Promise<Answer | "lost"> {
  const { promise, resolve } = Promise.withResolvers<Answer | "lost">();
  const lost = (): void => resolve("lost");
  const cancel = startTimer(clock, order.ms * WALL_TIMES + WALL_MS, lost);
  worker.once("message", resolve);
  worker.once("error", lost);
  worker.once("exit", lost);
  worker.ref();
  worker.postMessage(order); // oxlint-disable-line unicorn/require-post-message-target-origin -- a thread, no window
  return promise.finally(() => {
    cancel();
    worker.off("message", resolve);
    worker.off("error", lost);
    worker.off("exit", lost);
    worker.unref();
  });
}

/** The thread of a service; `memory`: what it may take. */
export function schemaThread(clock: Clock, memory: Readonly<typeof MEMORY> = MEMORY): SchemaThread {
  const one = pLimit(1);
  let worker: Worker | null = null;
  let closed = false;

  function started(): Worker {
    if (worker) return worker;
    const mine = new Worker(new URL("./schema-worker.ts", import.meta.url), { env: {}, resourceLimits: memory });
    mine.on("error", () => undefined); // whoever asked is told
    mine.on("exit", () => {
      if (worker === mine) worker = null;
    });
    worker = mine;
    return mine;
  }
  async function end(): Promise<void> {
    const ended = worker;
    worker = null;
    await ended?.terminate();
  }

  return {
    ask(order) {
      if (one.pendingCount >= MAX_WAITING) return Promise.resolve(null);
      const by = clock.monotonicMs() + MAX_WAIT_MS;
      return one(async () => {
        if (closed) return "lost";
        if (clock.monotonicMs() > by) return null;
        const answer = await obeyed(clock, started(), order);
        if (answer === "lost") await end();
        return answer;
      });
    },
    async close() {
      closed = true;
      await end();
    },
  };
}
