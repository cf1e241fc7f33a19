import type { Bus, ParamsOf, ServiceGround } from "../../shared/bus.ts";
import type { ConfigurationRecord } from "../../shared/contracts/configuration.ts";
import { scopeOf } from "../../shared/contracts/identity.ts";
import type { TemplateRecord } from "../../shared/contracts/template.ts";
import { fail } from "../../shared/errors.ts";
import { configurationFaults, normalised } from "./configuration-check.ts";
import type { ConfigurationDoc } from "./configurations.model.ts";
import type { ConfigurationsRepository } from "./configurations.repository.ts";
import { effective } from "./effective.ts";
import { templateFaults } from "./template-check.ts";
import { newRecord } from "./template-views.ts";
import type { TemplatesRepository } from "./templates.repository.ts";
import { mayOwn, mayWrite, requireOwner } from "./tenancy.ts";

const places = (n: number): string => (n === 1 ? "1 fault" : `${n} faults`);

/** Saves a new template as version 1. FORBIDDEN, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND, TEMPLATE_INVALID. */
export async function createTemplate(ground: ServiceGround, templates: TemplatesRepository, bus: Bus, { by, template }: ParamsOf<"config.createTemplate">): Promise<TemplateRecord> {
  const owner = { reseller_id: template.reseller_id, merchant_id: template.merchant_id ?? null };
  mayOwn(by, owner);
  await requireOwner(bus, owner);
  const errors = templateFaults(template);
  if (errors.length > 0) fail("TEMPLATE_INVALID", `The template can't work as it is: ${places(errors.length)}, see errors. Nothing was saved.`, { errors });
  const record = newRecord(ground.ids.uuid(), template, ground.clock.now());
  await templates.create(record);
  ground.log.info({ event: "template.created", template_id: record.id, version: record.version, reseller_id: record.reseller_id, by: by.id }, "a template was saved");
  bus.broadcast("config.changed", { template_id: record.id });
  return record;
}

/** Gives a template its configuration. FORBIDDEN, TEMPLATE_NOT_FOUND, VALIDATION_FAILED, CONFIGURATION_EXISTS. */
export async function createConfiguration(
  ground: ServiceGround, templates: TemplatesRepository, configurations: ConfigurationsRepository, bus: Bus, { by, configuration }: ParamsOf<"config.createConfiguration">,
): Promise<ConfigurationRecord> {
  mayWrite(by);
  const { template_id, ...settings } = configuration;
  const template = await templates.head(scopeOf(by), template_id)
    ?? fail("TEMPLATE_NOT_FOUND", "template_id names no template of yours; list them with GET /templates.", { errors: [{ path: "template_id", message: "is unknown" }] });
  const errors = configurationFaults(settings);
  if (errors.length > 0) fail("VALIDATION_FAILED", `The configuration is not valid: ${places(errors.length)}, see errors.`, { errors });
  const now = ground.clock.now();
  const kept = normalised(settings);
  const doc: ConfigurationDoc = {
    _id: ground.ids.uuid(), reseller_id: template.reseller_id, merchant_id: template.merchant_id, template_id: template._id,
    settings: JSON.stringify(kept), created_at: now, updated_at: now,
  };
  if (!await configurations.insert(doc)) fail("CONFIGURATION_EXISTS", "This template already has a configuration, and a template has at most one; change that one instead.");
  ground.log.info({ event: "configuration.created", configuration_id: doc._id, template_id: doc.template_id, by: by.id }, "a template was given its configuration");
  bus.broadcast("config.changed", { template_id: doc.template_id });
  return effective(doc, kept, template.name, ground.env.DEFAULT_TIMEZONE);
}
