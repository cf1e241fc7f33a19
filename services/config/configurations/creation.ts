import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, ParamsOf, ServiceDeps } from "../../../shared/bus.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/configuration.ts";
import { scopeOf } from "../../../shared/contracts/identity.ts";
import type { TemplateRecord } from "../../../shared/contracts/template.ts";
import { fail } from "../../../shared/errors.ts";
import { announceChange } from "./configuration-changes.ts";
import { normalizedSettings, requireValidConfiguration } from "../rules/configuration-validation.ts";
import { requireAddress } from "./webhook-address.ts";
import type { ConfigurationDoc } from "./configurations.model.ts";
import type { ConfigurationsRepository } from "./configurations.repository.ts";
import { effective } from "../rules/effective-configuration.ts";
import { requireValidTemplate } from "../rules/template-validation.ts";
import { newRecord } from "../templates/template-records.ts";
import type { TemplatesRepository } from "../templates/templates.repository.ts";
import { mayOwn, mayWrite, requireOwner } from "../tenancy.ts";

/** Saves a new template as version 1. FORBIDDEN, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND, TEMPLATE_INVALID. */
export async function createTemplate(
  deps: ServiceDeps,
  templates: TemplatesRepository,
  bus: Bus,
  { by, template }: ParamsOf<"config.createTemplate">,
): Promise<TemplateRecord> {
  const owner = { reseller_id: template.reseller_id, merchant_id: template.merchant_id ?? null };
  mayOwn(by, owner);
  await requireOwner(bus, owner);
  requireValidTemplate(template);
  const record = newRecord(deps.ids.uuid(), template, deps.clock.now());
  await templates.create(record);
  deps.log.info(
    {
      event: "template.created",
      template_id: record.id,
      version: record.version,
      reseller_id: record.reseller_id,
      by: by.id,
    },
    "a template was saved",
  );
  bus.broadcast("config.changed", { template_id: record.id });
  await recordAudit(deps, bus, {
    by,
    action: "template.created",
    subject: record.id,
    ...owner,
    details: { version: record.version },
  });
  return record;
}

/** Gives a template its configuration. FORBIDDEN, TEMPLATE_NOT_FOUND, VALIDATION_FAILED, WEBHOOK_ADDRESS_REFUSED, CONFIGURATION_EXISTS. */
export async function createConfiguration(
  deps: ServiceDeps,
  templates: TemplatesRepository,
  configurations: ConfigurationsRepository,
  bus: Bus,
  { by, configuration }: ParamsOf<"config.createConfiguration">,
): Promise<ConfigurationRecord> {
  mayWrite(by);
  const { template_id, ...settings } = configuration;
  const template =
    (await templates.head(scopeOf(by), template_id)) ??
    fail("TEMPLATE_NOT_FOUND", "template_id names no template of yours; list them with GET /templates.", {
      errors: [{ path: "template_id", message: "is unknown" }],
    });
  requireValidConfiguration(settings);
  await requireAddress(bus, settings);
  const now = deps.clock.now();
  const kept = normalizedSettings(settings);
  const doc: ConfigurationDoc = {
    _id: deps.ids.uuid(),
    reseller_id: template.reseller_id,
    merchant_id: template.merchant_id,
    template_id: template._id,
    settings: JSON.stringify(kept),
    created_at: now,
    updated_at: now,
  };
  if (!(await configurations.insert(doc)))
    fail(
      "CONFIGURATION_EXISTS",
      "This template already has a configuration, and a template has at most one; change that one instead.",
    );
  await announceChange(deps, bus, by, "configuration.created", doc, { fields: Object.keys(settings) });
  return effective(doc, kept, template.name, deps.env.DEFAULT_TIMEZONE);
}
