import type { Model } from "mongoose";
import type { Provider } from "../../shared/contracts/records/configuration.ts";
import type { Scope } from "../../shared/contracts/records/identity.ts";
import { isDuplicateKey } from "../../shared/database/database-errors.ts";
import { PAGE_ORDER, type PageFilter } from "../../shared/page.ts";
import type { DatabaseTime } from "../../shared/database/database-clock.ts";
import { IS_FOR_CALLS, isIdle } from "./rules/slot-leases.ts";
import type { NumberDoc } from "./numbers.model.ts";
import { visibleTo } from "./ownership.ts";

/** What may be changed of a number. */
export type NumberChange = Partial<
  Pick<
    NumberDoc,
    "provider" | "status" | "channel" | "max_concurrent_calls" | "reseller_id" | "merchant_id" | "inbound_template_id"
  >
> & { updated_at: Date };

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
  /** Changes a number that still has the owner and provider it was read with. `idle`: only while none of its slots is reserved. null: one of both does not hold. */
  change(scope: Scope, seen: NumberDoc, set: NumberChange, idle: boolean): Promise<NumberDoc | null>;
  /** Deletes a number none of whose slots is reserved. False: one is, or the number is gone. */
  removeIdle(scope: Scope, id: string): Promise<boolean>;
  /** Hides a number until its last slot is released; then it is deleted. False: it is gone. */
  removeDraining(scope: Scope, id: string, now: Date): Promise<boolean>;
}

/** Holds for numbers that were not deleted. */
const NOT_REMOVED = { removed: null } as const;

const dropIfDrained = async (model: Model<NumberDoc>, id: string, at: DatabaseTime): Promise<void> => {
  await model.deleteOne({ _id: id, removed: id, ...isIdle(at) }).exec();
};

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
    model.create(number).then(
      () => true,
      (error: unknown) => {
        if (isDuplicateKey(error)) return false;
        throw error;
      },
    ),
  ...numberReads(model),
  change: (scope, seen, set, idle) => {
    const asSeen = {
      $and: [
        {
          _id: seen._id,
          reseller_id: seen.reseller_id,
          merchant_id: seen.merchant_id,
          provider: seen.provider,
          ...(idle ? isIdle(time()) : {}),
        },
        NOT_REMOVED,
        visibleTo(scope),
      ],
    };
    return model.findOneAndUpdate(asSeen, { $set: set }, { returnDocument: "after" }).lean<NumberDoc>().exec();
  },
  removeIdle: async (scope, id) =>
    (await model.deleteOne({ $and: [{ _id: id, ...isIdle(time()) }, NOT_REMOVED, visibleTo(scope)] }).exec())
      .deletedCount > 0,
  async removeDraining(scope, id, now) {
    const { modifiedCount } = await model
      .updateOne(
        { $and: [{ _id: id }, NOT_REMOVED, visibleTo(scope)] },
        { $set: { removed: id, removed_at: now, status: "DISABLED", updated_at: now } },
      )
      .exec();
    await dropIfDrained(model, id, time());
    return modifiedCount > 0;
  },
});
