import { readFileSync } from "node:fs";

/*
 * Loaded into a process before anything else (node --import): its wall clock is set by as much as a file says at the moment, ms by the process's name, "all"
 * for every process. Its monotonic clock goes on as it is.
 */

/** Variables of a process: the file, and its name where NODE_ID does not tell it (`dialer.1`). */
const { CLOCK_STEPS: file = "", CLOCK_NAME, NODE_ID = "" } = process.env;
const name = CLOCK_NAME ?? NODE_ID.split(".")[0] ?? "";
/** The file is read this often at most. */
const READ_EVERY_MS = 20;

const realNow = Date.now.bind(Date);
let aheadMs = 0;
let readMs = Number.NEGATIVE_INFINITY;

function steppedNow(): number {
  const now = performance.now();
  if (now - readMs > READ_EVERY_MS) {
    readMs = now;
    try {
      const steps = JSON.parse(readFileSync(file, "utf8")) as Record<string, number>;
      aheadMs = (steps[name] ?? 0) + (steps["all"] ?? 0);
    } catch {
      // it is being written: the next look tells
    }
  }
  return realNow() + aheadMs;
}

globalThis.Date = new Proxy(Date, {
  construct: (date, args: unknown[], made) =>
    Reflect.construct(date, args.length === 0 ? [steppedNow()] : args, made) as Date,
  apply: () => new Date().toString(),
  get: (date, key) => (key === "now" ? steppedNow : (Reflect.get(date, key) as unknown)),
});
