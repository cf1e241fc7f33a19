import type { Model } from "mongoose";
import pLimit from "p-limit";
import type { Provider } from "../../shared/contracts/records/configuration.ts";
import { isLostRace } from "../../shared/database/database-errors.ts";
import type { DatabaseTime } from "../../shared/database/database-clock.ts";
import { repeatGivenUp } from "../../shared/database/write-batches.ts";
import type { NumberDoc } from "./numbers.model.ts";
import { isDrained } from "./numbers.repository.ts";
import {
  allocate,
  countriesShortOf,
  shuffled,
  type Allocation,
  type UsableNumber,
  type Want,
} from "./rules/slot-allocation.ts";
import {
  freeSlots,
  hasFreeSlot,
  IS_FOR_CALLS,
  releaseSlots,
  renewLease,
  reserveSlots,
  usableAtAllBy,
  usableBy,
  type Party,
} from "./rules/slot-leases.ts";

/** A number as the holder of one of its slots sees it. */
export type SlotNumber = Pick<NumberDoc, "_id" | "phone_number" | "provider">;

/** How slots are reserved. `same_country`: only numbers of each callee's own country. */
export interface ReserveHow {
  lease_seconds: number;
  same_country: boolean;
}

/** Numbers as calls use them: their slots. */
export interface NumberSlots {
  /** Slots for many holders of one party: by holder, without those for whom none is free. A holder that has a slot already keeps it. */
  reserve(party: Party, wants: readonly Want[], how: ReserveHow): Promise<Map<string, SlotNumber>>;
  /** Renews the leases of the slots reserved in these names; the names that have one. */
  renewLease(names: readonly string[], lease_seconds: number): Promise<Set<string>>;
  /** Releases the holders' slots, and those reserved in their names (`<holder>~…`); the numbers they were slots of. */
  release(holders: readonly string[]): Promise<Pick<NumberDoc, "provider">[]>;
  /** Slots of all numbers that can be called with, by provider. */
  totals(): Promise<{ provider: Provider; slots: number; free: number }[]>;
  /** How many numbers are usable, busy or not, and how many of their slots are free. */
  availability(party: Party, country: string | undefined): Promise<{ numbers: number; free_lines: number }>;
}

/** Numbers with a free slot read at a time, and how many of them are written to side by side. */
const CANDIDATES = 100;
const WRITES_AT_ONCE = 8;
/** Rounds without a single slot: each means that others took what was just read as free, so this is reached only under extreme contention. */
const MAX_LOST_ROUNDS = 100;

const SHOWN = { phone_number: 1, provider: 1 } as const;
type Reserved = SlotNumber & Pick<NumberDoc, "slots">;

/** What wins no race: leases renewed, slots released and counted. */
const unracedSlots = (model: Model<NumberDoc>, time: () => DatabaseTime): Omit<NumberSlots, "reserve"> => ({
  async renewLease(names, lease_seconds) {
    const { filter, update } = renewLease("name", names, lease_seconds, time());
    await repeatGivenUp(() => model.updateMany(filter, update, { updatePipeline: true }));
    const numbers = await model.find(filter, { slots: 1 }).lean<Pick<NumberDoc, "slots">[]>().exec();
    return new Set(numbers.flatMap(({ slots }) => slots.map((slot) => slot.name)));
  },
  async release(holders) {
    const releases = releaseSlots(holders);
    const found = await Promise.all(
      releases.map(({ filter }) =>
        model.find(filter, { provider: 1 }).lean<Pick<NumberDoc, "_id" | "provider">[]>().exec(),
      ),
    );
    const numbers = found.flat();
    if (numbers.length === 0) return [];
    await Promise.all(releases.map(({ filter, update }) => repeatGivenUp(() => model.updateMany(filter, update))));
    // after the slots: whichever comes last, this release or the hand-over of its last event, sees that nothing is owed of a removed number
    await model.deleteMany({ _id: { $in: numbers.map((n) => n._id) }, ...isDrained(time()) });
    return numbers;
  },
  totals: () =>
    model.aggregate<{ provider: Provider; slots: number; free: number }>([
      { $match: { status: "AVAILABLE", ...IS_FOR_CALLS } },
      { $project: { provider: 1, max_concurrent_calls: 1, ...freeSlots(time()) } },
      { $group: { _id: "$provider", slots: { $sum: "$max_concurrent_calls" }, free: { $sum: "$free" } } },
      { $project: { _id: 0, provider: "$_id", slots: 1, free: 1 } },
    ]),
  async availability(party, country) {
    const [found] = await model.aggregate<{ numbers: number; free_lines: number }>([
      { $match: { ...usableAtAllBy(party), ...(country === undefined ? {} : { country }) } },
      { $project: freeSlots(time()) },
      { $group: { _id: null, numbers: { $sum: 1 }, free_lines: { $sum: "$free" } } },
      { $project: { _id: 0, numbers: 1, free_lines: 1 } },
    ]);
    return found ?? { numbers: 0, free_lines: 0 };
  },
});

const slotsOf = (numbers: readonly Reserved[], holders: readonly string[]): [string, SlotNumber][] => {
  const wanted = new Set(holders);
  return numbers.flatMap(({ slots, ...number }) =>
    slots.filter((s) => wanted.has(s.holder)).map((s): [string, SlotNumber] => [s.holder, number]),
  );
};

/** The least recently used numbers with a free slot; where there are more than are read at once, those of the wanted countries are read too. */
const candidateReader = (model: Model<NumberDoc>, time: () => DatabaseTime) => {
  const withFreeSlot = (filter: Record<string, unknown>): Promise<UsableNumber[]> =>
    model
      .find({ ...filter, ...hasFreeSlot(time()) }, { country: 1, ...freeSlots(time()) })
      .sort({ used_at: 1 })
      .limit(CANDIDATES)
      .lean<UsableNumber[]>()
      .exec();

  return async (usable: Record<string, unknown>, wants: readonly Want[]): Promise<UsableNumber[]> => {
    const found = await withFreeSlot(usable);
    if (found.length < CANDIDATES) return found;
    const local = await pLimit(WRITES_AT_ONCE).map(countriesShortOf(found, wants), (country) =>
      withFreeSlot({ ...usable, country }),
    );
    return [...new Map([...local.flat(), ...found].map((n) => [n._id, n])).values()];
  };
};

/** The slots of a collection of numbers; `random` gives numbers in [0, 1), `time` what the database's clock ought to show. */
export function numberSlots(model: Model<NumberDoc>, random: () => number, time: () => DatabaseTime): NumberSlots {
  const candidates = candidateReader(model, time);

  const renewHeld = async (holders: readonly string[], lease_seconds: number): Promise<[string, SlotNumber][]> => {
    const { filter, update } = renewLease("holder", holders, lease_seconds, time());
    if (!(await model.exists(filter))) return [];
    await repeatGivenUp(() => model.updateMany(filter, update, { updatePipeline: true }));
    return slotsOf(
      await model
        .find(filter, { ...SHOWN, slots: 1 })
        .lean<Reserved[]>()
        .exec(),
      holders,
    );
  };

  const reserveOf = async (
    usable: Record<string, unknown>,
    { id, holders }: Allocation,
    lease_seconds: number,
  ): Promise<[string, SlotNumber][]> => {
    const { filter, update } = reserveSlots(usable, id, holders, lease_seconds, time());
    const how = { returnDocument: "after", updatePipeline: true, projection: { ...SHOWN, slots: 1 } } as const;
    try {
      const number = await model.findOneAndUpdate(filter, update, how).lean<Reserved>().exec();
      return number ? slotsOf([number], holders) : [];
    } catch (error) {
      if (!isLostRace(error)) throw error;
      // one of the holders asked elsewhere at the same time and has a slot there: that slot is the answer of both
      return renewHeld(holders, lease_seconds);
    }
  };

  return {
    async reserve(party, wants, { lease_seconds, same_country }) {
      const unique = [...new Map(wants.map((w) => [w.holder, w])).values()];
      const holders = unique.map((w) => w.holder);
      const slots = new Map(await renewHeld(holders, lease_seconds));
      let open = unique.filter((w) => !slots.has(w.holder));
      for (const usable of usableBy(party)) {
        for (let lost = 0; open.length > 0 && lost < MAX_LOST_ROUNDS;) {
          const found = await candidates(usable, open);
          const allocations = allocate(lost === 0 ? found : shuffled(found, random), open, same_country);
          if (allocations.length === 0) break;
          const reserve = (of: Allocation): Promise<[string, SlotNumber][]> => reserveOf(usable, of, lease_seconds);
          const reserved = (await pLimit(WRITES_AT_ONCE).map(allocations, reserve)).flat();
          for (const [holder, slot] of reserved) slots.set(holder, slot);
          open = open.filter((w) => !slots.has(w.holder));
          lost = reserved.length === 0 ? lost + 1 : 0;
        }
      }
      return slots;
    },
    ...unracedSlots(model, time),
  };
}
