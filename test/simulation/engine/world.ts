import type { Random } from "./random.ts";

/** Something that happens at an instant. `life`: the process it happens in; null: outside of all processes. */
interface Happening {
  at: number;
  seq: number;
  life: Life | null;
  act(): void;
  cancelled: boolean;
}

/** One life of a process, from its start to its crash; all that is done in it ends with it. */
export interface Life {
  readonly process: { readonly name: string; readonly pausedUntil: number };
  /** False once the process has crashed or was stopped. */
  alive: boolean;
}

/** Cancels what was planned. */
export type Cancel = () => void;

/** Steps driven in one turn of the real event loop; between two of them all promises run dry. */
const STEPS_PER_TURN = 256;
const realImmediate = setImmediate;

const FNV_PRIME = 16_777_619;
const MS_PER_SECOND = 1000;

/** What a run is stopped by when it goes on for too long. */
export class Runaway extends Error {}

/** A world of its own: virtual time, one source of chance, one thing at a time in the order of time. The same chance gives the same world. */
export class World {
  /** Virtual time in ms since the epoch; fractions order what happens within a millisecond. */
  now: number;
  readonly random: Random;
  /** The life whose code runs at the moment; null: none. */
  current: Life | null = null;
  steps = 0;
  /** A number that stands for all that has happened. */
  hash = 2_166_136_261;
  readonly trace: string[] | null;
  #begin: number;
  readonly #heap: Happening[] = [];
  #seq = 0;

  constructor(random: Random, begin: Date, traced: boolean) {
    this.random = random;
    this.now = this.#begin = begin.getTime();
    this.trace = traced ? [] : null;
  }

  /** Virtual milliseconds since the beginning. */
  get elapsed(): number {
    return this.now - this.#begin;
  }

  /** The clock of the trace begins here. */
  begin(): void {
    this.#begin = this.now;
  }

  /** Plans something `ms` from now. */
  after(ms: number, life: Life | null, act: () => void): Cancel {
    const entry = { at: this.now + ms, seq: this.#seq++, life, act, cancelled: false };
    this.#push(entry);
    return () => {
      entry.cancelled = true;
    };
  }

  /** Lets time pass at once: what was planned in between happens late, as if everybody had been slow. */
  leap(toMs: number): void {
    if (toMs > this.now) {
      this.now = toMs;
      this.steps++;
    }
  }

  /** Writes a line of the trace; the words go into the hash too. */
  tell(who: string, what: string): void {
    for (let i = 0; i < what.length; i += 3) this.#mix(what.charCodeAt(i));
    this.note(who, what);
  }

  /** Writes a line of the trace only; told in traced runs, so it must not change the hash. */
  note(who: string, what: string): void {
    this.trace?.push(this.#line(who, what));
  }

  #line(who: string, what: string): string {
    return `${(this.elapsed / MS_PER_SECOND).toFixed(4).padStart(10)} ${who.padEnd(15)} ${what}`;
  }

  /** Goes on until `until` says so, or nothing is left to happen. Throws Runaway past `maxSteps`. */
  run(until: () => boolean, maxSteps: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let over = false;
      const end = (error?: unknown): void => {
        over = true;
        this.current = null;
        if (error === undefined) resolve();
        else reject(error as Error);
      };
      const step = (): void => {
        if (over) return;
        try {
          if (until() || !this.#next()) end();
          else if (this.steps > maxSteps) end(new Runaway(`more than ${maxSteps} steps`));
        } catch (error) {
          end(error);
        }
      };
      const turn = (): void => {
        if (over) return;
        for (let i = 0; i < STEPS_PER_TURN; i++) realImmediate(step);
        realImmediate(turn);
      };
      turn();
    });
  }

  /** Lets the next thing happen; false: there is none. */
  #next(): boolean {
    for (let entry = this.#pop(); entry; entry = this.#pop()) {
      if (entry.cancelled || (entry.life && !entry.life.alive)) continue;
      const paused = entry.life?.process.pausedUntil ?? 0;
      if (paused > entry.at) {
        entry.at = paused;
        this.#push(entry);
        continue;
      }
      if (entry.at > this.now) this.now = entry.at;
      this.steps++;
      this.#mix(entry.seq);
      this.#mix(entry.at * 1024);
      this.current = entry.life;
      entry.act();
      return true;
    }
    return false;
  }

  #mix(value: number): void {
    this.hash = Math.imul(this.hash ^ (value | 0), FNV_PRIME);
  }

  #push(entry: Happening): void {
    const heap = this.#heap;
    let i = heap.length;
    heap.push(entry);
    while (i > 0) {
      const up = (i - 1) >> 1;
      const parent = heap[up];
      if (!parent || !before(entry, parent)) break;
      heap[i] = parent;
      i = up;
    }
    heap[i] = entry;
  }

  #pop(): Happening | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (!top || !last || heap.length === 0) return top;
    let i = 0;
    for (;;) {
      let down = 2 * i + 1;
      let child = heap[down];
      if (!child) break;
      const right = heap[down + 1];
      if (right && before(right, child)) {
        child = right;
        down++;
      }
      if (!before(child, last)) break;
      heap[i] = child;
      i = down;
    }
    heap[i] = last;
    return top;
  }
}

const before = (a: Happening, b: Happening): boolean => a.at < b.at || (a.at === b.at && a.seq < b.seq);
