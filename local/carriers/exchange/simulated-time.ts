import { systemClock, type Clock } from "../../../shared/time/clock.ts";

/** Ends a timer early; calling it again, or after the timer ran, does nothing. */
export type Cancel = () => void;

/**
 * Compressed time: every simulated duration (ringing, speech, thinking) is divided by `scale`, waits for the other
 * side's computers are not. All timers are kept, so that closing leaves none behind.
 */
export interface SimTime {
  /** Real time, which this one is made of. */
  readonly clock: Clock;
  readonly scale: number;
  /** Simulated milliseconds since the start, monotonic. */
  elapsedMs(): number;
  /** Runs `fn` after `simMs` simulated milliseconds, but never sooner than `floorRealMs` real ones. */
  after(simMs: number, fn: () => void, floorRealMs?: number): Cancel;
  /** Resolves true after the time, false at once when the signal aborts or the clock is closed. */
  wait(simMs: number, signal: AbortSignal, floorRealMs?: number): Promise<boolean>;
  /** Timers still waiting. */
  pending(): number;
  /** Cancels every timer; open waits resolve false. */
  close(): void;
}

/** The time of a whole simulator. */
export interface SettableTime extends SimTime {
  /** From now on time runs at this scale; what is being waited for takes as long as it has left, at the new one. */
  setScale(scale: number): void;
}

/** The fastest that simulated time runs. */
const MAX_SCALE = 10_000;

/** Whether time can run at this scale. */
export const isScale = (scale: unknown): scale is number =>
  typeof scale === "number" && scale > 0 && scale <= MAX_SCALE;

interface Planned {
  dueMs: number;
  /** Not before this instant, of the monotonic clock, ms. */
  floorAt: number;
  fn: () => void;
  /** Ends what it waits for. */
  waiting: AbortController;
}

/** Starts a compressed clock; scale 1 is real time, 20 makes a 40 s call last 2 s. `clock` is what it takes for real time. */
export const startTime = (scale: number, clock: Clock = systemClock): SettableTime => new CompressedTime(scale, clock);

class CompressedTime implements SettableTime {
  readonly clock: Clock;
  readonly #planned = new Set<Planned>();
  readonly #closing = new AbortController();
  #scale: number;
  /** Where simulated and real time stood when the scale was set last. */
  #since: { simMs: number; realMs: number };

  constructor(scale: number, clock: Clock) {
    this.clock = clock;
    this.#scale = scale;
    this.#since = { simMs: 0, realMs: clock.monotonicMs() };
  }

  get scale(): number {
    return this.#scale;
  }

  setScale(scale: number): void {
    this.#since = { simMs: this.elapsedMs(), realMs: this.clock.monotonicMs() };
    this.#scale = scale;
    for (const one of this.#planned) {
      one.waiting.abort();
      this.#arm(one);
    }
  }

  elapsedMs(): number {
    return this.#since.simMs + (this.clock.monotonicMs() - this.#since.realMs) * this.#scale;
  }

  after(simMs: number, fn: () => void, floorRealMs = 0): Cancel {
    if (this.#closing.signal.aborted) return () => undefined;
    const one: Planned = {
      dueMs: this.elapsedMs() + simMs,
      floorAt: this.clock.monotonicMs() + floorRealMs,
      fn,
      waiting: new AbortController(),
    };
    this.#planned.add(one);
    this.#arm(one);
    return () => this.#cancel(one);
  }

  wait(simMs: number, signal: AbortSignal, floorRealMs?: number): Promise<boolean> {
    const closing = this.#closing.signal;
    return new Promise((resolve) => {
      if (signal.aborted || closing.aborted) {
        resolve(false);
        return;
      }
      const finish = (ran: boolean): void => {
        cancel();
        signal.removeEventListener("abort", stop);
        closing.removeEventListener("abort", stop);
        resolve(ran);
      };
      const stop = (): void => finish(false);
      const cancel = this.after(simMs, () => finish(true), floorRealMs);
      signal.addEventListener("abort", stop, { once: true });
      closing.addEventListener("abort", stop, { once: true });
    });
  }

  pending(): number {
    return this.#planned.size;
  }

  close(): void {
    this.#closing.abort();
    for (const one of this.#planned) this.#cancel(one);
  }

  #arm(one: Planned): void {
    const { signal } = (one.waiting = new AbortController());
    const floorMs = one.floorAt - this.clock.monotonicMs();
    void this.#run(one, Math.max((one.dueMs - this.elapsedMs()) / this.#scale, floorMs, 0), signal);
  }

  async #run(one: Planned, realMs: number, signal: AbortSignal): Promise<void> {
    await this.clock.wait(realMs, signal);
    if (signal.aborted) return;
    this.#planned.delete(one);
    one.fn();
  }

  #cancel(one: Planned): void {
    one.waiting.abort();
    this.#planned.delete(one);
  }
}
