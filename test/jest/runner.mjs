// Jest runner whose workers import test files as Node does it: no transform, no vm context. It uses public parts of jest alone, and
// runs under any Node that jest runs under; the workers have the project's own Node.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../../", import.meta.url);
const NODE = fileURLToPath(new URL("node_modules/node/bin/node", ROOT));
const WORKER = fileURLToPath(new URL("test/jest/worker.ts", ROOT));

/** A worker above this is replaced: what files leave behind adds up. Its successor spends five seconds on loading and warming up the product anew. */
const MOST_MEMORY_BYTES = 1_500_000_000;

/** Files that start processes or let real time pass get a process of their own. */
const SLOW = /\.slow\.test\.ts$/;
/** Of those, the ones that other work beside them would disturb: they run one after the other, when nothing else runs. */
const ALONE = /\.alone\.slow\.test\.ts$/;

/** One worker: a process that runs one file after the other. */
class Worker {
  #child;
  #globalConfig;

  constructor(globalConfig) {
    this.#globalConfig = globalConfig;
  }

  /** Runs one file. Resolves to jest's result, rejects with what kept the file from running. */
  run(test) {
    this.#child ??= fork(WORKER, [], { execPath: NODE, execArgv: [], serialization: "advanced" });
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const ended = (code, signal) => {
        this.#child = undefined;
        settle(() => reject(new Error(`The worker ended while it ran this file (${signal ?? `exit code ${code}`}).`)));
      };
      const heard = ({ result, error, memory }) => {
        settle(() => (error === undefined ? resolve(result) : reject(error)));
        if (memory > MOST_MEMORY_BYTES || SLOW.test(test.path)) this.stop();
      };
      const settle = (how) => {
        child.off("exit", ended).off("message", heard);
        how();
      };
      child.on("exit", ended).on("message", heard);
      const { config } = test.context;
      const { testTimeout, testNamePattern, expand, rootDir } = this.#globalConfig;
      child.send({ path: test.path, config, globalConfig: { testTimeout, testNamePattern, expand, rootDir } });
    });
  }

  stop() {
    this.#child?.kill();
    this.#child = undefined;
  }
}

export default class Runner {
  supportsEventEmitters = true;
  #globalConfig;
  #listeners = new Map();

  constructor(globalConfig) {
    this.#globalConfig = globalConfig;
  }

  on(event, listener) {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  async #emit(event, ...args) {
    for (const listener of this.#listeners.get(event) ?? []) await listener(args);
  }

  async runTests(tests, watcher, options) {
    const { alone = [], together = [] } = Object.groupBy(tests, ({ path }) =>
      ALONE.test(path) ? "alone" : "together",
    );
    await this.#runQueue(together, watcher, options.serial ? 1 : this.#globalConfig.maxWorkers);
    await this.#runQueue(alone, watcher, 1);
  }

  async #runQueue(tests, watcher, workers) {
    const queue = [...tests];
    const work = async () => {
      const worker = new Worker(this.#globalConfig);
      for (let test = queue.shift(); test !== undefined && !watcher.isInterrupted(); test = queue.shift()) {
        await this.#emit("test-file-start", test);
        try {
          await this.#emit("test-file-success", test, await worker.run(test));
        } catch (error) {
          await this.#emit("test-file-failure", test, error);
        }
      }
      worker.stop();
    };
    await Promise.all(Array.from({ length: Math.min(workers, queue.length) }, work));
  }
}
