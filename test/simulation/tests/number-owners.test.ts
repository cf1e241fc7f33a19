import { openFleet, type Fleet } from "../engine/fleet.ts";
import { OWNER_MUTATIONS } from "../checks/mutations.ts";
import { IS_LONG_FORM } from "../../fixtures/long-form.ts";

/** The services that ship, in simulated storms, where two resellers and admins quarrel over the phone numbers of one carrier account. */
const PATIENCE_MS = 240_000;
const SEEDS = Array.from({ length: IS_LONG_FORM ? 24 : 10 }, (_, i) => i + 1);
const MUTANT_SEEDS = SEEDS.slice(0, 10);
let fleet: Fleet;
beforeAll(() => {
  fleet = openFleet(2);
});
afterAll(async () => {
  await fleet.close();
});

it(
  "a phone number has one owner, is the account's, and its slots are its owner's, whoever adds, allots and deletes numbers at the same time",
  async () => {
    const runs = await Promise.all(SEEDS.map((seed) => fleet.once(seed, { owners: true })));
    expect(runs.flatMap(({ seed, violations }) => violations.map((v) => ({ seed, ...v })))).toEqual([]);
    const total = (what: string): number => runs.reduce((sum, { tally }) => sum + (tally[what] ?? 0), 0);
    for (const what of [
      "numbers.create: done",
      "numbers.create: NUMBER_EXISTS",
      "numbers.create: NUMBER_NOT_HELD",
      "numbers.update: done",
      "numbers.remove: done",
      "number changes hands before its slot is reserved",
    ])
      expect([what, total(what) > 0]).toEqual([what, true]);
  },
  PATIENCE_MS,
);

it.each(Object.keys(OWNER_MUTATIONS))(
  "a mutant breaks the ownership of numbers: %s",
  async (mutation) => {
    const runs = await Promise.all(MUTANT_SEEDS.map((seed) => fleet.once(seed, { owners: true, mutation })));
    const broken = runs.flatMap(({ violations }) => violations.map((v) => v.invariant));
    expect(broken).toContain("I21");
    // by what it does to numbers, not because the simulator stumbles over it
    expect(broken.filter((invariant) => invariant !== "I21" && invariant !== "I7")).toEqual([]);
  },
  PATIENCE_MS,
);
