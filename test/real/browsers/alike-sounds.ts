/** Whether a sound stands in another one. Pure. */

/** A sound is looked for in pieces of this length, s: what lies between two of them may be lost, or be more. */
const PIECE_SECONDS = 0.4;
/** Normalised correlation from which two pieces are the same sound. */
const SAME = 0.9;

/** Where a piece sounds most alike, from a sample on. */
function bestPlace(piece: Int16Array, whole: Int16Array, from: number): { at: number; likeness: number } {
  const own = piece.reduce((sum, x) => sum + x * x, 0);
  let best = { at: from, likeness: 0 };
  let energy = 0;
  for (let i = from; i < from + piece.length; i++) energy += (whole[i] ?? 0) ** 2;
  for (let at = from; at + piece.length <= whole.length; at++) {
    let product = 0;
    // a stretch without sound is like nothing
    if (energy > own / 2) for (const [i, sample] of piece.entries()) product += sample * (whole[at + i] ?? 0);
    const likeness = product / Math.sqrt(own * energy || 1);
    if (likeness > best.likeness) best = { at, likeness };
    energy += (whole[at + piece.length] ?? 0) ** 2 - (whole[at] ?? 0) ** 2;
  }
  return best;
}

/** The share of a sound's pieces that stand in another one of the same rate, in their order. */
export function shareFound(sound: Int16Array, whole: Int16Array, rate: number): number {
  const length = Math.round(rate * PIECE_SECONDS);
  const pieces = Math.floor(sound.length / length);
  let [from, found] = [0, 0];
  for (let n = 0; n < pieces; n++) {
    const { at, likeness } = bestPlace(sound.subarray(n * length, (n + 1) * length), whole, from);
    if (likeness < SAME) continue;
    found++;
    from = at + length;
  }
  return found / Math.max(1, pieces);
}
