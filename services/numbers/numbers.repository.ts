import type { Model } from "mongoose";
import type { Provider } from "../../shared/contracts/records/configuration.ts";
import type { Scope } from "../../shared/contracts/records/identity.ts";
import { isDuplicateKey } from "../../shared/database/database-errors.ts";
import { PAGE_ORDER, type PageFilter } from "../../shared/page.ts";
import type { DatabaseTime } from "../../shared/database/database-clock.ts";
import { asOfEvents, firstEvents, OWES_NO_EVENT, withEvents } from "../../shared/database/object-outbox.ts";
import { numberChanged, numberCreated, numberRemoved, type NumberSettings } from "./number-events.ts";
import { IS_FOR_CALLS, isIdle } from "./rules/slot-leases.ts";
import type { NumberDoc } from "./numbers.model.ts";
import { visibleTo } from "./ownership.ts";

/** A change of a number. */
export type NumberChange = Partial<NumberSettings> & { updated_at: Date };

/** Numbers as the API shows and changes them. */
export interface NumberRecords {
  /** False when the phone number has an owner already. */
  insert(number: NumberDoc): Promise<boolean>;
  /** Numbers visible in the scope that match the filter, newest first. */
  page(scope: Scope, filter: Record<string, unknown>, after: PageFilter, size: number): Promise<NumberDoc[]>;
  /** The number, if it is visible in the scope. */
  find(scope: Scope, id: string): Promise<NumberDoc | null>;
  /** The number in use that a call to this phone number is for. */
  called(phone_number: string, provider: Provider): Promise<NumberDoc | null>;
  /** Changes a number, with its events, that still is as it was read, but for its slots. `idle`: only while none of them is reserved. null: one of both does not hold. */
  change(scope: Scope, seen: NumberDoc, set: NumberChange, idle: boolean): Promise<NumberDoc | null>;
  /**
   * Hides a number that still is as it was read, until its last slot is released and its events are handed over; then it is deleted. `idle`: only while none of its
   * slots is reserved. False: one of both does not hold.
   */
  remove(scope: Scope, seen: NumberDoc, now: Date, idle: boolean): Promise<boolean>;
  /** Deletes those of these numbers that are removed, and have neither slots nor events left. */
  dropRemoved(ids: readonly string[]): Promise<void>;
}

/** Holds for numbers that were not deleted. */
const NOT_REMOVED = { removed: null } as const;

/** The filter of removed numbers that nothing is owed of any more. */
export const isDrained = (at: DatabaseTime) => ({ removed: { $ne: null }, ...OWES_NO_EVENT, ...isIdle(at) });

/** The update that hides a number, with its event. */
export const removal = (number: NumberDoc, now: Date) =>
  withEvents({ $set: { removed: number._id, removed_at: now, status: "DISABLED", updated_at: now } as const }, [
    numberRemoved({ ...number, status: "DISABLED" }, now),
  ]);

/** The filter of a number that is as it was read. */
const asSeen = (scope: Scope, seen: NumberDoc, idle: boolean, at: DatabaseTime) => ({
  $and: [
    {
      _id: seen._id,
      reseller_id: seen.reseller_id,
      merchant_id: seen.merchant_id,
      provider: seen.provider,
      ...asOfEvents(seen),
      ...(idle ? isIdle(at) : {}),
    },
    NOT_REMOVED,
    visibleTo(scope),
  ],
});

/** What only reads. */
const numberReads = (model: Model<NumberDoc>): Pick<NumberRecords, "page" | "find" | "called"> => ({
  page: (scope, filter, after, size) =>
    model
      .find({ $and: [NOT_REMOVED, visibleTo(scope), filter, after] })
      .sort(PAGE_ORDER)
      .limit(size)
      .lean<NumberDoc[]>()
      .exec(),
  find: (scope, id) =>
    model
      .findOne({ $and: [{ _id: id.toLowerCase() }, NOT_REMOVED, visibleTo(scope)] })
      .lean<NumberDoc>()
      .exec(),
  called: (phone_number, provider) =>
    model
      .findOne({ phone_number, provider, status: "AVAILABLE", ...IS_FOR_CALLS, ...NOT_REMOVED })
      .lean<NumberDoc>()
      .exec(),
});

/** The numbers of a collection; `time`: what the database's clock ought to show. */
export const numberRecords = (model: Model<NumberDoc>, time: () => DatabaseTime): NumberRecords => ({
  insert: (number) =>
    model.create({ ...number, ...firstEvents([numberCreated(number, number.created_at)]) }).then(
      () => true,
      (error: unknown) => {
        if (isDuplicateKey(error)) return false;
        throw error;
      },
    ),
  ...numberReads(model),
  change: (scope, seen, set, idle) =>
    model
      .findOneAndUpdate(
        asSeen(scope, seen, idle, time()),
        withEvents({ $set: set }, numberChanged(seen, set, set.updated_at)),
        { returnDocument: "after" },
      )
      .lean<NumberDoc>()
      .exec(),
  remove: async (scope, seen, now, idle) =>
    (await model.updateOne(asSeen(scope, seen, idle, time()), removal(seen, now)).exec()).modifiedCount > 0,
  async dropRemoved(ids) {
    await model.deleteMany({ _id: { $in: [...ids] }, ...isDrained(time()) }).exec();
  },
});
