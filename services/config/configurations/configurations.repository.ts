import type { Model } from "mongoose";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { firstEvents, OWES_NO_EVENT, withEvents } from "../../../shared/database/object-outbox.ts";
import { newestOf, type PageFilter } from "../../../shared/page.ts";
import { configurationChanged, configurationCreated, configurationRemoved } from "./configuration-events.ts";
import type { ConfigurationDoc } from "./configurations.model.ts";

/** What a list of configurations is narrowed by. */
type ConfigurationFilter = ListFilter<"config.listConfigurations">;

/** By what it is known whether a template has another configuration than before: a change is later than all that were made before. */
export type ConfigurationStamp = Pick<ConfigurationDoc, "_id" | "template_id" | "updated_at">;

/** Reads and writes of the collection `configurations`. What changes one leaves its event in it. */
export interface ConfigurationsRepository {
  /** False when the template has one already. */
  insert(configuration: ConfigurationDoc): Promise<boolean>;
  page(scope: Scope, filter: ConfigurationFilter, after: PageFilter, size: number): Promise<ConfigurationDoc[]>;
  /** The configuration, if it lies in the scope. */
  find(scope: Scope, id: string): Promise<ConfigurationDoc | null>;
  /** Writes settings over those that were seen; null when they have changed meanwhile, or it is gone. */
  replace(scope: Scope, seen: ConfigurationDoc, settings: string, now: Date): Promise<ConfigurationDoc | null>;
  /** False: it is gone. */
  remove(scope: Scope, seen: ConfigurationDoc, now: Date): Promise<boolean>;
  /** Removes the configuration of a template, if it has one; its id. */
  removeOf(scope: Scope, template_id: string, now: Date): Promise<string | null>;
  /** Deletes those of these that were removed and have no events left. */
  dropRemoved(ids: readonly string[]): Promise<void>;
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

/** Holds for those that were not removed. */
const THERE = { removed_at: null } as const;

/** What writes. */
const configurationWrites = (
  model: Model<ConfigurationDoc>,
  onEvent: () => void,
): Pick<ConfigurationsRepository, "insert" | "replace" | "remove" | "removeOf" | "dropRemoved"> => {
  const remove: ConfigurationsRepository["remove"] = async (scope, seen, now) => {
    // out of the way of the template's next one, and without what it was set to
    const gone = { template_id: seen._id, settings: "{}", removed_at: now, updated_at: now };
    const { matchedCount } = await model.updateOne(
      { $and: [{ _id: seen._id, ...THERE }, within(scope)] },
      withEvents({ $set: gone }, [configurationRemoved(seen, now)]),
    );
    onEvent();
    return matchedCount > 0;
  };
  return {
    async insert(configuration) {
      const events = [configurationCreated(configuration, configuration.created_at)];
      try {
        await model.create({ ...configuration, ...firstEvents(events) });
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
      onEvent();
      return true;
    },
    async replace(scope, seen, settings, now) {
      const updated_at = new Date(Math.max(now.getTime(), seen.updated_at.getTime() + 1));
      const replaced = await model
        .findOneAndUpdate(
          { $and: [{ _id: seen._id, settings: seen.settings, ...THERE }, within(scope)] },
          withEvents({ $set: { settings, updated_at } }, configurationChanged(seen, settings, now)),
          { returnDocument: "after" },
        )
        .lean<ConfigurationDoc>();
      onEvent();
      return replaced;
    },
    remove,
    async removeOf(scope, template_id, now) {
      const its = (): Promise<ConfigurationDoc | null> =>
        model.findOne({ $and: [{ template_id, ...THERE }, within(scope)] }).lean<ConfigurationDoc>();
      for (let seen = await its(); seen !== null; seen = await its())
        if (await remove(scope, seen, now)) return seen._id;
      return null;
    },
    async dropRemoved(ids) {
      await model.deleteMany({ _id: { $in: [...ids] }, removed_at: { $ne: null }, ...OWES_NO_EVENT });
    },
  };
};

/** The repository over a mongoose model. `onEvent`: a write has made an event. */
export const configurationsRepository = (
  model: Model<ConfigurationDoc>,
  onEvent: () => void,
): ConfigurationsRepository => ({
  ...configurationWrites(model, onEvent),
  page: (scope, filter, after, size) => newestOf(model, [within(scope), THERE, sought(filter), after], size),
  find: (scope, id) =>
    model.findOne({ $and: [{ _id: id.toLowerCase(), ...THERE }, within(scope)] }).lean<ConfigurationDoc>(),
  ofTemplates: (template_ids) =>
    model.find({ template_id: { $in: [...template_ids] }, ...THERE }).lean<ConfigurationDoc[]>(),
  stampsOf: (template_ids) =>
    model
      .find({ template_id: { $in: [...template_ids] }, ...THERE }, { template_id: 1, updated_at: 1 })
      .lean<ConfigurationStamp[]>(),
  ofOwner: (reseller_id, merchant_id) =>
    model
      .find({ reseller_id, merchant_id: { $in: [merchant_id, null] }, ...THERE })
      .sort({ created_at: 1, _id: 1 })
      .limit(MAX_OF_OWNER)
      .lean<ConfigurationDoc[]>(),
});
