import { openFleet, type Fleet } from "../engine/fleet.ts";
import { CAP_MUTATIONS } from "../checks/mutations.ts";
import { IS_LONG_FORM } from "../../fixtures/long-form.ts";

/** The services that ship, in simulated storms, with a cap on calls per callee; the carrier's ledger judges. */
const PATIENCE_MS = 900_000;
const SEEDS = Array.from({ length: IS_LONG_FORM ? 16 : 9 }, (_, i) => i + 1);
let fleet: Fleet;
beforeAll(() => {
  fleet = openFleet(2);
});
afterAll(async () => {
  await fleet.close();
});

it.each([{ per_day: 1 }, { per_day: 2, per_week: 3 }, { per_week: 1 }])(
  "at most %j: never more by the ledger, and every lead ends",
  async (cap) => {
    const runs = await Promise.all(SEEDS.map((seed) => fleet.once(seed, { cap })));
    expect(runs.flatMap(({ seed, violations }) => violations.map((v) => ({ seed, ...v })))).toEqual([]);
    const total = (what: string): number => runs.reduce((sum, { tally }) => sum + (tally[what] ?? 0), 0);
    expect(total("call placed")).toBeGreaterThan(SEEDS.length);
    // leads had to wait for the cap until they were too old
    expect(total("outcome EXPIRED")).toBeGreaterThan(0);
  },
  PATIENCE_MS,
);

it.each(Object.keys(CAP_MUTATIONS))(
  "a mutant breaks the cap: %s",
  async (mutation) => {
    const runs = await Promise.all(SEEDS.map((seed) => fleet.once(seed, { cap: { per_day: 1 }, mutation })));
    expect([...new Set(runs.flatMap(({ violations }) => violations.map((v) => v.invariant)))]).toEqual(["I19"]);
  },
  PATIENCE_MS,
);
