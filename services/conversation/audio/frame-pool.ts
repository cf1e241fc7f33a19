import type { Pcm } from "./port.ts";

/** Frames are cut from slabs of this size: a sixth of a second of a hundred calls. */
const SLAB_SAMPLES = 65_536;
/** A longer request gets memory of its own. */
const LONGEST_SAMPLES = 1024;

let slab = new Int16Array(SLAB_SAMPLES);
let used = 0;

/** A zeroed frame that is not shared. Freeing a buffer per frame would cost more than filling it: there are thousands a second. */
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
