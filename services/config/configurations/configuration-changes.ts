import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, ParamsOf, ServiceDeps } from "../../../shared/bus.ts";
import { scopeOf, type By } from "../../../shared/contracts/identity.ts";
import { fail } from "../../../shared/errors.ts";
import { normalizedSettings, patchedSettings, requireValidConfiguration } from "../rules/configuration-validation.ts";
import type { ConfigurationDoc } from "./configurations.model.ts";
import type { ConfigurationsRepository } from "./configurations.repository.ts";
import { settingsOf } from "../plans/call-plans.ts";
import { toChange } from "../tenancy.ts";
import { requireAddress } from "./webhook-address.ts";

/** Times a change is tried again because another one came first. */
const MAX_LOST_RACES = 20;

/** Said alike of unknown configurations and of others'. */
export const configurationNotFound = (): never =>
  fail(
    "CONFIGURATION_NOT_FOUND",
    "There is no such configuration, or it is not yours; list yours with GET /configurations.",
  );

const docToChange = (configurations: ConfigurationsRepository, by: By, id: string): Promise<ConfigurationDoc> =>
  toChange(by, (scope) => configurations.find(scope, id), "configuration", configurationNotFound);

async function save(
  deps: ServiceDeps,
  configurations: ConfigurationsRepository,
  bus: Bus,
  { by, config_id, configuration: patch }: ParamsOf<"config.updateConfiguration">,
): Promise<ConfigurationDoc> {
  for (let lost = 0; lost < MAX_LOST_RACES; lost++) {
    const seen = await docToChange(configurations, by, config_id);
    const merged = patchedSettings(settingsOf(seen), patch);
    requireValidConfiguration(merged);
    await requireAddress(bus, patch);
    const saved = await configurations.replace(
      scopeOf(by),
      seen,
      JSON.stringify(normalizedSettings(merged)),
      deps.clock.now(),
    );
    if (saved) return saved;
  }
  return fail("BUSY", "The configuration is being changed by many at once; try again in a few seconds.");
}

/** Changes a configuration; what comes out is judged as a whole. FORBIDDEN, CONFIGURATION_NOT_FOUND, VALIDATION_FAILED, WEBHOOK_ADDRESS_REFUSED, BUSY. */
export async function changeConfiguration(
  deps: ServiceDeps,
  configurations: ConfigurationsRepository,
  bus: Bus,
  params: ParamsOf<"config.updateConfiguration">,
): Promise<ConfigurationDoc> {
  const { by, configuration: patch } = params;
  const saved = await save(deps, configurations, bus, params);
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
  if (!(await configurations.remove(scopeOf(by), doc._id))) configurationNotFound();
  await announceChange(deps, bus, by, "configuration.deleted", doc, {});
}

/** Tells everybody what became of a configuration: the log, whoever remembers it, and the audit log. */
export async function announceChange(
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
