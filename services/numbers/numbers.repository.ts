import type { Model } from "mongoose";
import type { Scope } from "../../shared/contracts/identity.ts";
import { isDuplicateKey } from "../../shared/errors.ts";
import { PAGE_ORDER, type PageFilter } from "../../shared/page.ts";
import { holds, IS_IDLE, keep, letGo, letGoInName, preferences, scopesOf, take, tryOrder, type LeaseMove, type LineFreed, type Wanted } from "./number-leases.ts";
import type { NumberDoc } from "./numbers.model.ts";
import { visibleTo } from "./owning.ts";

/** What may be changed of a number. */
export type NumberChange = Partial<Pick<NumberDoc, "provider" | "status" | "channel" | "max_concurrent_calls" | "reseller_id" | "merchant_id">> & { updated_at: Date };

/** Numbers as people see and change them. */
export interface NumberRecords {
  /** False when the reseller has this phone number already. */
  insert(number: NumberDoc): Promise<boolean>;
  /** Numbers to be seen in the scope that match the filter, newest first. */
  page(scope: Scope, filter: Record<string, unknown>, after: PageFilter, size: number): Promise<NumberDoc[]>;
  /** The number, if it may be seen in the scope. */
  find(scope: Scope, id: string): Promise<NumberDoc | null>;
  /** Changes a number that belongs to whom it was seen to. `idle`: only while none of its lines is taken. null: it is not so (any more);
   *  "taken": its new owner has this phone number already. */
  change(scope: Scope, seen: NumberDoc, set: NumberChange, idle: boolean): Promise<NumberDoc | "taken" | null>;
  /** Deletes a number none of whose lines is taken. False: one is, or the number is gone. */
  removeIdle(scope: Scope, id: string): Promise<boolean>;
  /** Hides a number until its last line is given back, then it goes. False: it is gone. */
  removeDraining(scope: Scope, id: string, now: Date): Promise<boolean>;
}

/** Numbers as calls use them: their lines. */
export interface NumberLines {
  /** Takes a line for the holder, or keeps the one it has; null: none is free. */
  reserve(wanted: Wanted, holder: string, lease_seconds: number): Promise<NumberDoc | null>;
  /** Frees the holder's line, and those taken in its name (`<holder>~…`); the numbers they were lines of. */
  release(holder: string): Promise<NumberDoc[]>;
  /** Whether there is any usable number, busy or not. */
  any(wanted: Omit<Wanted, "country">): Promise<boolean>;
}

/** Reads and guarded writes of the collection `numbers`. */
export interface NumbersRepository extends NumberRecords, NumberLines {}

const MAX_QUERY_MS = 8000;
/** Holds for numbers that were not deleted. */
const STANDING = { removed: null } as const;
/** Candidates read at a time. */
const CANDIDATES = 32;
/** Candidates tried before they are read afresh: what was read grows stale with every race that is lost. */
const TRIES = 8;
/** Lines freed by one release beside the holder's own: one for each scheduler that wanted the same lead. */
const MAX_IN_NAME = 100;
/** Lost races after which a reserve gives up: each one means that somebody else got a line, so this is only reached under extreme contention. */
const MAX_LOST_RACES = 500;

const dropIfDrained = async (model: Model<NumberDoc>, id: string): Promise<void> => { await model.deleteOne({ _id: id, removed: id, ...IS_IDLE }).exec(); };

const numberRecords = (model: Model<NumberDoc>): NumberRecords => ({
  insert: (number) => model.create(number).then(() => true, (error: unknown) => {
    if (isDuplicateKey(error)) return false;
    throw error;
  }),
  page: (scope, filter, after, size) => model.find({ $and: [STANDING, visibleTo(scope), filter, after] }).sort(PAGE_ORDER).limit(size).maxTimeMS(MAX_QUERY_MS).lean<NumberDoc[]>().exec(),
  find: (scope, id) => model.findOne({ $and: [{ _id: id.toLowerCase() }, STANDING, visibleTo(scope)] }).maxTimeMS(MAX_QUERY_MS).lean<NumberDoc>().exec(),
  change: (scope, seen, set, idle) => {
    const asSeen = { $and: [{ _id: seen._id, reseller_id: seen.reseller_id, merchant_id: seen.merchant_id, ...(idle ? IS_IDLE : {}) }, STANDING, visibleTo(scope)] };
    return model.findOneAndUpdate(asSeen, { $set: set }, { returnDocument: "after", maxTimeMS: MAX_QUERY_MS }).lean<NumberDoc>().exec().catch((error: unknown) => {
      if (isDuplicateKey(error)) return "taken" as const;
      throw error;
    });
  },
  removeIdle: async (scope, id) => (await model.deleteOne({ $and: [{ _id: id, ...IS_IDLE }, STANDING, visibleTo(scope)] }).exec()).deletedCount > 0,
  async removeDraining(scope, id, now) {
    const { modifiedCount } = await model.updateOne({ $and: [{ _id: id }, STANDING, visibleTo(scope)] }, { $set: { removed: id, removed_at: now, status: "DISABLED", updated_at: now } }).exec();
    await dropIfDrained(model, id);
    return modifiedCount > 0;
  },
});

function numberLines(model: Model<NumberDoc>, random: () => number): NumberLines {
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
    async release(holder) {
      const freed = [...await freeUpTo(1, letGo(holder)), ...await freeUpTo(MAX_IN_NAME, letGoInName(holder))];
      for (const { _id, removed } of freed) if ((removed ?? null) !== null) await dropIfDrained(model, _id);
      return freed;
    },
    async any(wanted) {
      const usable = { provider: wanted.provider, status: "AVAILABLE" as const, $or: scopesOf(wanted) };
      return (await model.findOne(usable, { _id: 1 }).maxTimeMS(MAX_QUERY_MS).lean().exec()) !== null;
    },
  };
}

/** The repository over a mongoose model; `random` gives numbers in [0, 1). */
export const numbersRepository = (model: Model<NumberDoc>, random: () => number): NumbersRepository => ({ ...numberRecords(model), ...numberLines(model, random) });
