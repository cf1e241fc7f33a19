import type { Cancel, SimTime } from "./simulated-time.ts";

/** The time of one call: compressed as all time here, until sound comes; sound can only be real. */
export interface LegTime extends SimTime {
  readonly real: boolean;
  /** From now on a simulated ms is a real one; what is being waited for takes as long as it has left. */
  switchToRealTime(): void;
}

interface Planned {
  dueMs: number;
  floorAt: number;
  fn: () => void;
  cancel: Cancel;
}

/** A call's time, compressed at first. */
export function startLegTime(time: SimTime): LegTime {
  const planned = new Set<Planned>();
  let switched: { simMs: number; realMs: number } | null = null;
  const elapsedMs = (): number => (switched ? switched.simMs + performance.now() - switched.realMs : time.elapsedMs());

  const arm = (one: Planned, simMs: number, floorRealMs: number): void => {
    const act = (): void => {
      planned.delete(one);
      one.fn();
    };
    one.cancel = switched ? time.after(0, act, Math.max(simMs, floorRealMs, 0)) : time.after(simMs, act, floorRealMs);
  };
  const after: SimTime["after"] = (simMs, fn, floorRealMs = 0) => {
    const one: Planned = {
      dueMs: elapsedMs() + simMs,
      floorAt: performance.now() + floorRealMs,
      fn,
      cancel: () => undefined,
    };
    planned.add(one);
    arm(one, simMs, floorRealMs);
    return () => {
      planned.delete(one);
      one.cancel();
    };
  };
  return {
    get scale() {
      return switched ? 1 : time.scale;
    },
    get real() {
      return switched !== null;
    },
    elapsedMs,
    after,
    wait: (simMs, signal, floorRealMs) =>
      new Promise((resolve) => {
        if (signal.aborted) {
          resolve(false);
          return;
        }
        const stop = (): void => {
          cancel();
          resolve(false);
        };
        const cancel = after(
          simMs,
          () => {
            signal.removeEventListener("abort", stop);
            resolve(true);
          },
          floorRealMs,
        );
        signal.addEventListener("abort", stop, { once: true });
      }),
    pending: () => planned.size,
    close() {
      for (const one of planned) one.cancel();
      planned.clear();
    },
    switchToRealTime() {
      if (switched) return;
      switched = { simMs: time.elapsedMs(), realMs: performance.now() };
      for (const one of planned) {
        one.cancel();
        arm(one, one.dueMs - elapsedMs(), one.floorAt - performance.now());
      }
    },
  };
}
