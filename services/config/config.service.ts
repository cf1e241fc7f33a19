import { service, type ServiceDeps } from "../../shared/bus/bus.ts";
import { outboxHandOver } from "../../shared/database/outbox-hand-over.ts";
import { tenantSchemas } from "../../shared/schemas/tenant-schemas.ts";
import { boundedRows, failAs, refusal } from "../../shared/errors.ts";
import {
  changeConfiguration,
  createConfiguration,
  deleteConfiguration,
} from "./configurations/configuration-changes.ts";
import { configurationSchema } from "./configurations/configurations.model.ts";
import { configurationsRepository } from "./configurations/configurations.repository.ts";
import { inboundPlans } from "./plans/inbound-plans.ts";
import { callPlans } from "./plans/call-plans.ts";
import { pushTargets, type PushTargets } from "./push/push-targets.ts";
import { configReads, shownConfiguration, shownTemplate } from "./config-queries.ts";
import { changeTemplate, createTemplate, deleteTemplate, templateNotFound } from "./templates/template-changes.ts";
import { doorSchema, doorUseSchema } from "./doors/doors.model.ts";
import { doorsRepository } from "./doors/doors.repository.ts";
import { doorChanges, doorEntries } from "./doors/doors.ts";
import { clientSecrets } from "./secrets/client-secrets.ts";
import { clientSecretSchema } from "./secrets/client-secrets.model.ts";
import { clientSecretsRepository } from "./secrets/client-secrets.repository.ts";
import { templateSchema, versionSchema } from "./templates/templates.model.ts";
import { templatesRepository } from "./templates/templates.repository.ts";

type Found = Awaited<ReturnType<PushTargets["resolve"]>>[number];

const resolvedOrFail = ([found]: readonly Found[]) =>
  found === undefined || "code" in found ? failAs(found ?? refusal("INTERNAL", "no answer")) : found;
const rowOf = (found: Found) =>
  "code" in found ? { resolved: null, refusal: found } : { resolved: found, refusal: null };

/** Configurations, and what hands their events over. */
function toldConfigurations(deps: ServiceDeps) {
  const model = deps.store().model("configurations", configurationSchema);
  const configurations = configurationsRepository(model, () => handOver.nudge());
  const handOver = outboxHandOver(deps, model, "configuration", (ids) => configurations.dropRemoved(ids));
  return { configurations, handOver };
}

/** Templates with their versions, and call execution configurations. */
export default service(
  "config",
  (deps) => {
    const store = deps.store();
    const templates = templatesRepository(
      store.model("templates", templateSchema),
      store.model("template_versions", versionSchema),
    );
    const { configurations, handOver } = toldConfigurations(deps);
    const secrets = clientSecretsRepository(store.model("secrets", clientSecretSchema));
    const doors = doorsRepository(store.model("doors", doorSchema), store.model("door_uses", doorUseSchema));
    const plans = callPlans(templates, configurations, deps.env.DEFAULT_TIMEZONE);
    const schemas = tenantSchemas(deps.clock);
    const targets = pushTargets(templates, configurations, deps.env.DEFAULT_TIMEZONE, schemas);
    const stores = { templates, secrets, schemas };

    return {
      actions: {
        ...configReads(templates, configurations, plans),
        ...inboundPlans(templates, configurations, plans),
        ...clientSecrets(deps, templates, secrets, doors),
        ...doorChanges(deps, doors, { templates }),
        ...doorEntries(deps, doors, { templates, configurations, targets }),
        createTemplate: async (params, { bus }) =>
          shownTemplate(configurations, await createTemplate(deps, stores, bus, params)),
        updateTemplate: async (params, { bus }) =>
          shownTemplate(configurations, await changeTemplate(deps, stores, bus, params)),
        async deleteTemplate(params, { bus }) {
          await deleteTemplate(deps, { templates, configurations, doors }, bus, params);
          return {};
        },
        owns: async ({ reseller_id, merchant_id }) => ({
          any: await templates.any({ reseller_id, merchant_id: merchant_id ?? null }),
        }),
        createConfiguration: async (params, { bus }) =>
          shownConfiguration(
            params.by,
            plans,
            await createConfiguration(deps, templates, { configurations, secrets }, bus, params),
          ),
        updateConfiguration: async (params, { bus }) =>
          shownConfiguration(
            params.by,
            plans,
            await changeConfiguration(deps, { configurations, secrets }, bus, params),
          ),
        async deleteConfiguration(params, { bus }) {
          await deleteConfiguration(deps, configurations, bus, params);
          return {};
        },
        resolveForPush: async (push, { bus }) => resolvedOrFail(await targets.resolve([push], bus)),
        resolveManyForPush: async ({ pushes }, { bus }) => ({
          results: boundedRows(await targets.resolve(pushes, bus)).map(rowOf),
        }),
        plans: async ({ template_ids, known }) =>
          known === undefined ? { plans: await plans.plans(template_ids) } : plans.changedPlans(template_ids, known),
        templateVersion: async ({ template_id, version }) =>
          (await templates.version(template_id, version)) ?? templateNotFound(),
        overridden: async ({ template_id, override }) => ({
          configuration: await plans.overridden(template_id, override),
        }),
      },
      started: handOver.start,
      stopped: async () => void (await Promise.all([handOver.stop(), schemas.close()])),
      events: { "config.changed": ({ template_id }) => targets.forget(template_id) },
    };
  },
  { listens: ["config.changed"] },
);
