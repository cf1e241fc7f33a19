/** Whether a sound stands in another one. Pure. */

/** A sound is looked for in pieces of this length, s: what lies between two of them may be lost, or be more. */
const PIECE_SECONDS = 0.4;
/** Normalised correlation from which two pieces are the same sound. */
const SAME = 0.9;

/** A piece may begin so much before the end of the one before it, s: a recorder takes out what came too early. */
const SLACK_SECONDS = 0.05;
/** A piece whose samples are no louder, by their root mean square, is silence, which is found anywhere. */
const SILENT = 100;

const energyOf = (pcm: Int16Array): number => pcm.reduce((sum, x) => sum + x * x, 0);

/** Where a piece sounds most alike, from a sample on. */
function bestPlace(piece: Int16Array, whole: Int16Array, from: number): { at: number; likeness: number } {
  const own = energyOf(piece);
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

/** The share of a sound's pieces that stand in another one of the same rate, in their order; of silence none does. */
export function shareFound(sound: Int16Array, whole: Int16Array, rate: number): number {
  const [length, slack] = [Math.round(rate * PIECE_SECONDS), Math.round(rate * SLACK_SECONDS)];
  const pieces = Array.from({ length: Math.floor(sound.length / length) }, (_, n) =>
    sound.subarray(n * length, (n + 1) * length),
  ).filter((piece) => energyOf(piece) > SILENT ** 2 * length);
  let [from, found] = [0, 0];
  for (const piece of pieces) {
    const { at, likeness } = bestPlace(piece, whole, from);
    if (likeness < SAME) continue;
    found++;
    from = at + length - slack;
  }
  return found / Math.max(1, pieces.length);
}
