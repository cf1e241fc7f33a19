import { StoreError } from "./bson/errors.ts";

/** The store's own cap on one command, milliseconds; a smaller `maxTimeMS` counts. A cursor's getMore is a command of its own. */
export const MAX_COMMAND_MS = 30_000;
/** How long a command may work before it lets others have their turn, milliseconds. */
const SLICE_MS = 5;
/** Steps that a command may do where it cannot rest: the expressions of one document, one value compared with another. */
const MAX_UNBROKEN_STEPS = 1_000_000;
/** Steps between two looks at the clock. */
const LOOK_EVERY = 256;
/** MongoDB's bound on what a blocking stage ($sort, $group, $facet …) may hold, bytes; here for all stages of a command together. */
export const MAX_HELD_BYTES = 100 * 1024 * 1024;
/** What all commands and open cursors may hold together, bytes. */
const MAX_HELD_BY_ALL_BYTES = 3 * MAX_HELD_BYTES;

/** What the commands of one store hold in memory at this moment. */
export interface Held {
  bytes: number;
}

/**
 * The work that one command may still do. Whatever loops as often as a client decides spends steps; whatever keeps documents
 * until it has seen the last one holds their bytes. Both throw StoreError when there is no more to be had.
 */
export class Budget {
  readonly #clock: () => number;
  readonly #all: Held;
  /** What the client has left of its `maxTimeMS`, milliseconds. */
  #asked = Infinity;
  #cap = MAX_COMMAND_MS;
  #startedAt = 0;
  #sliceEnds = 0;
  #steps = 0;
  #lookAt = LOOK_EVERY;
  #held = 0;
  /** Its cursor stays open: what it holds is released with the cursor. */
  kept = false;

  /** `all`: what the store's commands hold together. `clock`: milliseconds. */
  constructor(all: Held = { bytes: 0 }, clock: () => number = () => performance.now()) {
    this.#all = all;
    this.#clock = clock;
    this.start();
  }

  /** Sets what the client asked for, milliseconds; 0 for as long as it takes. */
  limit(maxTimeMS: number): void {
    this.#asked = maxTimeMS === 0 ? Infinity : maxTimeMS;
  }

  /** Takes the store's own cap away: for what must come to its end, and rests on the way. */
  uncap(): void {
    this.#cap = Infinity;
  }

  /** Begins a command: the first one of a cursor, or a getMore. */
  start(): void {
    this.#startedAt = this.#clock();
    this.resume();
  }

  /** Begins a slice of the command. */
  resume(): void {
    this.#sliceEnds = this.#clock() + SLICE_MS;
    this.#steps = 0;
    this.#lookAt = LOOK_EVERY;
  }

  /** Ends a command whose cursor stays open: the time until the getMore is not the client's. */
  stop(): void {
    this.#asked -= this.#clock() - this.#startedAt;
  }

  /** Does some steps. Errors: MaxTimeMSExpired. */
  spend(steps = 1): void {
    this.#steps += steps;
    if (this.#steps >= this.#lookAt) this.#look();
  }

  #look(): void {
    this.#lookAt = this.#steps + LOOK_EVERY;
    this.#refuseLate(this.#clock());
    if (this.#steps > MAX_UNBROKEN_STEPS)
      throw new StoreError(
        "MaxTimeMSExpired",
        `operation exceeded time limit: the embedded store does at most ${MAX_UNBROKEN_STEPS} steps on one document; run a MongoDB for more`,
      );
  }

  #refuseLate(now: number): void {
    const took = now - this.#startedAt;
    if (took > this.#asked) throw new StoreError("MaxTimeMSExpired", "operation exceeded time limit");
    if (took > this.#cap)
      throw new StoreError(
        "MaxTimeMSExpired",
        `operation exceeded time limit: the embedded store caps a command at ${MAX_COMMAND_MS / 1000} s; add an index, or run a MongoDB`,
      );
  }

  /** True when the slice is over: where it can, the command rests (see {@link REST}). Errors: MaxTimeMSExpired. */
  due(): boolean {
    const now = this.#clock();
    if (now < this.#sliceEnds) return false;
    this.#refuseLate(now);
    return true;
  }

  /** Keeps bytes in memory until the command has ended. Errors: 292. */
  hold(bytes: number): void {
    this.#held += bytes;
    this.#all.bytes += bytes;
    if (this.#held > MAX_HELD_BYTES)
      throw new StoreError(
        "QueryExceededMemoryLimitNoDiskUseAllowed",
        `Exceeded memory limit of ${MAX_HELD_BYTES} bytes for what a command holds ($sort, $group, $facet …). Add an index, or narrow the documents first.`,
      );
    if (this.#all.bytes > MAX_HELD_BY_ALL_BYTES)
      throw new StoreError(
        "QueryExceededMemoryLimitNoDiskUseAllowed",
        `The commands running at this moment hold more than ${MAX_HELD_BY_ALL_BYTES} bytes together: try again, or run a MongoDB.`,
      );
  }

  /** Ends the command, or closes its cursor: nothing is held any more. */
  release(): void {
    this.#all.bytes -= this.#held;
    this.#held = 0;
  }
}

class Unlimited extends Budget {
  override spend(): void {}
  override due(): boolean {
    return false;
  }
  override hold(): void {}
}

/** For work that no client asked for and that is bounded otherwise. */
export const UNLIMITED: Budget = new Unlimited();

/**
 * What a sequence hands out when it has nothing yet and the slice is over. Everything that reads a {@link Flow} passes it on
 * (`if (doc === REST) { yield REST; continue; }`), so that it reaches the command, which goes on when others had their turn.
 */
export const REST = Symbol("rest");

/** A sequence that may rest between two items. */
export type Flow<T> = Iterable<T | typeof REST>;

/** A result that takes several slices. */
export type Slices<T> = Generator<typeof REST, T>;

/** Runs slice after slice at once: for what a start or a test waits for. */
export function whole<T>(slices: Slices<T>, budget: Budget): T {
  for (;;) {
    const step = slices.next();
    if (step.done === true) return step.value;
    budget.resume();
  }
}

/** The result of what may take several slices, or is there at once. */
export function* sliced<T extends object>(made: T | Slices<T>): Slices<T> {
  return isSliced(made) ? yield* made : made;
}

function isSliced<T extends object>(made: T | Slices<T>): made is Slices<T> {
  return Symbol.iterator in made;
}

/** All items of a flow, in an array: `const all = yield* collected(docs)`. */
export function* collected<T>(flow: Flow<T>): Slices<T[]> {
  const all: T[] = [];
  for (const item of flow) {
    if (item === REST) yield REST;
    else all.push(item);
  }
  return all;
}

/** A flow that rests between two items whenever its budget's slice is over. */
export function* resting<T>(items: Flow<T>, budget: Budget): Generator<T | typeof REST, void> {
  for (const item of items) {
    budget.spend();
    if (item !== REST && budget.due()) yield REST;
    yield item;
  }
}
