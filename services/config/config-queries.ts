import type { Handlers } from "../../shared/bus/bus.ts";
import type { ConfigurationRecord } from "../../shared/contracts/records/configuration.ts";
import { scopeOf, type By } from "../../shared/contracts/records/identity.ts";
import type { FlowFunction } from "../../shared/contracts/flow/flow-node.ts";
import type { TemplateRecord } from "../../shared/contracts/records/template.ts";
import { readPage } from "../../shared/page.ts";
import { configurationNotFound } from "./configurations/configuration-changes.ts";
import type { ConfigurationDoc } from "./configurations/configurations.model.ts";
import type { ConfigurationsRepository } from "./configurations/configurations.repository.ts";
import { settingsOf, type CallPlans } from "./plans/call-plans.ts";
import { templateMisfits, withWarnings } from "./rules/configuration-fit.ts";
import { masked } from "./rules/request-secrets.ts";
import { templateWarnings } from "./rules/template-validation.ts";
import { templateNotFound } from "./templates/template-changes.ts";
import { recordOf } from "./templates/template-records.ts";
import type { TemplatesRepository } from "./templates/templates.repository.ts";

/** The configuration as this asker sees it: a user, who may not write it, sees nothing of its pre-checks that may be a credential. */
const configurationFor = (by: By, record: ConfigurationRecord): ConfigurationRecord =>
  by.role === "user" ? { ...record, pre_checks: record.pre_checks.map(masked) } : record;

const functionFor = (fn: FlowFunction): FlowFunction => (fn.http ? { ...fn, http: masked(fn.http) } : fn);

/** The template as this asker sees it: the same of its functions' requests. */
const templateFor = (by: By, record: TemplateRecord): TemplateRecord =>
  by.role === "user"
    ? {
        ...record,
        nodes: record.nodes.map((node) =>
          node.functions ? { ...node, functions: node.functions.map(functionFor) } : node,
        ),
        global_functions: record.global_functions.map(functionFor),
      }
    : record;

/** A configuration as it is shown, with what will not work with its template. CONFIGURATION_NOT_FOUND for none, or one whose template is gone. */
export async function shownConfiguration(
  by: By,
  plans: CallPlans,
  doc: ConfigurationDoc | null,
): Promise<ConfigurationRecord> {
  const [record] = await plans.shown(doc ? [doc] : []);
  return record ? configurationFor(by, record) : configurationNotFound();
}

/** A template as it is shown: with what a save would refuse now, where it was saved before, and what will not work with its configuration. */
export async function shownTemplate(
  configurations: Pick<ConfigurationsRepository, "ofTemplates">,
  record: TemplateRecord,
): Promise<TemplateRecord> {
  const [shown = record] = await shownTemplates(configurations, [record]);
  return shown;
}

async function shownTemplates(
  configurations: Pick<ConfigurationsRepository, "ofTemplates">,
  records: readonly TemplateRecord[],
): Promise<TemplateRecord[]> {
  const docs = await configurations.ofTemplates(records.map(({ id }) => id));
  const settings = new Map(docs.map((doc) => [doc.template_id, settingsOf(doc)]));
  return records.map((record) =>
    withWarnings(record, [...templateWarnings(record), ...templateMisfits(record, settings.get(record.id) ?? null)]),
  );
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
    const { items, next_cursor } = await readPage(
      { limit, cursor },
      async (after, size) => {
        const heads = await templates.page(scopeOf(by), filter, after, size);
        const shown = await shownTemplates(configurations, await templates.current(heads));
        const records = new Map(shown.map((r) => [r.id, r]));
        return heads.map(({ _id, created_at }) => ({ _id, created_at, record: records.get(_id) }));
      },
      ({ record }) => record && templateFor(by, record),
    );
    return { count: items.length, templates: items, next_cursor };
  },
  async getTemplate({ by, id }) {
    const head = (await templates.head(scopeOf(by), id)) ?? templateNotFound();
    const [record] = await templates.current([head]);
    return record ? templateFor(by, await shownTemplate(configurations, record)) : templateNotFound();
  },
  async listVersions({ by, id, ...page }) {
    const head = (await templates.head(scopeOf(by), id)) ?? templateNotFound();
    const { items, next_cursor } = await readPage(
      page,
      (after, size) => templates.versions(head, after, size),
      (version) => templateFor(by, recordOf(version)),
    );
    return { count: items.length, versions: items, next_cursor };
  },
  async listConfigurations({ by, limit, cursor, ...filter }) {
    const { items, next_cursor } = await readPage(
      { limit, cursor },
      async (after, size) => {
        const docs = await configurations.page(scopeOf(by), filter, after, size);
        const records = new Map((await plans.shown(docs)).map((r) => [r.id, r]));
        return docs.map(({ _id, created_at }) => ({ _id, created_at, record: records.get(_id) }));
      },
      ({ record }) => record && configurationFor(by, record),
    );
    return { count: items.length, configurations: items, next_cursor };
  },
  getConfiguration: async ({ by, config_id }) =>
    shownConfiguration(by, plans, await configurations.find(scopeOf(by), config_id)),
});
