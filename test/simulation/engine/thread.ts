import { leanSignals } from "./abort-signal.ts";
import { simulate, type Outcome, type RunHow } from "./run.ts";
import { theScene } from "./scene.ts";

const forbidden = (name: string) => (): never => {
  throw new Error(`${name} was used in a simulation: time and chance come from the ground`);
};

/** In this thread nothing may take time or chance from the machine: a run could not be repeated. */
export function forbidRealTime(): void {
  globalThis.setTimeout = forbidden("setTimeout") as unknown as typeof setTimeout;
  globalThis.setInterval = forbidden("setInterval") as unknown as typeof setInterval;
  Math.random = forbidden("Math.random");
  leanSignals();
  // joins of the same turn: a turn of the world
  globalThis.setImmediate = ((act: () => void) => {
    const { world } = theScene().stage;
    world.after(0, world.current, act);
  }) as unknown as typeof setImmediate;
}

let stray: string | null = null;
process.on("unhandledRejection", (error) => {
  stray ??= error instanceof Error ? (error.stack ?? error.message) : String(error);
});

/** One run in this thread; a promise that failed without anybody looking is a failure of the run. */
export async function simulateIn(seed: number, how: RunHow): Promise<Outcome> {
  stray = null;
  const outcome = await simulate(seed, how);
  if (stray !== null) outcome.violations.push({ invariant: "unhandled", what: stray, at: 0 });
  return outcome;
}
