import { STORMS_AT_ONCE, violatedInStorms } from "../checks/mutant-search.ts";
import { openFleet, type Fleet } from "../engine/fleet.ts";
import { SPEND_MUTATIONS } from "../checks/mutations.ts";
import { IS_LONG_FORM } from "../../fixtures/long-form.ts";

/** The services that ship, in simulated storms, under a spend ceiling of every merchant and reseller; the carrier's ledger judges. */
const PATIENCE_MS = 900_000;
const SEEDS = IS_LONG_FORM ? 16 : 6;
/** So many times as many are looked into for a lead that had to wait until it was too old. */
const MOST_ROUNDS = 4;
/** Where a mutant is looked for that few storms meet: calls of a day, for two writers meet only where there is room for several at once, and a seed that found it. */
const RARE: Readonly<Record<string, { calls: number; from: number }>> = {
  "ledger-without-revision": { calls: 3, from: 89 },
};
let fleet: Fleet;
beforeAll(() => {
  fleet = openFleet(STORMS_AT_ONCE);
});
afterAll(async () => {
  await fleet.close();
});

it.each([
  { per_day: { calls: 2 } },
  { per_day: { minutes: 8 }, per_month: { calls: 5 } },
  { per_day: { money: 0.05 }, per_month: { minutes: 30 } },
])(
  "at most %j: never more by the ledger, every call is counted once, and every lead ends",
  async (ceiling) => {
    const tally = new Map<string, number>();
    const total = (what: string): number => tally.get(what) ?? 0;
    for (let round = 0; round < MOST_ROUNDS && total("outcome EXPIRED") === 0; round++) {
      const seeds = Array.from({ length: SEEDS }, (_, i) => round * SEEDS + i + 1);
      const runs = await Promise.all(seeds.map((seed) => fleet.once(seed, { ceiling })));
      expect(runs.flatMap(({ seed, violations }) => violations.map((v) => ({ seed, ...v })))).toEqual([]);
      for (const run of runs)
        for (const [what, count] of Object.entries(run.tally)) tally.set(what, total(what) + count);
    }
    expect(total("call placed")).toBeGreaterThan(SEEDS);
    // leads had to wait for the ceiling until they were too old
    expect(total("outcome EXPIRED")).toBeGreaterThan(0);
  },
  PATIENCE_MS,
);

it.each(Object.keys(SPEND_MUTATIONS))(
  "a mutant breaks the ceiling: %s",
  async (mutation) => {
    const { calls, from } = RARE[mutation] ?? { calls: 2, from: 1 };
    expect(await violatedInStorms(fleet, { ceiling: { per_day: { calls } }, mutation }, from)).toEqual(["I22"]);
  },
  PATIENCE_MS,
);
