/** A number with room, as it was just read. */
export interface Usable {
  _id: string;
  country: string | null;
  free: number;
}

/** One who wants a line, to call somebody in `country` (ISO; null where the number has none). */
export interface Want {
  holder: string;
  country: string | null;
}

/** What is asked of one number. */
export interface Share {
  id: string;
  holders: string[];
}

/**
 * Who asks which number for a line: each want first among the numbers of its own country, what is left (not with `same_country`) among all; the numbers are filled in the
 * order given, the wants served in theirs. Never more than a number has free. A want without a country of its own has no same-country number.
 */
export function allot(numbers: readonly Usable[], wants: readonly Want[], same_country: boolean): Share[] {
  const left = new Map(numbers.map((n) => [n._id, n.free]));
  const shares = new Map<string, string[]>();

  const fill = (candidates: readonly Usable[], from: readonly Want[]): Want[] => {
    let served = 0;
    for (const { _id } of candidates) {
      const some = from.slice(served, served + Math.max(left.get(_id) ?? 0, 0));
      if (some.length === 0) continue;
      served += some.length;
      left.set(_id, (left.get(_id) ?? 0) - some.length);
      shares.set(_id, [...(shares.get(_id) ?? []), ...some.map((w) => w.holder)]);
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
  return [...shares].map(([id, holders]) => ({ id, holders }));
}

function byCountry(wants: readonly Want[]): Map<string | null, Want[]> {
  const groups = new Map<string | null, Want[]>();
  for (const want of wants) {
    const group = groups.get(want.country);
    if (group) group.push(want);
    else groups.set(want.country, [want]);
  }
  return groups;
}

/** The countries of which more lines are wanted than these numbers have. */
export const shortOf = (numbers: readonly Usable[], wants: readonly Want[]): string[] =>
  [...byCountry(wants)].flatMap(([country, group]) =>
    country !== null && numbers.filter((n) => n.country === country).reduce((sum, n) => sum + n.free, 0) < group.length
      ? [country]
      : [],
  );

/** The numbers in an order by chance, for those who lost a race: so that they don't all run after the same number again. `random` gives numbers in [0, 1). */
export const shuffled = (numbers: readonly Usable[], random: () => number): Usable[] =>
  numbers
    .map((number) => ({ number, lot: random() }))
    .sort((a, b) => a.lot - b.lot)
    .map((d) => d.number);
