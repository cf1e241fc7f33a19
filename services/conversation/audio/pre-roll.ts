import type { Pcm } from "./port.ts";

/** Keeps the last samples of a stream in one buffer: frames kept as objects would each survive a garbage collection. */
export function preRoll(samples: number) {
  const latest = new Int16Array(samples);
  let kept = 0;
  return {
    push(pcm: Pcm): void {
      const last = pcm.subarray(Math.max(0, pcm.length - samples));
      latest.copyWithin(0, last.length);
      latest.set(last, samples - last.length);
      kept = Math.min(samples, kept + last.length);
    },
    /** Returns the kept samples in order and forgets them. */
    take(): Pcm {
      const all = latest.slice(samples - kept);
      kept = 0;
      return all;
    },
  };
}
