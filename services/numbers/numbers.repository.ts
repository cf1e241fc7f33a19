import type { Model } from "mongoose";
import { isDuplicateKey } from "../../shared/errors.ts";
import { PAGE_ORDER, type PageFilter } from "../../shared/page.ts";
import { holds, keep, letGo, letGoInName, preferences, scopesOf, take, tryOrder, type LeaseMove, type LineFreed, type Wanted } from "./number-leases.ts";
import type { NumberDoc } from "./numbers.model.ts";

/** Reads and guarded writes of the collection `numbers`. */
export interface NumbersRepository {
  /** False when the reseller has this phone number already. */
  insert(number: NumberDoc): Promise<boolean>;
  /** Numbers that match every filter, newest first. */
  page(filters: Record<string, unknown>[], after: PageFilter, size: number): Promise<NumberDoc[]>;
  /** Takes a line for the holder, or keeps the one it has; null: none is free. */
  reserve(wanted: Wanted, holder: string, lease_seconds: number): Promise<NumberDoc | null>;
  /** Frees the holder's line, and those taken in its name (`<holder>~…`); the numbers they were lines of. */
  release(holder: string): Promise<NumberDoc[]>;
  /** Whether there is any usable number, busy or not. */
  any(wanted: Omit<Wanted, "country">): Promise<boolean>;
}

const MAX_QUERY_MS = 8000;
/** Candidates read at a time. */
const CANDIDATES = 32;
/** Candidates tried before they are read afresh: what was read grows stale with every race that is lost. */
const TRIES = 8;
/** Lines freed by one release beside the holder's own: one for each scheduler that wanted the same lead. */
const MAX_IN_NAME = 100;
/** Lost races after which a reserve gives up: each one means that somebody else got a line, so this is only reached under extreme contention. */
const MAX_LOST_RACES = 500;

/** The repository over a mongoose model; `random` gives numbers in [0, 1). */
export function numbersRepository(model: Model<NumberDoc>, random: () => number): NumbersRepository {
  const apply = (move: LeaseMove): Promise<NumberDoc | null> =>
    model.findOneAndUpdate(move.filter, move.update, { returnDocument: "after", updatePipeline: true, maxTimeMS: MAX_QUERY_MS }).lean<NumberDoc>().exec();

  const candidates = (filter: Record<string, unknown>): Promise<{ _id: string }[]> =>
    model.find(filter, { _id: 1 }).sort({ used_at: 1 }).limit(CANDIDATES).maxTimeMS(MAX_QUERY_MS).lean<{ _id: string }[]>().exec();

  const keepOne = async (holder: string, lease_seconds: number): Promise<NumberDoc | null> => {
    const number = await apply(keep(holder, lease_seconds));
    return number && holds(number, holder) ? number : null;
  };

  const takeOne = async (wanted: Wanted, holder: string, lease_seconds: number): Promise<NumberDoc | null> => {
    let lost = 0;
    for (const filter of preferences(wanted, holder)) {
      for (let found = await candidates(filter); found.length > 0 && lost < MAX_LOST_RACES; found = await candidates(filter)) {
        for (const { _id } of tryOrder(found, random).slice(0, TRIES)) {
          const taken = await apply(take(_id, holder, lease_seconds));
          if (taken) return taken;
          lost++;
        }
      }
    }
    return null;
  };

  const freeUpTo = async (max: number, { filter, update }: LineFreed): Promise<NumberDoc[]> => {
    const freed: NumberDoc[] = [];
    while (freed.length < max) {
      const number = await model.findOneAndUpdate(filter, update, { maxTimeMS: MAX_QUERY_MS }).lean<NumberDoc>().exec();
      if (!number) break;
      freed.push(number);
    }
    return freed;
  };

  return {
    insert: (number) => model.create(number).then(() => true, (error: unknown) => {
      if (isDuplicateKey(error)) return false;
      throw error;
    }),
    page: (filters, after, size) => model.find({ $and: [...filters, after] }).sort(PAGE_ORDER).limit(size).maxTimeMS(MAX_QUERY_MS).lean<NumberDoc[]>().exec(),
    async reserve(wanted, holder, lease_seconds) {
      const kept = await keepOne(holder, lease_seconds);
      if (kept) return kept;
      const taken = await takeOne(wanted, holder, lease_seconds).catch((error: unknown) => {
        if (isDuplicateKey(error)) return null;
        throw error;
      });
      // nothing free, or the same holder asked twice at once and the other request got a line: that line is the answer of both
      return taken ?? keepOne(holder, lease_seconds);
    },
    release: async (holder) => [...await freeUpTo(1, letGo(holder)), ...await freeUpTo(MAX_IN_NAME, letGoInName(holder))],
    async any(wanted) {
      const usable = { provider: wanted.provider, status: "AVAILABLE" as const, $or: scopesOf(wanted) };
      return (await model.findOne(usable, { _id: 1 }).maxTimeMS(MAX_QUERY_MS).lean().exec()) !== null;
    },
  };
}
