import { openFleet, type Fleet } from "../engine/fleet.ts";
import { OWNER_MUTATIONS } from "../checks/mutations.ts";
import { IS_LONG_FORM } from "../../fixtures/long-form.ts";

/** The services that ship, in simulated storms, where two resellers and admins quarrel over the phone numbers of one carrier account. */
const PATIENCE_MS = 900_000;
const SEEDS = Array.from({ length: IS_LONG_FORM ? 24 : 10 }, (_, i) => i + 1);
/** A mutant is looked for in so many storms at a time, at most so often: whether two meet moves with every change of what the services write. */
const MUTANT_SEEDS = 10;
const MOST_ROUNDS = 8;
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
    const broken: string[] = [];
    for (let round = 0; round < MOST_ROUNDS && !broken.includes("I21"); round++) {
      const seeds = Array.from({ length: MUTANT_SEEDS }, (_, i) => round * MUTANT_SEEDS + i + 1);
      const runs = await Promise.all(seeds.map((seed) => fleet.once(seed, { owners: true, mutation })));
      broken.push(...runs.flatMap(({ violations }) => violations.map((v) => v.invariant)));
    }
    expect(broken).toContain("I21");
    // by what it does to numbers, not because the simulator stumbles over it
    expect(broken.filter((invariant) => invariant !== "I21" && invariant !== "I7")).toEqual([]);
  },
  PATIENCE_MS,
);
