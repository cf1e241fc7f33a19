import { service } from "../../shared/bus.ts";
import { scopeOf } from "../../shared/contracts/identity.ts";
import { fail } from "../../shared/errors.ts";
import { pageFilter, pageOf, pageSize } from "../../shared/page.ts";
import { configurationSchema } from "./configurations.model.ts";
import { configurationsRepository } from "./configurations.repository.ts";
import { planning, toResolved } from "./planning.ts";
import { pushing } from "./pushing.ts";
import { templateSchema, versionSchema } from "./templates.model.ts";
import { templatesRepository } from "./templates.repository.ts";
import { createConfiguration, createTemplate } from "./writing.ts";

const notFound = (): never => fail("TEMPLATE_NOT_FOUND", "There is no such template, or it is not yours; list yours with GET /templates.");

/** Templates with their versions, and call execution configurations (interface.md 2.8, 4.6). */
export default service("config", (ground) => {
  const store = ground.store();
  const templates = templatesRepository(store.model("templates", templateSchema), store.model("template_versions", versionSchema));
  const configurations = configurationsRepository(store.model("configurations", configurationSchema));
  const plans = planning(templates, configurations, ground.env.DEFAULT_TIMEZONE);
  const pushes = pushing(templates);

  return {
    actions: {
      createTemplate: (params, { bus }) => createTemplate(ground, templates, bus, params),
      async listTemplates({ by, limit, cursor, ...filter }) {
        const page = pageOf(await templates.page(scopeOf(by), filter, pageFilter(cursor), pageSize(limit)), limit);
        const records = await templates.current(page.items);
        return { count: records.length, templates: records, next_cursor: page.next_cursor };
      },
      async getTemplate({ by, id }) {
        const head = await templates.head(scopeOf(by), id) ?? notFound();
        const [record] = await templates.current([head]);
        return record ?? notFound();
      },
      createConfiguration: (params, { bus }) => createConfiguration(ground, templates, configurations, bus, params),
      async listConfigurations({ by, limit, cursor, ...filter }) {
        const page = pageOf(await configurations.page(scopeOf(by), filter, pageFilter(cursor), pageSize(limit)), limit);
        const records = await plans.records(page.items);
        return { count: records.length, configurations: records, next_cursor: page.next_cursor };
      },
      async resolveForPush(pushed, { bus }) {
        const template = await pushes.templateFor(pushed, bus);
        const [configuration] = await configurations.ofTemplates([template._id]);
        return toResolved(template, configuration);
      },
      plans: async ({ template_ids }) => ({ plans: await plans.plans(template_ids) }),
      templateVersion: async ({ template_id, version }) => await templates.version(template_id, version) ?? notFound(),
      overridden: async ({ template_id, override }) => ({ configuration: await plans.overridden(template_id, override) }),
    },
  };
});
