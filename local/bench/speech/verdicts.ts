import { wordsIn } from "./language-model.ts";

/** Judges what was sent and heard on a line. Pure. */

const RATE = 8000;
const FRAME_MS = 20;
const FRAME = (RATE * FRAME_MS) / 1000;
/** Sound is compared at a fourth of its rate, in blocks of 100 ms. */
const THIN = 4;
const BLOCK = RATE / THIN / 10;
/** How alike two blocks of one sound are at least, after another codec and another resampler. */
const ALIKE = 0.75;
/** A block that is not where it should be is looked for with so many after it: one alone has its like elsewhere. */
const PROBE = 4;
/** Blocks are first looked for where they should be, give or take so many samples. */
const NEAR = 12;

/** Errors of recognition: words put in, left out and exchanged, of the reference's words. */
export function wordErrors(reference: string, recognised: string): { errors: number; words: number } {
  const [want, got] = [wordsIn(reference), wordsIn(recognised)];
  let row = got.map((_, n) => n + 1);
  for (const [i, word] of want.entries()) {
    let [diagonal, left] = [i, i + 1];
    row = row.map((above, j) => {
      const next = Math.min(above + 1, left + 1, diagonal + (got[j] === word ? 0 : 1));
      [diagonal, left] = [above, next];
      return next;
    });
  }
  return { errors: want.length === 0 ? got.length : (row.at(-1) ?? want.length), words: want.length };
}

/** Where a piece of a stream was sent, in samples from its beginning; null: it is none of the stream. Pieces begin at frames. */
export function placeOf(
  pcm: Int16Array,
  frames: readonly Int16Array[],
  ended: number,
): { from: number; to: number } | null {
  const count = Math.floor(pcm.length / FRAME);
  const pieces = Array.from({ length: count }, (_, n) => pcm.subarray(n * FRAME, (n + 1) * FRAME));
  const loudness = pieces.map((piece) => piece.reduce((sum, v) => sum + Math.abs(v), 0));
  const loudest = loudness.indexOf(Math.max(...loudness));
  const looked = pieces[loudest];
  if (looked === undefined) return null;
  for (let at = Math.min(frames.length, ended) - 1; at >= 0; at--) {
    const frame = frames[at];
    if (frame === undefined || frame[0] !== looked[0] || !frame.every((v, n) => v === looked[n])) continue;
    const from = (at - loudest) * FRAME;
    return { from, to: from + pcm.length };
  }
  return null;
}

/** Each sample is a mean of those around it, the nearest counting most: what so few samples can't hold is softened, and so is a shift by less than one. */
const thinned = (pcm: ArrayLike<number>): Float32Array =>
  Float32Array.from({ length: Math.floor(pcm.length / THIN) }, (_, n) => {
    let sum = 0;
    for (let k = 1 - 2 * THIN; k < 2 * THIN; k++) sum += (2 * THIN - Math.abs(k)) * (pcm[n * THIN + k] ?? 0);
    return sum;
  });

/** How alike a block is to the sound at a place: 1 where they are the same but for their level. */
function likeness(block: Float32Array, sound: Float32Array, at: number): number {
  let [dot, own, other] = [0, 1e-9, 1e-9];
  for (let n = 0; n < block.length; n++) {
    const [a, b] = [block[n] ?? 0, sound[at + n] ?? 0];
    dot += a * b;
    own += a * a;
    other += b * b;
  }
  return dot / Math.sqrt(own * other);
}

function bestIn(block: Float32Array, sound: Float32Array, from: number, to: number): { at: number; alike: number } {
  let best = { at: from, alike: -1 };
  for (let at = Math.max(0, from); at <= Math.min(to, sound.length - block.length); at++) {
    const alike = likeness(block, sound, at);
    if (alike > best.alike) best = { at, alike };
  }
  return best;
}

/** The share of a sound that was heard, in its order: 0 to 1. Its pauses do not count. */
export function heardShare(reference: Int16Array, heard: readonly (Int16Array | null)[]): number {
  const all = new Int16Array(heard.length * FRAME);
  for (const [n, frame] of heard.entries()) if (frame) all.set(frame, n * FRAME);
  const [wanted, sound] = [thinned(reference), thinned(all)];
  const blocks = Array.from({ length: Math.floor(wanted.length / BLOCK) }, (_, n) =>
    wanted.subarray(n * BLOCK, (n + 1) * BLOCK),
  );
  const power = blocks.map((block) => block.reduce((sum, v) => sum + v * v, 0));
  const loud = Math.max(...power, 0) / 1000;
  let [expected, found, counted, lostAt] = [-1, 0, 0, 0];
  for (const [n, block] of blocks.entries()) {
    if ((power[n] ?? 0) < loud) {
      if (expected >= 0) expected += BLOCK;
      continue;
    }
    counted++;
    const near = expected < 0 ? { at: 0, alike: -1 } : bestIn(block, sound, expected - NEAR, expected + NEAR);
    const probe = wanted.subarray(n * BLOCK, (n + PROBE) * BLOCK);
    const best = near.alike >= ALIKE ? near : bestIn(probe, sound, lostAt, sound.length);
    if (best.alike < ALIKE) {
      if (expected >= 0) expected += BLOCK;
      continue;
    }
    found++;
    lostAt = best.at + BLOCK;
    expected = best.at + BLOCK;
  }
  return counted === 0 ? 0 : found / counted;
}

/** Milliseconds of nothing to be played between the first and the last sound within the first `frames` frames. */
export function holesMs(heard: readonly (Int16Array | null)[], from: number, to: number): number {
  const part = heard.slice(from, to);
  const [first, last] = [part.findIndex((f) => f !== null), part.findLastIndex((f) => f !== null)];
  return first < 0 ? 0 : part.slice(first, last).filter((f) => f === null).length * FRAME_MS;
}
