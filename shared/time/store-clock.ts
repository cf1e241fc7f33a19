import type { Log } from "../process/log.ts";
import {
  boundsAt,
  firstTime,
  keepTime,
  STEP_MS,
  type ClockNotice,
  type KeptTime,
  type OffsetBounds,
  type StoreClockReading,
} from "./clock-offset.ts";
import type { Clock } from "./clock.ts";
import { startLoop, type Loop } from "./loop.ts";

/** A span of this process's monotonic time. It is empty where it begins after its end. */
export interface MonotonicSpan {
  notBeforeMs: number;
  notAfterMs: number;
}

/** A step of the store's clock that is held off: by how much the store is ahead, and for how long, ms. */
export interface HeldStep {
  ahead_ms: number;
  for_ms: number;
}

/** What processes leave in the store for each other: when, by the store's clock, the step that was held off then (ahead 0: none), and for how long the teller had known the time, ms. */
export interface ToldTime extends HeldStep {
  told_at: Date;
  known_ms: number;
}

/** Where the store's clock is read. */
export interface ClockSource {
  /** The store's time; null: it does not tell it. */
  time(): Promise<Date | null>;
  /** What was told last; null: nothing ever was. */
  told?(): Promise<ToldTime | null>;
  tell?(told: ToldTime): Promise<void>;
}

/** The store's clock is read this often, and sooner where a reading was in doubt or failed. */
const READ_EVERY_MS = 2000;
const READ_AGAIN_MS = 250;
/** What the processes of a deployment tell is as old as this at most, while one of them lives; it is told anew after so long. */
export const TOLD_WITHIN_MS = 15_000;
const TELL_EVERY_MS = 10_000;
/** Who starts waits so long for what others tell, where what is told is of another time: they may be about to notice that the store's clock was set. */
const WAIT_FOR_OTHERS_MS = 4000;
/** No start waits longer for the first reading. */
const WAIT_FOR_TIME_MS = 6000;
/** Without a reading for this long a permit's span is not known. */
export const KNOWN_FOR_MS = 60_000;

/**
 * The deployment's time as this process knows it: the store's clock, whose offset to the monotonic clock lies between two bounds that every reading narrows
 * and that widen as time passes. Steps of the process's own wall clock change nothing; a step of the store's is held off (keepTime).
 */
export interface StoreClock {
  /** The deployment's time, in the middle of the bounds; the own wall clock while it was never read. */
  now(): Date;
  /** False: no work is to be taken. It was not read yet, or a clock was set, or the machine slept, and the next reading tells. */
  known(): boolean;
  /** The span of our monotonic time that lies between these instants, whatever the offset is within its bounds; null: it is not known. */
  within(from: Date, until: Date): MonotonicSpan | null;
  /** Half the distance of the bounds, ms; null: it is not known. */
  uncertainMs(): number | null;
  /** What the database's own clock ought to show, for conditions that it judges: the deployment's time, and how far it is ahead of that; null: nothing is known. */
  database(): { now: Date; ahead_ms: number } | null;
  /** The step that is held off; null: none. */
  held(): HeldStep | null;
  /** Reads the clock now. Does not throw: a failed reading leaves what is known as it is. */
  refresh(): Promise<void>;
  /** Begins to read this source, every two seconds; resolves when the time is known, or after some seconds. What it returns ends that. */
  follow(source: ClockSource): Promise<() => Promise<void>>;
}

/** What the clock is kept with. `holds`: steps are held off; false: they are followed at once, and work is taken. */
export interface StoreClockDeps {
  clock: Clock;
  /** A source to begin with, which is read when it is asked for. */
  source?: ClockSource;
  log: Pick<Log, "error" | "warn" | "info">;
  holds: boolean;
}

/** Whether what was told is of this time of the store. */
export const isFresh = ({ told_at }: ToldTime, store: Date, withinMs: number): boolean =>
  Math.abs(store.getTime() - told_at.getTime()) < withinMs;

class KeptClock implements StoreClock {
  readonly #deps: StoreClockDeps;
  readonly #sources = new Set<ClockSource>();
  #loop: Loop | null = null;
  #kept: KeptTime | null = null;
  /** The source tells no time: there is nothing to compare with. */
  #silent = false;
  /** Wall less monotonic time, and how long the machine has slept, at the last reading. */
  #wallMs = 0;
  #sleptMs = 0;
  #toldMs = Number.NEGATIVE_INFINITY;
  /** Since when the first reading is sought. */
  #soughtMs: number | null = null;
  /** Since when the time is known. */
  #knownMs = 0;

  constructor(deps: StoreClockDeps) {
    this.#deps = deps;
    if (deps.source) this.#sources.add(deps.source);
  }

  now(): Date {
    const { clock } = this.#deps;
    if (!this.#kept) return clock.now();
    const { low_ms, high_ms } = this.#kept.bounds;
    return new Date(Math.round(clock.monotonicMs() + (low_ms + high_ms) / 2));
  }

  known(): boolean {
    if (!this.#deps.holds || this.#silent) return true;
    return (
      this.#kept !== null && this.#kept.doubt === null && Math.abs(this.#parted()) < STEP_MS && this.#slept() < STEP_MS
    );
  }

  within(from: Date, until: Date): MonotonicSpan | null {
    const b = this.#boundsFor(until.getTime() - this.#deps.clock.monotonicMs() - (this.#kept?.bounds.low_ms ?? 0));
    return b && { notBeforeMs: from.getTime() - b.low_ms, notAfterMs: until.getTime() - b.high_ms };
  }

  uncertainMs(): number | null {
    const b = this.#boundsFor(0);
    return b && (b.high_ms - b.low_ms) / 2;
  }

  database(): { now: Date; ahead_ms: number } | null {
    if (!this.#deps.holds || !this.#kept) return null;
    return { now: this.now(), ahead_ms: this.#kept.ahead_ms };
  }

  held(): HeldStep | null {
    if (!this.#kept || this.#kept.since_ms === null) return null;
    return { ahead_ms: this.#kept.ahead_ms, for_ms: Math.round(this.#deps.clock.monotonicMs() - this.#kept.since_ms) };
  }

  async refresh(): Promise<void> {
    // a bus that answers with a service of this process would read this clock itself
    const source = [...this.#sources].find(({ tell }) => tell) ?? [...this.#sources][0];
    if (!source) return;
    const { clock } = this.#deps;
    try {
      const told = this.#kept ? null : ((await source.told?.()) ?? null);
      const asked_ms = clock.monotonicMs();
      const store = await source.time();
      if (!store) {
        this.#silent = true;
        return;
      }
      this.#silent = false;
      const reading = { asked_ms, answered_ms: clock.monotonicMs(), store_ms: store.getTime() };
      this.#read(reading, told);
      await this.#agree(source, reading);
    } catch {
      // the bounds widen until a reading succeeds
    }
  }

  async follow(source: ClockSource): Promise<() => Promise<void>> {
    this.#sources.add(source);
    const { clock } = this.#deps;
    const beganMs = clock.monotonicMs();
    for (;;) {
      await this.refresh();
      if (this.#kept || this.#silent || clock.monotonicMs() - beganMs > WAIT_FOR_TIME_MS) break;
      await clock.wait(READ_AGAIN_MS);
    }
    let read = true;
    const pass = async (): Promise<false | number> => {
      if (read) read = false;
      else await this.refresh();
      return this.known() ? false : READ_AGAIN_MS;
    };
    this.#loop ??= startLoop({
      name: "store-clock",
      clock: this.#deps.clock,
      intervalMs: READ_EVERY_MS,
      pass,
      onError: () => undefined,
    });
    return async () => {
      this.#sources.delete(source);
      if (this.#sources.size > 0) return;
      const loop = this.#loop;
      this.#loop = null;
      await loop?.stop();
    };
  }

  /**
   * Tells the others: at every reading while a step is held off, else now and then. Who finds that one who has known the time for longer says otherwise began
   * while the store's clock was set, and takes the time of that one.
   */
  async #agree(source: ClockSource, reading: StoreClockReading): Promise<void> {
    const [now, held] = [this.#deps.clock.monotonicMs(), this.held()];
    if (!this.known() || !this.#deps.holds || !source.tell || (!held && now - this.#toldMs < TELL_EVERY_MS)) return;
    this.#toldMs = now;
    const [mine, known_ms, store] = [held?.ahead_ms ?? 0, Math.round(now - this.#knownMs), new Date(reading.store_ms)];
    const last = (await source.told?.()) ?? null;
    if (last && isFresh(last, store, TOLD_WITHIN_MS) && last.known_ms > known_ms) {
      if (Math.abs(last.ahead_ms - mine) >= STEP_MS) this.#take(last, reading);
      if (held || isFresh(last, store, TELL_EVERY_MS)) return;
    }
    await source.tell({ ahead_ms: 0, for_ms: 0, ...this.held(), told_at: store, known_ms });
  }

  #take(told: ToldTime, reading: StoreClockReading): void {
    const stepped_ms = (this.held()?.ahead_ms ?? 0) - told.ahead_ms;
    this.#kept = firstTime(reading, told.ahead_ms === 0 ? null : told);
    this.#knownMs = reading.answered_ms - told.known_ms;
    const sentence =
      "this process began while the database's clock was set, and takes the time of one that has known it for longer";
    this.#tell({ kind: "followed", stepped_ms }, sentence);
  }

  /** The first time of this process. Where what others told is of another time, they are given time to notice. */
  #begin(reading: StoreClockReading, told: ToldTime | null): void {
    const fresh = told !== null && isFresh(told, new Date(reading.store_ms), TOLD_WITHIN_MS);
    this.#soughtMs ??= reading.answered_ms;
    if (told && !fresh && reading.answered_ms - this.#soughtMs < WAIT_FOR_OTHERS_MS) return;
    this.#kept = firstTime(reading, fresh && told.ahead_ms !== 0 ? told : null);
    this.#knownMs = reading.answered_ms;
  }

  #read(reading: StoreClockReading, told: ToldTime | null): void {
    const { clock, holds } = this.#deps;
    const [parted, slept] = [this.#kept ? this.#parted() : 0, this.#kept ? this.#slept() : 0];
    if (!this.#kept) this.#begin(reading, holds ? told : null);
    else {
      const { kept, notice } = keepTime(this.#kept, reading, slept);
      if (!holds && kept.doubt) this.#kept = firstTime(reading, null);
      else this.#kept = kept;
      if (notice) this.#tell(notice);
    }
    this.#wallMs = this.#wallNow();
    this.#sleptMs = clock.sleptMs?.() ?? 0;
    // a machine that slept shows the time that has passed
    if (Math.abs(parted) >= STEP_MS && slept < STEP_MS) this.#tellOwn(Math.round(parted));
  }

  #wallNow(): number {
    return this.#deps.clock.now().getTime() - this.#deps.clock.monotonicMs();
  }

  #parted(): number {
    return this.#kept ? this.#wallNow() - this.#wallMs : 0;
  }

  #slept(): number {
    return (this.#deps.clock.sleptMs?.() ?? 0) - this.#sleptMs;
  }

  /** The bounds for what happens until `aheadMs` from now. Where wall and monotonic clock part, it is not known which is right until the next reading. */
  #boundsFor(aheadMs: number): OffsetBounds | null {
    const now = this.#deps.clock.monotonicMs();
    if (!this.#kept || this.#kept.doubt || now - this.#kept.bounds.at_ms > KNOWN_FOR_MS) return null;
    const { low_ms, high_ms } = boundsAt(this.#kept.bounds, now + Math.max(0, aheadMs));
    const parted = this.#parted();
    return { low_ms: low_ms + Math.min(0, parted), high_ms: high_ms + Math.max(0, parted), at_ms: now };
  }

  #tell({ kind, stepped_ms }: ClockNotice, followed = "the database's new time counts from now on"): void {
    const { log } = this.#deps;
    this.#toldMs = Number.NEGATIVE_INFINITY;
    const of = { clock: "database", stepped_ms: Math.round(stepped_ms) };
    if (kind === "held")
      log.error(
        { event: "clock.stepped", ...of },
        "the database's clock was set; this process goes on by the time before, and follows only a step forward that lasts",
      );
    else if (kind === "right") log.warn({ event: "clock.right", ...of }, "the database's clock is right again");
    else log.warn({ event: "clock.followed", ...of }, followed);
  }

  #tellOwn(stepped_ms: number): void {
    this.#deps.log.error(
      { event: "clock.stepped", clock: "process", stepped_ms },
      "this process's wall clock was set; it goes on by the database's, only its log shows the new time",
    );
  }
}

/** A clock that follows no source yet. */
export const createStoreClock = (deps: StoreClockDeps): StoreClock => new KeptClock(deps);

/** The clock of a process whose instants are the deployment's time. */
export const clockBy = (store: StoreClock, own: Clock): Clock => ({
  now: () => store.now(),
  monotonicMs: () => own.monotonicMs(),
  wait: (ms, signal) => own.wait(ms, signal),
});
