import type { Handlers } from "../../shared/bus/bus.ts";
import type { ConfigurationRecord } from "../../shared/contracts/records/configuration.ts";
import { scopeOf } from "../../shared/contracts/records/identity.ts";
import { pageFilter, pageOf, pageSize, readPage } from "../../shared/page.ts";
import { configurationNotFound } from "./configurations/configuration-changes.ts";
import type { ConfigurationDoc } from "./configurations/configurations.model.ts";
import type { ConfigurationsRepository } from "./configurations/configurations.repository.ts";
import type { CallPlans } from "./plans/call-plans.ts";
import { templateNotFound } from "./templates/template-changes.ts";
import { bytesOf, recordOf } from "./templates/template-records.ts";
import type { TemplatesRepository } from "./templates/templates.repository.ts";

/** A configuration as it is shown. CONFIGURATION_NOT_FOUND for none, or one whose template is gone. */
export async function shownConfiguration(plans: CallPlans, doc: ConfigurationDoc | null): Promise<ConfigurationRecord> {
  const [record] = await plans.records(doc ? [doc] : []);
  return record ?? configurationNotFound();
}

/** What people read of templates and configurations, each asker within its scope. */
export const configReads = (
  templates: TemplatesRepository,
  configurations: ConfigurationsRepository,
  plans: CallPlans,
): Handlers<
  "config",
  "listTemplates" | "getTemplate" | "listVersions" | "listConfigurations" | "getConfiguration"
> => ({
  async listTemplates({ by, limit, cursor, ...filter }) {
    const heads = await templates.page(scopeOf(by), filter, pageFilter(cursor), pageSize(limit));
    const records = new Map((await templates.current(heads)).map((r) => [r.id, r]));
    const { items, next_cursor } = pageOf(heads, limit, (h) => bytesOf(records.get(h._id)));
    const shown = items.flatMap((h) => records.get(h._id) ?? []);
    return { count: shown.length, templates: shown, next_cursor };
  },
  async getTemplate({ by, id }) {
    const head = (await templates.head(scopeOf(by), id)) ?? templateNotFound();
    const [record] = await templates.current([head]);
    return record ?? templateNotFound();
  },
  async listVersions({ by, id, ...page }) {
    const head = (await templates.head(scopeOf(by), id)) ?? templateNotFound();
    const { items, next_cursor } = await readPage(
      page,
      (after, size) => templates.versions(head, after, size),
      (v) => Buffer.byteLength(v.record),
    );
    return { count: items.length, versions: items.map(recordOf), next_cursor };
  },
  async listConfigurations({ by, limit, cursor, ...filter }) {
    const { items, next_cursor } = await readPage({ limit, cursor }, (after, size) =>
      configurations.page(scopeOf(by), filter, after, size),
    );
    const records = await plans.records(items);
    return { count: records.length, configurations: records, next_cursor };
  },
  getConfiguration: async ({ by, config_id }) =>
    shownConfiguration(plans, await configurations.find(scopeOf(by), config_id)),
});
