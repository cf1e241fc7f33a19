import type { Pcm } from "./port.ts";

/** The last of a sound, as much as was asked for. */
export interface PreRoll {
  push(pcm: Pcm): void;
  /** All that is kept, in order; nothing is kept after it. */
  take(): Pcm;
}

/** Keeps so many samples in one piece of memory: frames that were kept themselves would each outlive a collection of garbage. */
export function preRoll(samples: number): PreRoll {
  const ring = new Int16Array(samples);
  let next = 0;
  let kept = 0;
  return {
    push(pcm) {
      const last = pcm.length > samples ? pcm.subarray(pcm.length - samples) : pcm;
      const first = Math.min(last.length, samples - next);
      ring.set(last.subarray(0, first), next);
      ring.set(last.subarray(first), 0);
      next = (next + last.length) % samples;
      kept = Math.min(samples, kept + last.length);
    },
    take() {
      const all = new Int16Array(kept);
      const from = (next - kept + samples) % samples;
      const first = Math.min(kept, samples - from);
      all.set(ring.subarray(from, from + first));
      all.set(ring.subarray(0, kept - first), first);
      next = kept = 0;
      return all;
    },
  };
}
