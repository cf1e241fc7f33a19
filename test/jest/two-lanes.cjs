"use strict";
// Jest runner with two lanes side by side: files that start the product as processes or let sound play, and mostly wait, so many at a time, and all others,
// which compute.
// When nothing is left to compute, that lane takes files of the other one, for the cores have room then.
// In one queue either several of the first kind meet, and their stacks starve each other, or they come last, and the cores stand idle.
const { sep } = require("node:path");
const { default: TestRunner } = require("jest-runner");

/** Files of the waiting lane, below test/: folders, or files, in the order in which they start: the longest first, and the costly ones apart. */
const WAITING = [
  "chaos/fault-suite",
  "e2e/npm-start",
  "chaos/crash-points",
  "chaos/kill-during-demo",
  "chaos/several-replicas",
  "chaos/store-faults",
  "chaos/bus-faults",
  "chaos/carrier-faults",
  "upgrade/side-by-side",
  "e2e/audio-calls",
  "e2e/sample-leads",
  "chaos/",
  "e2e/",
  "local/carriers/stream-person",
];

/** The place of a file in the waiting lane; -1: it takes the other one. */
const waitingPlace = (path) => WAITING.findIndex((entry) => path.split(sep).join("/").includes(`/test/${entry}`));

/** How many files run at a time in each lane, of `workers` in all; one worker has no lanes. */
function lanesOf(workers) {
  const computing = Math.floor(workers / 2);
  return { computing, waiting: workers - computing };
}

class TwoLanes {
  supportsEventEmitters = true;
  #lanes;
  #runners;

  constructor(globalConfig, context) {
    const { computing, waiting } = (this.#lanes = lanesOf(globalConfig.maxWorkers));
    const runner = (lane, maxWorkers) => new TestRunner({ ...globalConfig, lane, maxWorkers }, context);
    this.#runners = computing === 0 ? [runner("", waiting)] : [runner("computing", computing), runner("waiting", 1)];
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
    // a process for each: whoever is free takes the next, and the computing lane helps when its own files are done
    const takeTurns = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        await second.runTests([next], watcher, options);
    };
    const together = (count, work) => Promise.all(Array.from({ length: count }, work));
    await Promise.all([
      together(this.#lanes.waiting, takeTurns),
      first.runTests(computing, watcher, options).then(() => together(this.#lanes.computing, takeTurns)),
    ]);
  }
}

module.exports = TwoLanes;
module.exports.lanesOf = lanesOf;
module.exports.WAITING = WAITING;
