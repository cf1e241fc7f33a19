import type { Model } from "mongoose";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { newestOf, type PageFilter } from "../../../shared/page.ts";
import type { Owner } from "../tenancy.ts";
import type { DoorDoc, DoorUseDoc } from "./doors.model.ts";

/** A window in which a door may be used so often. */
export interface DoorWindow {
  name: string;
  max: number;
  ends_at: Date;
}

/** Reads and writes of the collections `doors` and `door_uses`. */
export interface DoorsRepository {
  insert(door: DoorDoc): Promise<void>;
  page(scope: Scope, filter: ListFilter<"config.listDoors">, after: PageFilter, size: number): Promise<DoorDoc[]>;
  /** The door that was removed; null: the scope has none of this id. */
  remove(scope: Scope, id: string): Promise<DoorDoc | null>;
  /** Removes all of a template, of a merchant, or of a reseller and its merchants; how many. */
  removeOf(of: { template_id: string } | { reseller_id: string; merchant_id?: string | undefined }): Promise<number>;
  byKey(key: string): Promise<DoorDoc | null>;
  find(id: string): Promise<DoorDoc | null>;
  /** How many an owner has. */
  countOf(owner: Owner): Promise<number>;
  /** Counts one use in a window, over all processes; false: it has as many as it may. */
  take(window: DoorWindow): Promise<boolean>;
}

/** The repository over the two mongoose models. */
export function doorsRepository(doors: Model<DoorDoc>, uses: Model<DoorUseDoc>): DoorsRepository {
  const take = async ({ name, max, ends_at }: DoorWindow, upsert: boolean): Promise<boolean> => {
    const update = { $inc: { count: 1 }, $setOnInsert: { expires_at: ends_at } };
    const { matchedCount, upsertedCount } = await uses.updateOne({ _id: name, count: { $lt: max } }, update, {
      upsert,
    });
    return matchedCount + upsertedCount > 0;
  };
  return {
    async insert(door) {
      await doors.create(door);
    },
    page: (scope, filter, after, size) => newestOf(doors, [within(scope), filter, after], size),
    remove: (scope, id) => doors.findOneAndDelete({ $and: [{ _id: id.toLowerCase() }, within(scope)] }).lean<DoorDoc>(),
    removeOf: async (of) =>
      (
        await doors.deleteMany(
          "template_id" in of
            ? of
            : {
                reseller_id: of.reseller_id,
                ...(of.merchant_id === undefined ? {} : { merchant_id: of.merchant_id }),
              },
        )
      ).deletedCount,
    byKey: (key) => doors.findOne({ key }).lean<DoorDoc>(),
    find: (id) => doors.findById(id).lean<DoorDoc>(),
    countOf: ({ reseller_id, merchant_id }) => doors.countDocuments({ reseller_id, merchant_id }),
    take: (window) =>
      take(window, true).catch((error: unknown) => {
        // the window is full, or another one made it at the same moment
        if (isDuplicateKey(error)) return take(window, false);
        throw error;
      }),
  };
}
