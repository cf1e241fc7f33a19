import type { Pcm } from "./port.ts";

/** The last samples of a stream. */
export interface PreRoll {
  push(pcm: Pcm): void;
  /** Returns the kept samples in order and forgets them. */
  take(): Pcm;
}

/** Keeps this many samples in one circular buffer: frames kept as objects would each survive a garbage collection. */
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
