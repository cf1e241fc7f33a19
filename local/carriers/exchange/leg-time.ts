import type { Clock } from "../../../shared/time/clock.ts";
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
export const startLegTime = (time: SimTime): LegTime => new CompressedThenReal(time);

class CompressedThenReal implements LegTime {
  readonly #time: SimTime;
  readonly #planned = new Set<Planned>();
  #switched: { simMs: number; realMs: number } | null = null;

  constructor(time: SimTime) {
    this.#time = time;
  }

  get clock(): Clock {
    return this.#time.clock;
  }

  get scale(): number {
    return this.#switched ? 1 : this.#time.scale;
  }

  get real(): boolean {
    return this.#switched !== null;
  }

  elapsedMs(): number {
    const switched = this.#switched;
    return switched ? switched.simMs + this.clock.monotonicMs() - switched.realMs : this.#time.elapsedMs();
  }

  after(simMs: number, fn: () => void, floorRealMs = 0): Cancel {
    const one: Planned = {
      dueMs: this.elapsedMs() + simMs,
      floorAt: this.clock.monotonicMs() + floorRealMs,
      fn,
      cancel: () => undefined,
    };
    this.#planned.add(one);
    this.#arm(one, simMs, floorRealMs);
    return () => {
      this.#planned.delete(one);
      one.cancel();
    };
  }

  wait(simMs: number, signal: AbortSignal, floorRealMs?: number): Promise<boolean> {
    return new Promise((resolve) => {
      if (signal.aborted) {
        resolve(false);
        return;
      }
      const stop = (): void => {
        cancel();
        resolve(false);
      };
      const cancel = this.after(
        simMs,
        () => {
          signal.removeEventListener("abort", stop);
          resolve(true);
        },
        floorRealMs,
      );
      signal.addEventListener("abort", stop, { once: true });
    });
  }

  pending(): number {
    return this.#planned.size;
  }

  close(): void {
    for (const one of this.#planned) one.cancel();
    this.#planned.clear();
  }

  switchToRealTime(): void {
    if (this.#switched) return;
    this.#switched = { simMs: this.#time.elapsedMs(), realMs: this.clock.monotonicMs() };
    for (const one of this.#planned) {
      one.cancel();
      this.#arm(one, one.dueMs - this.elapsedMs(), one.floorAt - this.clock.monotonicMs());
    }
  }

  #arm(one: Planned, simMs: number, floorRealMs: number): void {
    const act = (): void => {
      this.#planned.delete(one);
      one.fn();
    };
    one.cancel = this.#switched
      ? this.#time.after(0, act, Math.max(simMs, floorRealMs, 0))
      : this.#time.after(simMs, act, floorRealMs);
  }
}
