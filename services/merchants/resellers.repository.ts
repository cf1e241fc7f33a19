import type { Model } from "mongoose";
import type { ListFilter } from "../../shared/bus/bus.ts";
import type { SpendCeiling } from "../../shared/contracts/records/spend.ts";
import type { Scope } from "../../shared/contracts/records/identity.ts";
import { newestOf, type PageFilter } from "../../shared/page.ts";
import { prefixRange } from "./rules/name-key.ts";
import type { ResellerDoc } from "./resellers.model.ts";

/** What a list of resellers is narrowed by; `name` is how the name begins. */
type ResellerFilter = ListFilter<"merchants.listResellers">;

/** What may change of a reseller. */
export type ResellerChange = Partial<Pick<ResellerDoc, "name" | "name_key" | "is_active" | "spend_ceiling">> & {
  updated_at: Date;
};

/** Reads and writes of resellers. What is done on behalf of a person takes its scope; the others serve services. */
export interface ResellersRepository {
  add(reseller: ResellerDoc): Promise<void>;
  find(scope: Scope, id: string): Promise<ResellerDoc | null>;
  page(scope: Scope, filter: ResellerFilter, after: PageFilter, size: number): Promise<ResellerDoc[]>;
  change(scope: Scope, id: string, change: ResellerChange): Promise<ResellerDoc | null>;
  remove(scope: Scope, id: string): Promise<void>;
  /** For services: the reseller of this id. */
  one(id: string): Promise<Pick<ResellerDoc, "is_active"> | null>;
  /** For services: those of these resellers that have a spend ceiling. */
  spendCeilings(ids: readonly string[]): Promise<{ id: string; spend_ceiling: SpendCeiling }[]>;
}

/** A reseller is itself the scope's reseller. */
const within = (scope: Scope): Record<string, string>[] =>
  scope.reseller_id === null ? [] : [{ _id: scope.reseller_id }];

/** The repository of resellers over a mongoose model. */
export const resellersRepository = (model: Model<ResellerDoc>): ResellersRepository => ({
  add: async (reseller) => {
    await model.create(reseller);
  },
  find: (scope, id) => model.findOne({ $and: [{ _id: id }, ...within(scope)] }).lean<ResellerDoc>(),
  page(scope, { name, ...same }, after, size) {
    const name_key = prefixRange(name);
    return newestOf(model, [...within(scope), same, name_key === null ? {} : { name_key }, after], size);
  },
  change: (scope, id, change) =>
    model
      .findOneAndUpdate({ $and: [{ _id: id }, ...within(scope)] }, { $set: change }, { returnDocument: "after" })
      .lean<ResellerDoc>(),
  remove: async (scope, id) => {
    await model.deleteOne({ $and: [{ _id: id }, ...within(scope)] });
  },
  one: (id) => model.findOne({ _id: id }, { is_active: 1 }).lean<Pick<ResellerDoc, "is_active">>(),
  async spendCeilings(ids) {
    const found = await model
      .find({ _id: { $in: ids }, spend_ceiling: { $ne: null } }, { spend_ceiling: 1 })
      .lean<Pick<ResellerDoc, "_id" | "spend_ceiling">[]>();
    return found.flatMap(({ _id, spend_ceiling }) => (spend_ceiling ? [{ id: _id, spend_ceiling }] : []));
  },
});
