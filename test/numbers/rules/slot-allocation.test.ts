import * as fc from "fast-check";
import {
  allocate,
  countriesShortOf,
  shuffled,
  type UsableNumber,
  type Want,
} from "../../../services/numbers/rules/slot-allocation.ts";

const number = (_id: string, free: number, country: string | null = "US"): UsableNumber => ({ _id, free, country });
const want = (holder: string, country: string | null = "US"): Want => ({ holder, country });

describe("allocate", () => {
  test.each<[string, UsableNumber[], Want[], boolean, Record<string, string[]>]>([
    [
      "fills the numbers in the order given, no further than they go",
      [number("a", 1), number("b", 2)],
      [want("1"), want("2"), want("3"), want("4")],
      false,
      { a: ["1"], b: ["2", "3"] },
    ],
    [
      "prefers each callee's country, whatever the order",
      [number("us", 2), number("gb", 2, "GB")],
      [want("1", "GB"), want("2"), want("3", "GB")],
      false,
      { gb: ["1", "3"], us: ["2"] },
    ],
    [
      "no callee gets a foreign number before the callees of its country are served",
      [number("gb", 1, "GB")],
      [want("1"), want("2", "GB")],
      false,
      { gb: ["2"] },
    ],
    [
      "wants that home numbers have no slot for go anywhere, in their order",
      [number("us", 1), number("fr", 2, "FR")],
      [want("1", "GB"), want("2"), want("3"), want("4", "DE")],
      false,
      { us: ["2"], fr: ["1", "3"] },
    ],
    [
      "with same_country none goes abroad",
      [number("us", 1), number("fr", 9, "FR")],
      [want("1"), want("2"), want("3", null)],
      true,
      { us: ["1"] },
    ],
    [
      "a callee of no country gets any number",
      [number("none", 1, null), number("us", 1)],
      [want("1", null), want("2")],
      false,
      { none: ["1"], us: ["2"] },
    ],
    ["nothing free, nothing allocated", [number("a", 0), number("b", -3)], [want("1")], false, {}],
  ])("%s", (_what, numbers, wants, same, allocations) => {
    expect(Object.fromEntries(allocate(numbers, wants, same).map((s) => [s.id, s.holders]))).toEqual(allocations);
  });

  const countries = fc.constantFrom("US", "GB", "FR", null);
  const world = fc.record({
    numbers: fc
      .array(fc.tuple(fc.integer({ min: -2, max: 6 }), countries), { maxLength: 12 })
      .map((all) => all.map(([free, country], i) => number(`n${i}`, free, country))),
    wants: fc.array(countries, { maxLength: 40 }).map((all) => all.map((country, i) => want(`w${i}`, country))),
  });

  test("never more than is free, no holder twice, and none without a slot while one is free for it", () => {
    fc.assert(
      fc.property(world, fc.boolean(), ({ numbers, wants }, same) => {
        const allocations = allocate(numbers, wants, same);
        const served = allocations.flatMap((s) => s.holders);
        expect(new Set(served).size).toBe(served.length);
        const left = new Map(numbers.map((n) => [n._id, Math.max(n.free, 0)]));
        for (const { id, holders } of allocations) {
          expect(holders.length).toBeGreaterThan(0);
          left.set(id, left.get(id)! - holders.length);
          expect(left.get(id)).toBeGreaterThanOrEqual(0);
          if (same)
            for (const h of holders)
              expect(wants.find((w) => w.holder === h)!.country).toBe(numbers.find((n) => n._id === id)!.country);
        }
        for (const w of wants.filter((x) => !served.includes(x.holder))) {
          const still = numbers.filter(
            (n) => left.get(n._id)! > 0 && (!same || (w.country !== null && n.country === w.country)),
          );
          expect(still).toEqual([]);
        }
      }),
    );
  });
});

test("countriesShortOf names the countries that want more slots than these numbers have", () => {
  expect(
    countriesShortOf(
      [number("a", 2), number("b", 1, "GB")],
      [want("1"), want("2"), want("3", "GB"), want("4", "GB"), want("5", "FR"), want("6", null)],
    ),
  ).toEqual(["GB", "FR"]);
});

test("shuffled keeps every number", () => {
  const numbers = Array.from({ length: 20 }, (_, i) => number(`n${i}`, 1));
  let seed = 7;
  const mixed = shuffled(numbers, () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647);
  expect(mixed).not.toEqual(numbers);
  expect([...mixed].sort((a, b) => Number(a._id.slice(1)) - Number(b._id.slice(1)))).toEqual(numbers);
});
