const STEP_MS = 20;
/** A pause between words is no shorter. */
const PAUSE_STEPS = 5;

/** Where a long stretch of speech is best cut: in the middle of the quietest 100 ms after `from_seconds`, in samples. */
export function quietestCut(pcm: Int16Array, rate: number, from_seconds: number): number {
  const step = Math.max(1, Math.round((rate * STEP_MS) / 1000));
  const first = Math.floor((from_seconds * rate) / step);
  const count = Math.floor(pcm.length / step);
  const loud = Float64Array.from({ length: Math.max(0, count - first) }, (_, i) => {
    let sum = 0;
    for (let at = (first + i) * step; at < (first + i + 1) * step; at++) sum += (pcm[at] ?? 0) ** 2;
    return sum;
  });
  let [best, least] = [count - first, Infinity];
  for (let i = 0; i + PAUSE_STEPS <= loud.length; i++) {
    let sum = 0;
    for (let s = i; s < i + PAUSE_STEPS; s++) sum += loud[s] ?? 0;
    if (sum < least) [best, least] = [i + (PAUSE_STEPS >> 1), sum];
  }
  return Math.min(pcm.length, (first + best) * step);
}
