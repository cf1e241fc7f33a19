import { openFleet, type Fleet } from "../engine/fleet.ts";
import { STORMS_AT_ONCE, violatedInStorms } from "../checks/mutant-search.ts";
import { WISH_MUTATIONS } from "../checks/mutations.ts";
import { IS_LONG_FORM } from "../../fixtures/long-form.ts";

/** The services that ship, in simulated storms, where every callee who talks to us asks not to be called again. */
const PATIENCE_MS = 900_000;
const SEEDS = Array.from({ length: IS_LONG_FORM ? 40 : 15 }, (_, i) => i + 1);
let fleet: Fleet;
beforeAll(() => {
  fleet = openFleet(STORMS_AT_ONCE);
});
afterAll(async () => {
  await fleet.close();
});

it(
  "nobody is called again by the merchant whom they asked not to: their waiting leads end as BLACKLISTED",
  async () => {
    const runs = await Promise.all(SEEDS.map((seed) => fleet.once(seed, { wishes: true })));
    expect(runs.flatMap(({ seed, violations }) => violations.map((v) => ({ seed, ...v })))).toEqual([]);
    const total = (what: string): number => runs.reduce((sum, { tally }) => sum + (tally[what] ?? 0), 0);
    expect(total("outcome do_not_call")).toBeGreaterThan(SEEDS.length / 2);
    expect(total("outcome BLACKLISTED")).toBeGreaterThan(0);
  },
  PATIENCE_MS,
);

it.each(Object.keys(WISH_MUTATIONS))(
  "a mutant calls them again: %s",
  async (mutation) => {
    expect(await violatedInStorms(fleet, { wishes: true, mutation })).toEqual(["I20"]);
  },
  PATIENCE_MS,
);
