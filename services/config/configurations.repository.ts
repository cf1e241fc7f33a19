import type { Model } from "mongoose";
import type { Scope } from "../../shared/contracts/identity.ts";
import { isDuplicateKey } from "../../shared/errors.ts";
import { PAGE_ORDER, type PageFilter } from "../../shared/page.ts";
import type { ConfigurationDoc } from "./configurations.model.ts";
import { within } from "./templates.repository.ts";

/** What a list of configurations is narrowed by. */
export interface ConfigurationFilter { reseller_id?: string; merchant_id?: string; template_id?: string }

/** Reads and writes of the collection `configurations`. */
export interface ConfigurationsRepository {
  /** False when the template has one already. */
  insert(configuration: ConfigurationDoc): Promise<boolean>;
  page(scope: Scope, filter: ConfigurationFilter, after: PageFilter, size: number): Promise<ConfigurationDoc[]>;
  /** Those of these templates, in no order; for services. */
  ofTemplates(template_ids: readonly string[]): Promise<ConfigurationDoc[]>;
}

const MAX_QUERY_MS = 8000;

/** The repository over a mongoose model. */
export const configurationsRepository = (model: Model<ConfigurationDoc>): ConfigurationsRepository => ({
  insert: (configuration) => model.create(configuration).then(() => true, (error: unknown) => {
    if (isDuplicateKey(error)) return false;
    throw error;
  }),
  page: (scope, filter, after, size) => model.find({ $and: [within(scope), { ...filter }, after] }).sort(PAGE_ORDER).limit(size).maxTimeMS(MAX_QUERY_MS).lean<ConfigurationDoc[]>().exec(),
  ofTemplates: (template_ids) => model.find({ template_id: { $in: [...template_ids] } }).maxTimeMS(MAX_QUERY_MS).lean<ConfigurationDoc[]>().exec(),
});
