import { createHash } from "node:crypto";

/** A number in [0, 1) that depends on nothing but the seed and the words given: the same run gives the same numbers. */
export function chance(seed: string, ...words: (string | number)[]): number {
  const digest = createHash("sha256")
    .update([seed, ...words].join("\u0000"))
    .digest();
  return digest.readUInt32BE(0) / 2 ** 32;
}

/** A reproducible number in [low, high). */
export const between = (low: number, high: number, seed: string, ...words: (string | number)[]): number =>
  low + (high - low) * chance(seed, ...words);

/** A reproducible choice; throws RangeError for an empty list. */
export function choose<T>(list: readonly T[], seed: string, ...words: (string | number)[]): T {
  const picked = list[Math.floor(chance(seed, ...words) * list.length)];
  if (picked === undefined) throw new RangeError("nothing to choose from");
  return picked;
}
