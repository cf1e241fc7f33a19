import type { Clock } from "../../../shared/time/clock.ts";
import { FRAME_MS } from "./audio-format.ts";

/** Something that moves sound every FRAME_MS. */
export interface Ticking {
  tick(): void;
}

/** The ticking are spread over the frame, so that many calls do not all send at the same instant. */
const PHASES = 4;
const PHASE_MS = FRAME_MS / PHASES;
/** A process that was held up longer than this leaves the lost time out, ms. */
const MOST_CATCH_UP_MS = 200;

class FrameClock {
  readonly #clock: Clock;
  readonly #phases: readonly Set<Ticking>[] = Array.from({ length: PHASES }, () => new Set<Ticking>());
  #runs = false;
  /** When the next phase is due. */
  #dueMs = 0;
  #phase = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keepTicking(one: Ticking): () => void {
    const least = [...this.#phases].sort((a, b) => a.size - b.size)[0];
    least?.add(one);
    if (!this.#runs) void this.#run();
    return () => {
      least?.delete(one);
    };
  }

  async #run(): Promise<void> {
    this.#runs = true;
    this.#dueMs = this.#clock.monotonicMs() + PHASE_MS;
    while (this.#skipEmpty()) {
      await this.#clock.wait(this.#dueMs - this.#clock.monotonicMs());
      const now = this.#clock.monotonicMs();
      if (now - this.#dueMs > MOST_CATCH_UP_MS) this.#dueMs = now;
      while (this.#dueMs <= now) {
        for (const one of this.#phases[this.#phase] ?? []) one.tick();
        this.#next();
      }
    }
    this.#runs = false;
  }

  /** Goes on to the next phase that somebody is in; false: nobody is in any. */
  #skipEmpty(): boolean {
    for (let passed = 0; passed < PHASES; passed += 1) {
      if (this.#phases[this.#phase]?.size !== 0) return true;
      this.#next();
    }
    return false;
  }

  #next(): void {
    this.#phase = (this.#phase + 1) % PHASES;
    this.#dueMs += PHASE_MS;
  }
}

const clocks = new WeakMap<Clock, FrameClock>();

/** Moves it from now on, in the clock's time, until the function it gives is called. All sound on one clock has one timer. */
export function keepTicking(one: Ticking, clock: Clock): () => void {
  const ticks = clocks.get(clock) ?? new FrameClock(clock);
  clocks.set(clock, ticks);
  return ticks.keepTicking(one);
}
