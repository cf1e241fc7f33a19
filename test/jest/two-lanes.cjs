"use strict";
// Jest runner with two lanes side by side: files that start the product as processes or let sound play, and mostly wait, so many at a time, and all others,
// which compute.
// A lane whose files are done helps the other one, for the cores have room then.
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
  "local/carriers/twilio/stream",
  "local/carriers/stream-person",
  "local/carriers/telnyx/stream",
  "local/carriers/plivo/stream",
  "webhook/contract/recovering-hosts",
  "scheduler/contract/rate-windows",
];

/** How many files that compute one process takes: each loads the libraries anew, and one that takes many lets the others stand idle at the end. */
const SHARE = 30;
const LEAST = 4;

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
    this.#runners = computing === 0 ? [runner("", waiting)] : [runner("computing", 1), runner("waiting", 1)];
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
    const workers = this.#lanes.computing + this.#lanes.waiting;
    const { computing = [], waiting = [] } = Object.groupBy(tests, ({ path }) =>
      waitingPlace(path) < 0 ? "computing" : "waiting",
    );
    waiting.sort((a, b) => waitingPlace(a.path) - waitingPlace(b.path));
    const runNext = async (runner, files, count) => {
      const next = files.splice(0, count);
      if (next.length > 0) await runner.runTests(next, watcher, options);
      return next.length > 0;
    };
    // a process for each file that waits, so that whoever is free takes the next
    const wait = () => runNext(second, waiting, 1);
    // the shares grow smaller, so that all end at about the same time
    const compute = () =>
      runNext(first, computing, Math.min(SHARE, Math.max(LEAST, Math.ceil(computing.length / (2 * workers)))));
    const lane = async (own, other) => {
      while ((await own()) || (await other()));
    };
    await Promise.all([
      ...Array.from({ length: this.#lanes.waiting }, () => lane(wait, compute)),
      ...Array.from({ length: this.#lanes.computing }, () => lane(compute, wait)),
    ]);
  }
}

module.exports = TwoLanes;
module.exports.lanesOf = lanesOf;
module.exports.WAITING = WAITING;
