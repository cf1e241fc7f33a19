import { seeded } from "./random.ts";
import type { Scene } from "./scene.ts";

/** Chance of clocks is drawn apart from all other. */
const CLOCKS = 0x5eed_c10c;
/** In as many runs clocks are set. */
const SHARE = 0.5;
const STEP_MS = 3_600_000;
const BEGINS_AFTER_MS = 3000;
const LASTS_MIN_MS = 5000;
const LASTS_MAX_MS = 60_000;
/** Of the steps of a process's clock, so many are never taken back. */
const FOR_GOOD = 0.3;

/** Whose clock is set. */
type Which = "a process" | "the store" | "all";

/** In some runs clocks are set by an hour ahead or back: one of a process, the database's, or all at once as on one machine; and right again after a while. */
export function planClockSteps({ stage, processes }: Scene, seed: number, stormMs: number): void {
  const random = seeded(seed ^ CLOCKS);
  if (!random.chance(SHARE)) return;
  const steps = random.whole(1, 3);
  for (let i = 0; i < steps; i++) {
    const which: Which = random.pick(["a process", "a process", "the store", "all"]);
    const ms = random.pick([STEP_MS, -STEP_MS]);
    const [begins, lasts] = [
      random.between(BEGINS_AFTER_MS, stormMs * 0.8),
      random.between(LASTS_MIN_MS, LASTS_MAX_MS),
    ];
    const forGood = which === "a process" && random.chance(FOR_GOOD);
    const one = random.pick(processes);
    const set = (by: number): void => {
      stage.count(`clock of ${which} set`);
      stage.world.tell(which === "a process" ? one.name : "run", `clock of ${which} set by ${by / 60_000} min`);
      if (which !== "a process") stage.storeAheadMs += by;
      for (const process of which === "all" ? processes : which === "a process" ? [one] : []) process.wallAheadMs += by;
    };
    stage.world.after(begins, null, () => set(ms));
    if (!forGood) stage.world.after(Math.min(begins + lasts, stormMs - 1), null, () => set(-ms));
  }
}
