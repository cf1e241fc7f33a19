import type { Model } from "mongoose";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { newestOf, type PageFilter } from "../../../shared/page.ts";
import type { ConfigurationDoc } from "./configurations.model.ts";

/** What a list of configurations is narrowed by. */
type ConfigurationFilter = ListFilter<"config.listConfigurations">;

/** By what it is known whether a template has another configuration than before: a change is later than all that were made before. */
export type ConfigurationStamp = Pick<ConfigurationDoc, "_id" | "template_id" | "updated_at">;

/** Reads and writes of the collection `configurations`. */
export interface ConfigurationsRepository {
  /** False when the template has one already. */
  insert(configuration: ConfigurationDoc): Promise<boolean>;
  page(scope: Scope, filter: ConfigurationFilter, after: PageFilter, size: number): Promise<ConfigurationDoc[]>;
  /** The configuration, if it lies in the scope. */
  find(scope: Scope, id: string): Promise<ConfigurationDoc | null>;
  /** Writes settings over those that were seen; null when they have changed meanwhile, or it is gone. */
  replace(scope: Scope, seen: ConfigurationDoc, settings: string, now: Date): Promise<ConfigurationDoc | null>;
  /** False: it is gone. */
  remove(scope: Scope, id: string): Promise<boolean>;
  /** Removes the configuration of a template, if it has one; its id. */
  removeOf(scope: Scope, template_id: string): Promise<string | null>;
  /** Those of these templates, in no order; for services. */
  ofTemplates(template_ids: readonly string[]): Promise<ConfigurationDoc[]>;
  /** The same without their settings, which may be large: what tells whether one has changed. */
  stampsOf(template_ids: readonly string[]): Promise<ConfigurationStamp[]>;
  /** Those of a merchant and those that are its reseller's own, the oldest first; merchant null: the latter alone. For services. */
  ofOwner(reseller_id: string, merchant_id: string | null): Promise<ConfigurationDoc[]>;
}

/** Most configurations of one owner that are searched for one that takes inbound calls. */
const MAX_OF_OWNER = 1000;

const sought = ({ template_id, ...same }: ConfigurationFilter): ConfigurationFilter => ({
  ...same,
  ...(template_id === undefined ? {} : { template_id: template_id.toLowerCase() }),
});

/** The repository over a mongoose model. */
export const configurationsRepository = (model: Model<ConfigurationDoc>): ConfigurationsRepository => ({
  insert: (configuration) =>
    model.create(configuration).then(
      () => true,
      (error: unknown) => {
        if (isDuplicateKey(error)) return false;
        throw error;
      },
    ),
  page: (scope, filter, after, size) => newestOf(model, [within(scope), sought(filter), after], size),
  find: (scope, id) => model.findOne({ $and: [{ _id: id.toLowerCase() }, within(scope)] }).lean<ConfigurationDoc>(),
  replace: (scope, seen, settings, now) =>
    model
      .findOneAndUpdate(
        { $and: [{ _id: seen._id, settings: seen.settings }, within(scope)] },
        { $set: { settings, updated_at: new Date(Math.max(now.getTime(), seen.updated_at.getTime() + 1)) } },
        { returnDocument: "after" },
      )
      .lean<ConfigurationDoc>(),
  remove: async (scope, id) => (await model.deleteOne({ $and: [{ _id: id }, within(scope)] })).deletedCount > 0,
  async removeOf(scope, template_id) {
    const removed = await model.findOneAndDelete({ $and: [{ template_id }, within(scope)] }).lean<ConfigurationDoc>();
    return removed?._id ?? null;
  },
  ofTemplates: (template_ids) => model.find({ template_id: { $in: [...template_ids] } }).lean<ConfigurationDoc[]>(),
  stampsOf: (template_ids) =>
    model
      .find({ template_id: { $in: [...template_ids] } }, { template_id: 1, updated_at: 1 })
      .lean<ConfigurationStamp[]>(),
  ofOwner: (reseller_id, merchant_id) =>
    model
      .find({ reseller_id, merchant_id: { $in: [merchant_id, null] } })
      .sort({ created_at: 1, _id: 1 })
      .limit(MAX_OF_OWNER)
      .lean<ConfigurationDoc[]>(),
});
