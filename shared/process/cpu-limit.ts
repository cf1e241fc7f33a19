import vm from "node:vm";

const MS = 1000;
/** Tries, each with twice the time of the one before. */
const TRIES = 4;

const timed = new vm.Script("run()");
const context = vm.createContext({});

/** Runs synchronous work until it ends, or is ended after `ms` by the wall's clock. */
function within<T>(ms: number, run: () => T): T {
  context["run"] = run;
  try {
    return timed.runInContext(context, { timeout: ms }) as T;
  } finally {
    context["run"] = undefined;
  }
}

/** Whether work was ended because it took too long. */
export const isOverLimit = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";

/** Processor time that this thread has used, ms. */
export function cpuUsedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / MS;
}

/**
 * Runs synchronous work that may be repeated, under a limit of processor time; a timer could not end a pattern that backtracks. What is ended by the wall's
 * clock without having had its time, because the machine was busy or stood still, says nothing of the work: it is run again. Throws what `isOverLimit` tells.
 */
export function withinCpuTime<T>(ms: number, run: () => T): T {
  const began = cpuUsedMs();
  for (let tries = 1, wallMs = ms; ; tries++, wallMs *= 2) {
    try {
      return within(wallMs, run);
    } catch (error) {
      if (!isOverLimit(error) || tries === TRIES || cpuUsedMs() - began >= ms) throw error;
    }
  }
}
