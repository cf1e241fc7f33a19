import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, ParamsOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import type { ConfigurationPatch } from "../../../shared/contracts/records/configuration.ts";
import { scopeOf, type By } from "../../../shared/contracts/records/identity.ts";
import { againstOthers } from "../../../shared/database/write-batches.ts";
import { fail } from "../../../shared/errors.ts";
import {
  normalizedSettings,
  patchedSettings,
  requireValidConfiguration,
  secretsOfChecks,
} from "../rules/configuration-validation.ts";
import type { ConfigurationDoc } from "./configurations.model.ts";
import type { ConfigurationsRepository } from "./configurations.repository.ts";
import { settingsOf } from "../plans/call-plans.ts";
import { unknownSecrets } from "../secrets/client-secrets.ts";
import type { ClientSecretsRepository } from "../secrets/client-secrets.repository.ts";
import { mayWrite, toChange, type Owner } from "../tenancy.ts";
import type { TemplatesRepository } from "../templates/templates.repository.ts";

/** What configurations are written to, and the secrets that they may use. */
export interface ConfigurationStores {
  configurations: ConfigurationsRepository;
  secrets: ClientSecretsRepository;
}

/** The same answer for unknown configurations and those of other owners. */
export const configurationNotFound = (): never =>
  fail(
    "CONFIGURATION_NOT_FOUND",
    "There is no such configuration, or it is not yours; list yours with GET /configurations.",
  );

/** Whether the webhook of inbound leads may be called, by the checks of reporting_webhook_url. WEBHOOK_ADDRESS_REFUSED. */
async function requireAddress(
  bus: Bus,
  { inbound_webhook_url: url }: { inbound_webhook_url?: string | null },
): Promise<void> {
  if (url === undefined || url === null) return;
  const [refusal] = (await bus.call("webhook.checkAddresses", { urls: [url] })).refusals;
  if (refusal)
    fail("WEBHOOK_ADDRESS_REFUSED", `inbound_webhook_url can't be used: ${refusal}`, {
      errors: [{ path: "inbound_webhook_url", message: refusal }],
    });
}

/** Whether the owner has the secrets that its pre-checks use. VALIDATION_FAILED. */
async function requireSecrets(
  secrets: ClientSecretsRepository,
  owner: Owner,
  settings: ConfigurationPatch,
): Promise<void> {
  const { pre_checks } = settings;
  const errors = pre_checks ? await unknownSecrets(secrets, owner, secretsOfChecks({ pre_checks })) : [];
  if (errors.length > 0)
    fail("VALIDATION_FAILED", "The pre-checks use secrets that are not there; see errors. Nothing was saved.", {
      errors,
    });
}

/** Gives a template its configuration. FORBIDDEN, TEMPLATE_NOT_FOUND, VALIDATION_FAILED, WEBHOOK_ADDRESS_REFUSED, CONFIGURATION_EXISTS. */
export async function createConfiguration(
  deps: ServiceDeps,
  templates: TemplatesRepository,
  { configurations, secrets }: ConfigurationStores,
  bus: Bus,
  { by, configuration }: ParamsOf<"config.createConfiguration">,
): Promise<ConfigurationDoc> {
  mayWrite(by);
  const { template_id, ...settings } = configuration;
  const template =
    (await templates.head(scopeOf(by), template_id)) ??
    fail("TEMPLATE_NOT_FOUND", "template_id names no template of yours; list them with GET /templates.", {
      errors: [{ path: "template_id", message: "is unknown" }],
    });
  requireValidConfiguration(settings);
  await requireSecrets(secrets, template, settings);
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
  if (!(await configurations.insert(doc))) {
    const [other] = await configurations.page(scopeOf(by), { template_id: template._id }, {}, 1);
    const which = other === undefined ? "that one" : `${other._id} (PUT /configurations/${other._id})`;
    fail(
      "CONFIGURATION_EXISTS",
      `This template already has a configuration, and a template has at most one; change ${which} instead.`,
    );
  }
  await announceChange(deps, bus, by, "configuration.created", doc, { fields: Object.keys(settings) });
  return doc;
}

const docToChange = (configurations: ConfigurationsRepository, by: By, id: string): Promise<ConfigurationDoc> =>
  toChange(by, (scope) => configurations.find(scope, id), configurationNotFound);

const save = (
  deps: ServiceDeps,
  { configurations, secrets }: ConfigurationStores,
  bus: Bus,
  { by, config_id, configuration: patch }: ParamsOf<"config.updateConfiguration">,
): Promise<ConfigurationDoc> =>
  againstOthers("The configuration is being changed", async () => {
    const seen = await docToChange(configurations, by, config_id);
    const merged = patchedSettings(settingsOf(seen), patch);
    requireValidConfiguration(merged);
    await requireSecrets(secrets, seen, patch);
    await requireAddress(bus, patch);
    return configurations.replace(scopeOf(by), seen, JSON.stringify(normalizedSettings(merged)), deps.clock.now());
  });

/** Changes a configuration; what comes out is judged as a whole. FORBIDDEN, CONFIGURATION_NOT_FOUND, VALIDATION_FAILED, WEBHOOK_ADDRESS_REFUSED, BUSY. */
export async function changeConfiguration(
  deps: ServiceDeps,
  stores: ConfigurationStores,
  bus: Bus,
  params: ParamsOf<"config.updateConfiguration">,
): Promise<ConfigurationDoc> {
  const { by, configuration: patch } = params;
  const saved = await save(deps, stores, bus, params);
  await announceChange(deps, bus, by, "configuration.updated", saved, { fields: Object.keys(patch) });
  return saved;
}

/** Takes a template's configuration away: its leads wait until it has one again. FORBIDDEN, CONFIGURATION_NOT_FOUND. */
export async function deleteConfiguration(
  deps: ServiceDeps,
  configurations: ConfigurationsRepository,
  bus: Bus,
  { by, config_id }: ParamsOf<"config.deleteConfiguration">,
): Promise<void> {
  const doc = await docToChange(configurations, by, config_id);
  if (!(await configurations.remove(scopeOf(by), doc, deps.clock.now()))) configurationNotFound();
  await announceChange(deps, bus, by, "configuration.deleted", doc, {});
}

/** Records a change of a configuration: in the log, for the caches of all nodes, and in the audit log. */
async function announceChange(
  deps: ServiceDeps,
  bus: Bus,
  by: By,
  event: "configuration.created" | "configuration.updated" | "configuration.deleted",
  { _id, template_id, reseller_id, merchant_id }: ConfigurationDoc,
  details: Record<string, unknown>,
): Promise<void> {
  deps.log.info({ event, configuration_id: _id, template_id, by: by.id }, "a template's configuration was written");
  bus.broadcast("config.changed", { template_id });
  await recordAudit(deps, bus, {
    by,
    action: event,
    subject: _id,
    reseller_id,
    merchant_id,
    details: { template_id, ...details },
  });
}
