/** A seeded source of chance: the same seed gives the same run. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  /** A whole number in [low, high]. */
  whole(low: number, high: number): number;
  /** A number in [low, high). */
  between(low: number, high: number): number;
  /** One of them. */
  pick<T>(items: readonly T[]): T;
}

/** As unremarkable as can be: nothing that has a probability happens, and what varies is in the middle of its range. Only `next`, of which ids are made, is drawn. */
export function steady(seed: number): Random {
  const { next } = seeded(seed);
  return {
    next,
    chance: (probability) => probability >= 1,
    whole: (low) => low,
    between: (low, high) => (low + high) / 2,
    pick: (items) => {
      const [first] = items;
      if (first === undefined) throw new Error("nothing to pick from");
      return first;
    },
  };
}

/** sfc32, seeded by one 32-bit number: small, fast and of good quality. */
export function seeded(seed: number): Random {
  let a = 0x9e3779b9 ^ seed;
  let b = 0x243f6a88 ^ Math.imul(seed, 0x85ebca6b);
  let c = 0xb7e15162;
  let counter = 1;
  const next = (): number => {
    const t = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + t) | 0;
    return (t >>> 0) / 4_294_967_296;
  };
  for (let i = 0; i < 15; i++) next();
  return {
    next,
    chance: (probability) => probability > 0 && next() < probability,
    whole: (low, high) => low + Math.floor(next() * (high - low + 1)),
    between: (low, high) => low + next() * (high - low),
    pick: (items) => {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new Error("nothing to pick from");
      return item;
    },
  };
}
