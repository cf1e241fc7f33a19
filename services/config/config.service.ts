import { service } from "../../shared/bus.ts";
import type { ConfigurationRecord } from "../../shared/contracts/configuration.ts";
import { scopeOf } from "../../shared/contracts/identity.ts";
import { pageFilter, pageOf, pageSize } from "../../shared/page.ts";
import { changeConfiguration, configurationNotFound, deleteConfiguration } from "./configuration-changing.ts";
import { configurationSchema, type ConfigurationDoc } from "./configurations.model.ts";
import { configurationsRepository } from "./configurations.repository.ts";
import { planning, toResolved } from "./planning.ts";
import { pushing } from "./pushing.ts";
import { changeTemplate, deleteTemplate, templateNotFound } from "./template-changing.ts";
import { bytesOf, recordOf } from "./template-views.ts";
import { templateSchema, versionSchema } from "./templates.model.ts";
import { templatesRepository } from "./templates.repository.ts";
import { createConfiguration, createTemplate } from "./writing.ts";

/** Templates with their versions, and call execution configurations (interface.md 2.8, 4.6). */
export default service("config", (ground) => {
  const store = ground.store();
  const templates = templatesRepository(store.model("templates", templateSchema), store.model("template_versions", versionSchema));
  const configurations = configurationsRepository(store.model("configurations", configurationSchema));
  const plans = planning(templates, configurations, ground.env.DEFAULT_TIMEZONE);
  const pushes = pushing(templates);
  const shown = async (doc: ConfigurationDoc | null): Promise<ConfigurationRecord> => {
    const [record] = await plans.records(doc ? [doc] : []);
    return record ?? configurationNotFound();
  };

  return {
    actions: {
      createTemplate: (params, { bus }) => createTemplate(ground, templates, bus, params),
      async listTemplates({ by, limit, cursor, ...filter }) {
        const heads = await templates.page(scopeOf(by), filter, pageFilter(cursor), pageSize(limit));
        const records = new Map((await templates.current(heads)).map((r) => [r.id, r]));
        const page = pageOf(heads, limit, (h) => bytesOf(records.get(h._id)));
        const shown = page.items.flatMap((h) => records.get(h._id) ?? []);
        return { count: shown.length, templates: shown, next_cursor: page.next_cursor };
      },
      async getTemplate({ by, id }) {
        const head = await templates.head(scopeOf(by), id) ?? templateNotFound();
        const [record] = await templates.current([head]);
        return record ?? templateNotFound();
      },
      updateTemplate: (params, { bus }) => changeTemplate(ground, templates, bus, params),
      async deleteTemplate(params, { bus }) {
        await deleteTemplate(ground, templates, configurations, bus, params);
        return {};
      },
      async listVersions({ by, id, limit, cursor }) {
        const head = await templates.head(scopeOf(by), id) ?? templateNotFound();
        const page = pageOf(await templates.versions(head, pageFilter(cursor), pageSize(limit)), limit, (v) => Buffer.byteLength(v.record));
        return { count: page.items.length, versions: page.items.map(recordOf), next_cursor: page.next_cursor };
      },
      owns: async ({ reseller_id, merchant_id }) => ({ any: await templates.any({ reseller_id, merchant_id: merchant_id ?? null }) }),
      createConfiguration: (params, { bus }) => createConfiguration(ground, templates, configurations, bus, params),
      async listConfigurations({ by, limit, cursor, ...filter }) {
        const page = pageOf(await configurations.page(scopeOf(by), filter, pageFilter(cursor), pageSize(limit)), limit);
        const records = await plans.records(page.items);
        return { count: records.length, configurations: records, next_cursor: page.next_cursor };
      },
      getConfiguration: async ({ by, config_id }) => shown(await configurations.find(scopeOf(by), config_id)),
      updateConfiguration: async (params, { bus }) => shown(await changeConfiguration(ground, configurations, bus, params)),
      async deleteConfiguration(params, { bus }) {
        await deleteConfiguration(ground, configurations, bus, params);
        return {};
      },
      async resolveForPush(pushed, { bus }) {
        const template = await pushes.templateFor(pushed, bus);
        const [configuration] = await configurations.ofTemplates([template._id]);
        return toResolved(template, configuration);
      },
      plans: async ({ template_ids }) => ({ plans: await plans.plans(template_ids) }),
      templateVersion: async ({ template_id, version }) => await templates.version(template_id, version) ?? templateNotFound(),
      overridden: async ({ template_id, override }) => ({ configuration: await plans.overridden(template_id, override) }),
    },
  };
});
