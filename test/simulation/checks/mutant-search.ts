import type { Fleet } from "../engine/fleet.ts";

/** Storms that a mutant is looked for in. */
const MOST_STORMS = 240;
/** Storms that run side by side. */
export const STORMS_AT_ONCE = 2;

/** The invariants that storms violate, one seed after the other, from `from` on, until some storm does: which ones do moves with every change of what the services write. */
export async function violatedInStorms(
  fleet: Fleet,
  options: Parameters<Fleet["once"]>[1],
  from = 1,
): Promise<string[]> {
  const found = new Set<string>();
  for (let first = from; first < from + MOST_STORMS && found.size === 0; first += STORMS_AT_ONCE) {
    const seeds = Array.from({ length: STORMS_AT_ONCE }, (_, i) => first + i);
    const runs = await Promise.all(seeds.map((seed) => fleet.once(seed, options)));
    for (const { violations } of runs) for (const { invariant } of violations) found.add(invariant);
  }
  return [...found];
}
