"use strict";
// Jest runner with two lanes side by side: files that start the product as processes and mostly wait, so many at a time, and all others, which compute.
// In one queue either several of the first kind meet, and their stacks starve each other, or they come last, and the cores stand idle.
const { sep } = require("node:path");
const { availableParallelism } = require("node:os");
const { default: TestRunner } = require("jest-runner");

/** Files of the waiting lane, below test/: folders, or files, the longest first. What no entry names takes the other lane. */
const WAITING = [
  "chaos/crash-points",
  "chaos/kill-during-demo",
  "chaos/several-replicas",
  "chaos/fault-suite",
  "chaos/bus-faults",
  "e2e/npm-start",
  "chaos/store-faults",
  "chaos/account-pace",
  "chaos/carrier-faults",
  "upgrade/side-by-side",
  "chaos/",
  "e2e/",
];

/** The place of a file in the waiting lane; -1: it takes the other one. */
const waitingPlace = (path) => WAITING.findIndex((entry) => path.split(sep).join("/").includes(`/test/${entry}`));

/** How many files run at a time, of `workers` in all: no more that compute than there are cores, or one more where there is room. */
function lanesOf(workers, cores = availableParallelism()) {
  const computing = Math.min(workers - 1, cores + 1);
  return { computing, waiting: workers - computing };
}

class TwoLanes {
  supportsEventEmitters = true;
  #runners;

  constructor(globalConfig, context) {
    const { computing, waiting } = lanesOf(globalConfig.maxWorkers);
    const runner = (lane, maxWorkers) => new TestRunner({ ...globalConfig, lane, maxWorkers }, context);
    this.#runners = computing === 0 ? [runner("", 1)] : [runner("computing", computing), runner("waiting", waiting)];
  }

  on(event, listener) {
    const stops = this.#runners.map((runner) => runner.on(event, listener));
    return () => {
      for (const stop of stops) stop();
    };
  }

  async runTests(tests, watcher, options) {
    const [first, second] = this.#runners;
    if (options.serial || second === undefined) return first.runTests(tests, watcher, options);
    const { computing = [], waiting = [] } = Object.groupBy(tests, ({ path }) =>
      waitingPlace(path) < 0 ? "computing" : "waiting",
    );
    waiting.sort((a, b) => waitingPlace(a.path) - waitingPlace(b.path));
    await Promise.all([first.runTests(computing, watcher, options), second.runTests(waiting, watcher, options)]);
  }
}

module.exports = TwoLanes;
module.exports.lanesOf = lanesOf;
module.exports.WAITING = WAITING;
