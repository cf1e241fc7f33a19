/** A number with free slots, as it was just read. */
export interface UsableNumber {
  _id: string;
  country: string | null;
  free: number;
}

/** A holder that wants a slot, and the country of its callee (ISO; null where the number has none). */
export interface Want {
  holder: string;
  country: string | null;
}

/** The holders that ask one number for a slot. */
export interface Allocation {
  id: string;
  holders: string[];
}

const byCountry = (wants: readonly Want[]): Map<string | null, Want[]> => Map.groupBy(wants, (w) => w.country);

/**
 * Allocates wants to numbers: each want first among the numbers of its own country, what is left (not with `same_country`) among
 * all; the numbers are filled in the order given, the wants served in theirs. Never more than a number has free. A want without
 * a country has no same-country number.
 */
export function allocate(
  numbers: readonly UsableNumber[],
  wants: readonly Want[],
  same_country: boolean,
): Allocation[] {
  const left = new Map(numbers.map((n) => [n._id, n.free]));
  const allocations = new Map<string, string[]>();

  const fill = (candidates: readonly UsableNumber[], from: readonly Want[]): Want[] => {
    let served = 0;
    for (const { _id } of candidates) {
      const some = from.slice(served, served + Math.max(left.get(_id) ?? 0, 0));
      if (some.length === 0) continue;
      served += some.length;
      left.set(_id, (left.get(_id) ?? 0) - some.length);
      allocations.set(_id, [...(allocations.get(_id) ?? []), ...some.map((w) => w.holder)]);
    }
    return from.slice(served);
  };

  const unserved = new Set<Want>();
  for (const [country, group] of byCountry(wants)) {
    const rest =
      country === null
        ? group
        : fill(
            numbers.filter((n) => n.country === country),
            group,
          );
    for (const want of rest) unserved.add(want);
  }
  if (!same_country)
    fill(
      numbers,
      wants.filter((w) => unserved.has(w)),
    );
  return [...allocations].map(([id, holders]) => ({ id, holders }));
}

/** The countries of which more slots are wanted than these numbers have free. */
export const countriesShortOf = (numbers: readonly UsableNumber[], wants: readonly Want[]): string[] =>
  [...byCountry(wants)].flatMap(([country, group]) =>
    country !== null && numbers.filter((n) => n.country === country).reduce((sum, n) => sum + n.free, 0) < group.length
      ? [country]
      : [],
  );

/** The numbers in random order, for callers that lost a race, so that they don't race for the same number again. `random` gives numbers in [0, 1). */
export const shuffled = (numbers: readonly UsableNumber[], random: () => number): UsableNumber[] =>
  numbers
    .map((number) => ({ number, lot: random() }))
    .sort((a, b) => a.lot - b.lot)
    .map((d) => d.number);
