import type { Pcm } from "./port.ts";

/** Keeps the last samples of a stream in one buffer that begins anew at its end: frames kept as objects would each survive a garbage collection, and moving what is kept would cost more than the frame. */
export function preRoll(samples: number) {
  const latest = new Int16Array(samples);
  let kept = 0;
  /** Where the next sample goes. */
  let at = 0;
  return {
    push(pcm: Pcm): void {
      const last = pcm.length > samples ? pcm.subarray(pcm.length - samples) : pcm;
      const room = samples - at;
      if (last.length < room) {
        latest.set(last, at);
        at += last.length;
      } else {
        latest.set(last.subarray(0, room), at);
        latest.set(last.subarray(room));
        at = last.length - room;
      }
      kept = Math.min(samples, kept + last.length);
    },
    /** Returns the kept samples in order and forgets them. */
    take(): Pcm {
      const all = new Int16Array(kept);
      const older = Math.max(0, kept - at);
      all.set(latest.subarray(samples - older));
      all.set(latest.subarray(at - (kept - older), at), older);
      kept = 0;
      return all;
    },
  };
}
