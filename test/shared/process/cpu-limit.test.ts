import { isOverLimit, withinCpuTime } from "../../../shared/process/cpu-limit.ts";

const LIMIT_MS = 100;
/** The thread stands still, as on a machine that gives it no time. */
const standStill = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};
const thrownBy = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return error;
  }
};

test("work that waited for the machine is run again, and its result counts", () => {
  let runs = 0;
  const work = (): string => {
    runs += 1;
    if (runs === 1) standStill(3 * LIMIT_MS);
    return "done";
  };
  expect([withinCpuTime(LIMIT_MS, work), runs]).toEqual(["done", 2]);
});

test("work that uses its time up is ended", () => {
  const endless = (): never => {
    for (;;);
  };
  expect(isOverLimit(thrownBy(() => withinCpuTime(LIMIT_MS, endless)))).toBe(true);
});

test("what the work itself throws is thrown, once", () => {
  let runs = 0;
  const failing = (): never => {
    runs += 1;
    throw new TypeError("out of order");
  };
  const error = thrownBy(() => withinCpuTime(LIMIT_MS, failing));
  expect([String(error), isOverLimit(error), runs]).toEqual(["TypeError: out of order", false, 1]);
});
