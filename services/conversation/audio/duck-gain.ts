import type { Pcm } from "./port.ts";

/** Our speech while the caller makes sound over it: -12 dB. It goes on, and theirs is heard above it. */
const DUCKED = 0.25;
/** How much the gain moves within a frame: two frames (40 ms) from one end to the other, without a click. */
const STEP_A_FRAME = (1 - DUCKED) / 2;

/** How loud our speech is sent. */
export class DuckGain {
  #gain = 1;
  #target = 1;

  /** The next frames become quiet. */
  duck(): void {
    this.#target = DUCKED;
  }

  /** The next frames become loud; `silent`: at once, nothing is heard now. */
  restore(silent: boolean): void {
    this.#target = 1;
    if (silent) this.#gain = 1;
  }

  /** Scales a frame in place, gliding from the gain of the frame before. */
  apply(frame: Pcm): void {
    const from = this.#gain;
    const to =
      from > this.#target ? Math.max(this.#target, from - STEP_A_FRAME) : Math.min(this.#target, from + STEP_A_FRAME);
    if (from === 1 && to === 1) return;
    this.#gain = to;
    const slope = (to - from) / frame.length;
    for (let n = 0; n < frame.length; n++) frame[n] = Math.round((frame[n] ?? 0) * (from + slope * (n + 1)));
  }
}
