import type { Pcm } from "./port.ts";

/** Frames are cut from pieces of memory of this size, a sixth of a second's frames of a hundred calls. */
const SLAB_SAMPLES = 65_536;
/** What is longer than a frame gets memory of its own. */
const LONGEST_SAMPLES = 1024;

let slab = new Int16Array(SLAB_SAMPLES);
let used = 0;

/** Silence of so many samples that nobody else has. A frame with memory of its own costs more to let go of than to fill: there are thousands of them a second. */
export function silentFrame(samples: number): Pcm {
  if (samples > LONGEST_SAMPLES) return new Int16Array(samples);
  if (used + samples > SLAB_SAMPLES) {
    slab = new Int16Array(SLAB_SAMPLES);
    used = 0;
  }
  const frame = slab.subarray(used, used + samples);
  used += samples;
  return frame;
}
