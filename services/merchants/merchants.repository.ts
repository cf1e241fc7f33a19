import type { Model } from "mongoose";
import type { ListFilter } from "../../shared/bus/bus.ts";
import type { CalleeCap } from "../../shared/contracts/merchants.ts";
import type { SpendCeiling } from "../../shared/contracts/records/spend.ts";
import type { Scope } from "../../shared/contracts/records/identity.ts";
import { OWES_NO_EVENT } from "../../shared/database/object-outbox.ts";
import { newestOf, type PageFilter } from "../../shared/page.ts";
import type { MerchantDoc } from "./merchants.model.ts";
import { prefixRange } from "./rules/name-key.ts";

/** What a list of merchants is narrowed by; `name` is how the name begins. */
type MerchantFilter = ListFilter<"merchants.list">;

/** What may change of a merchant. */
export type MerchantChange = Partial<
  Pick<
    MerchantDoc,
    | "name"
    | "name_key"
    | "contact_email"
    | "is_active"
    | "test_numbers"
    | "max_calls_per_callee"
    | "spend_ceiling"
    | "webhook_phone_number"
  >
> & {
  updated_at: Date;
};

/** What limits a merchant's calls. */
export interface CallLimits {
  id: string;
  max_calls_per_callee: CalleeCap | null;
  spend_ceiling: SpendCeiling | null;
}

/** Reads and writes of merchants. What is done on behalf of a person takes its scope; the others serve services. */
export interface MerchantsRepository {
  add(merchant: MerchantDoc): Promise<void>;
  find(scope: Scope, id: string): Promise<MerchantDoc | null>;
  page(scope: Scope, filter: MerchantFilter, after: PageFilter, size: number): Promise<MerchantDoc[]>;
  change(scope: Scope, id: string, change: MerchantChange): Promise<MerchantDoc | null>;
  /** False: it is gone, or has an event that is not handed over. */
  remove(scope: Scope, id: string): Promise<boolean>;
  /** For services: the merchant, if it belongs to this reseller. */
  ofReseller(reseller_id: string, id: string): Promise<Pick<MerchantDoc, "is_active" | "webhook_phone_number"> | null>;
  /** For services: the name of the reseller's merchant of this id; null: there is none. */
  nameOf(reseller_id: string, id: string): Promise<string | null>;
  /** For services: the test numbers of those of these merchants that have any. */
  testNumbers(ids: readonly string[]): Promise<Map<string, readonly string[]>>;
  /** For services: those of these merchants that have a cap on calls per callee or a spend ceiling. */
  callLimits(ids: readonly string[]): Promise<CallLimits[]>;
  /** For services: whether the reseller has any merchant. */
  anyOf(reseller_id: string): Promise<boolean>;
}

/** The filter of a scope; a merchant is itself the scope's merchant. */
export const withinMerchants = (scope: Scope): Record<string, string>[] => [
  ...(scope.reseller_id === null ? [] : [{ reseller_id: scope.reseller_id }]),
  ...(scope.merchant_id === null ? [] : [{ _id: scope.merchant_id }]),
];

/** The repository of merchants over a mongoose model. */
export const merchantsRepository = (model: Model<MerchantDoc>): MerchantsRepository => ({
  add: async (merchant) => {
    await model.create(merchant);
  },
  find: (scope, id) => model.findOne({ $and: [{ _id: id }, ...withinMerchants(scope)] }).lean<MerchantDoc>(),
  page(scope, { name, ...same }, after, size) {
    const name_key = prefixRange(name);
    return newestOf(model, [...withinMerchants(scope), same, name_key === null ? {} : { name_key }, after], size);
  },
  change: (scope, id, change) =>
    model
      .findOneAndUpdate(
        { $and: [{ _id: id }, ...withinMerchants(scope)] },
        { $set: change },
        { returnDocument: "after" },
      )
      .lean<MerchantDoc>(),
  remove: async (scope, id) =>
    (await model.deleteOne({ $and: [{ _id: id, ...OWES_NO_EVENT }, ...withinMerchants(scope)] })).deletedCount > 0,
  ofReseller: (reseller_id, id) =>
    model
      .findOne({ _id: id, reseller_id }, { is_active: 1, webhook_phone_number: 1 })
      .lean<Pick<MerchantDoc, "is_active" | "webhook_phone_number">>(),
  nameOf: async (reseller_id, id) =>
    (await model.findOne({ _id: id, reseller_id }, { name: 1 }).lean<Pick<MerchantDoc, "name">>())?.name ?? null,
  async testNumbers(ids) {
    const found = await model
      .find({ _id: { $in: ids } }, { test_numbers: 1 })
      .lean<Pick<MerchantDoc, "_id" | "test_numbers">[]>();
    return new Map(found.map((m) => [m._id, m.test_numbers ?? []]));
  },
  async callLimits(ids) {
    const found = await model
      .find(
        { _id: { $in: ids }, $or: [{ max_calls_per_callee: { $ne: null } }, { spend_ceiling: { $ne: null } }] },
        { max_calls_per_callee: 1, spend_ceiling: 1 },
      )
      .lean<Pick<MerchantDoc, "_id" | "max_calls_per_callee" | "spend_ceiling">[]>();
    return found.map(({ _id, max_calls_per_callee = null, spend_ceiling = null }) => ({
      id: _id,
      max_calls_per_callee,
      spend_ceiling,
    }));
  },
  anyOf: async (reseller_id) => (await model.exists({ reseller_id })) !== null,
});
