import type { ParamsOf, ResultOf } from "../../shared/bus.ts";
import type { ConfigurationRecord } from "../../shared/contracts/records/configuration.ts";
import { scopeOf } from "../../shared/contracts/records/identity.ts";
import type { TemplateRecord } from "../../shared/contracts/records/template.ts";
import { pageFilter, pageOf, pageSize } from "../../shared/page.ts";
import { configurationNotFound } from "./configurations/configuration-changes.ts";
import type { ConfigurationDoc } from "./configurations/configurations.model.ts";
import type { ConfigurationsRepository } from "./configurations/configurations.repository.ts";
import type { CallPlans } from "./plans/call-plans.ts";
import { templateNotFound } from "./templates/template-changes.ts";
import { bytesOf, recordOf } from "./templates/template-records.ts";
import type { TemplatesRepository } from "./templates/templates.repository.ts";

/** What people read of templates and configurations, each asker within its scope. */
export interface ConfigQueries {
  templates(asked: ParamsOf<"config.listTemplates">): Promise<ResultOf<"config.listTemplates">>;
  /** TEMPLATE_NOT_FOUND. */
  template(asked: ParamsOf<"config.getTemplate">): Promise<TemplateRecord>;
  /** TEMPLATE_NOT_FOUND. */
  versions(asked: ParamsOf<"config.listVersions">): Promise<ResultOf<"config.listVersions">>;
  configurations(asked: ParamsOf<"config.listConfigurations">): Promise<ResultOf<"config.listConfigurations">>;
  /** A configuration as it is shown. CONFIGURATION_NOT_FOUND for none, or one whose template is gone. */
  configuration(doc: ConfigurationDoc | null): Promise<ConfigurationRecord>;
}

/** Reading over the repositories. */
export const configQueries = (
  templates: TemplatesRepository,
  configurations: ConfigurationsRepository,
  plans: CallPlans,
): ConfigQueries => ({
  async templates({ by, limit, cursor, ...filter }) {
    const heads = await templates.page(scopeOf(by), filter, pageFilter(cursor), pageSize(limit));
    const records = new Map((await templates.current(heads)).map((r) => [r.id, r]));
    const { items, next_cursor } = pageOf(heads, limit, (h) => bytesOf(records.get(h._id)));
    const shown = items.flatMap((h) => records.get(h._id) ?? []);
    return { count: shown.length, templates: shown, next_cursor };
  },
  async template({ by, id }) {
    const head = (await templates.head(scopeOf(by), id)) ?? templateNotFound();
    const [record] = await templates.current([head]);
    return record ?? templateNotFound();
  },
  async versions({ by, id, limit, cursor }) {
    const head = (await templates.head(scopeOf(by), id)) ?? templateNotFound();
    const { items, next_cursor } = pageOf(
      await templates.versions(head, pageFilter(cursor), pageSize(limit)),
      limit,
      (v) => Buffer.byteLength(v.record),
    );
    return { count: items.length, versions: items.map(recordOf), next_cursor };
  },
  async configurations({ by, limit, cursor, ...filter }) {
    const { items, next_cursor } = pageOf(
      await configurations.page(scopeOf(by), filter, pageFilter(cursor), pageSize(limit)),
      limit,
    );
    const records = await plans.records(items);
    return { count: records.length, configurations: records, next_cursor };
  },
  async configuration(doc) {
    const [record] = await plans.records(doc ? [doc] : []);
    return record ?? configurationNotFound();
  },
});
