import type { Model } from "mongoose";
import { isDuplicateKey } from "../../shared/errors.ts";
import { inSlices } from "../../shared/in-slices.ts";
import { allot, shortOf, shuffled, type Share, type Usable, type Want } from "./slot-allocation.ts";
import {
  FREE_LINES,
  HAS_ROOM,
  IS_IDLE,
  keep,
  letGo,
  take,
  usableAtAllBy,
  usableBy,
  type Party,
} from "./slot-leases.ts";
import type { NumberDoc } from "./numbers.model.ts";

/** A number as its line's holder sees it. */
export type Line = Pick<NumberDoc, "_id" | "phone_number" | "provider">;

/** Numbers as calls use them: their lines. */
export interface NumberLines {
  /** Lines for many holders of one party: by holder, without those for whom none is free. Who has a line already keeps it. */
  reserve(
    party: Party,
    wants: readonly Want[],
    how: { lease_seconds: number; same_country: boolean },
  ): Promise<Map<string, Line>>;
  /** Prolongs the lines taken in these names; the names that have one. */
  keep(names: readonly string[], lease_seconds: number): Promise<Set<string>>;
  /** Frees the holders' lines, and those taken in their names (`<holder>~…`); the numbers they were lines of. */
  release(holders: readonly string[]): Promise<Pick<NumberDoc, "provider">[]>;
  /** How many numbers are usable, busy or not, and how many of their lines are free. */
  availability(party: Party, country: string | undefined): Promise<{ numbers: number; free_lines: number }>;
}

/** Numbers with room read at a time, and how many of them are written to side by side. */
const CANDIDATES = 100;
const PARALLEL = 8;
/** Rounds without a single line: each means that others took what was just read as free, so this is only reached under extreme contention. */
const MAX_LOST_ROUNDS = 100;

const LINE = { phone_number: 1, provider: 1 } as const;
type Taken = Line & Pick<NumberDoc, "slots">;

/** What needs no race to be won: lines kept, given back, and counted. */
const numberCounts = (model: Model<NumberDoc>): Pick<NumberLines, "keep" | "release" | "availability"> => ({
  async keep(names, lease_seconds) {
    const { filter, update } = keep("name", names, lease_seconds);
    await model.updateMany(filter, update, { updatePipeline: true });
    const numbers = await model.find(filter, { slots: 1 }).lean<Pick<NumberDoc, "slots">[]>().exec();
    return new Set(numbers.flatMap(({ slots }) => slots.map((slot) => slot.name)));
  },
  async release(holders) {
    const moves = letGo(holders);
    const numbers = (
      await Promise.all(
        moves.map(({ filter }) =>
          model.find(filter, { provider: 1 }).lean<Pick<NumberDoc, "_id" | "provider">[]>().exec(),
        ),
      )
    ).flat();
    if (numbers.length === 0) return [];
    await Promise.all(moves.map(({ filter, update }) => model.updateMany(filter, update)));
    // after the lines: whoever comes last, this release or the delete that hides the number, sees that it is idle
    await model.deleteMany({ _id: { $in: numbers.map((n) => n._id) }, removed: { $ne: null }, ...IS_IDLE });
    return numbers;
  },
  async availability(party, country) {
    const [found] = await model.aggregate<{ numbers: number; free_lines: number }>([
      { $match: { ...usableAtAllBy(party), ...(country === undefined ? {} : { country }) } },
      { $group: { _id: null, numbers: { $sum: 1 }, free_lines: { $sum: { $max: [FREE_LINES, 0] } } } },
      { $project: { _id: 0, numbers: 1, free_lines: 1 } },
    ]);
    return found ?? { numbers: 0, free_lines: 0 };
  },
});

/** The lines of a collection; `random` gives numbers in [0, 1). */
export function numberLines(model: Model<NumberDoc>, random: () => number): NumberLines {
  const withRoom = (filter: Record<string, unknown>): Promise<Usable[]> =>
    model
      .find({ ...filter, ...HAS_ROOM }, { country: 1, free: FREE_LINES })
      .sort({ used_at: 1 })
      .limit(CANDIDATES)
      .lean<Usable[]>()
      .exec();

  /** The least recently used numbers with room; where there are more than are read at once, those of the wanted countries are read too. */
  const candidates = async (usable: Record<string, unknown>, wants: readonly Want[]): Promise<Usable[]> => {
    const found = await withRoom(usable);
    if (found.length < CANDIDATES) return found;
    const local = await inSlices(shortOf(found, wants), PARALLEL, (country) => withRoom({ ...usable, country }));
    return [...new Map([...local.flat(), ...found].map((n) => [n._id, n])).values()];
  };

  const linesIn = (numbers: readonly Taken[], holders: ReadonlySet<string>): [string, Line][] =>
    numbers.flatMap(({ slots, ...line }) =>
      slots.filter((s) => holders.has(s.holder)).map((s): [string, Line] => [s.holder, line]),
    );

  const keepHeld = async (holders: readonly string[], lease_seconds: number): Promise<Map<string, Line>> => {
    const { filter, update } = keep("holder", holders, lease_seconds);
    if (!(await model.exists(filter))) return new Map();
    await model.updateMany(filter, update, { updatePipeline: true });
    return new Map(
      linesIn(
        await model
          .find(filter, { ...LINE, slots: 1 })
          .lean<Taken[]>()
          .exec(),
        new Set(holders),
      ),
    );
  };

  const takeShare = async ({ id, holders }: Share, lease_seconds: number): Promise<[string, Line][]> => {
    const { filter, update } = take(id, holders, lease_seconds);
    try {
      const number = await model
        .findOneAndUpdate(filter, update, {
          returnDocument: "after",
          updatePipeline: true,
          projection: { ...LINE, slots: 1 },
        })
        .lean<Taken>()
        .exec();
      return number ? linesIn([number], new Set(holders)) : [];
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      // one of them asked elsewhere at the same time and has a line there: that line is the answer of both
      return [...(await keepHeld(holders, lease_seconds))];
    }
  };

  return {
    async reserve(party, wants, { lease_seconds, same_country }) {
      const unique = [...new Map(wants.map((w) => [w.holder, w])).values()];
      const lines = await keepHeld(
        unique.map((w) => w.holder),
        lease_seconds,
      );
      let open = unique.filter((w) => !lines.has(w.holder));
      for (const usable of usableBy(party)) {
        for (let lost = 0; open.length > 0 && lost < MAX_LOST_ROUNDS;) {
          const found = await candidates(usable, open);
          const shares = allot(lost === 0 ? found : shuffled(found, random), open, same_country);
          if (shares.length === 0) break;
          const taken = (await inSlices(shares, PARALLEL, (share) => takeShare(share, lease_seconds))).flat();
          for (const [holder, line] of taken) lines.set(holder, line);
          open = open.filter((w) => !lines.has(w.holder));
          lost = taken.length === 0 ? lost + 1 : 0;
        }
      }
      return lines;
    },
    ...numberCounts(model),
  };
}
