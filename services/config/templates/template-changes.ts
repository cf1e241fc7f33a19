import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, ParamsOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { scopeOf, type By } from "../../../shared/contracts/records/identity.ts";
import type { TemplatePatch, TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { againstOthers } from "../../../shared/database/write-batches.ts";
import { fail } from "../../../shared/errors.ts";
import type { TenantSchemas } from "../../../shared/schemas/tenant-schemas.ts";
import type { ConfigurationsRepository } from "../configurations/configurations.repository.ts";
import type { DoorsRepository } from "../doors/doors.repository.ts";
import { requireValidTemplate, schemasOf } from "../rules/template-validation.ts";
import { secretsOfFunctions } from "../rules/template-variables.ts";
import { unknownSecrets } from "../secrets/client-secrets.ts";
import type { ClientSecretsRepository } from "../secrets/client-secrets.repository.ts";
import { newRecord, nextRecord, patchedTemplate } from "./template-records.ts";
import type { TemplateDoc } from "./templates.model.ts";
import type { TemplatesRepository } from "./templates.repository.ts";
import { mayOwn, requireOwner, toChange, type Owner } from "../tenancy.ts";

/** The same answer for unknown templates and those of other owners. */
export const templateNotFound = (): never =>
  fail("TEMPLATE_NOT_FOUND", "There is no such template, or it is not yours; list yours with GET /templates.");

/** What templates are written to, the secrets that their functions may use, and what looks at their schemas. */
export interface TemplateStores {
  templates: TemplatesRepository;
  secrets: ClientSecretsRepository;
  schemas: TenantSchemas;
}

/** Whether a template can work. TEMPLATE_INVALID, RATE_LIMITED. */
async function requireValid(
  schemas: TenantSchemas,
  owner: Owner,
  template: Parameters<typeof requireValidTemplate>[0],
): Promise<void> {
  const placed = schemasOf(template);
  const found = await schemas.issuesIn(owner, placed);
  if (found === null)
    fail(
      "RATE_LIMITED",
      "Looking at the schemas of your merchant or reseller takes more time than one tenant may have; make them simpler, or save more slowly. Nothing was saved.",
    );
  const issues = new Map(placed.map(({ path }, i) => [path, found[i] ?? []]));
  requireValidTemplate(template, (_schema, path) => issues.get(path) ?? []);
}

/** Whether the owner has the secrets that the functions use. TEMPLATE_INVALID. */
async function requireSecrets(
  secrets: ClientSecretsRepository,
  owner: Owner,
  template: Parameters<typeof secretsOfFunctions>[0],
): Promise<void> {
  const errors = await unknownSecrets(secrets, owner, secretsOfFunctions(template));
  if (errors.length > 0)
    fail("TEMPLATE_INVALID", "The functions use secrets that are not there; see errors. Nothing was saved.", {
      errors,
    });
}

/** Saves a new template as version 1. FORBIDDEN, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND, TEMPLATE_INVALID, RATE_LIMITED. */
export async function createTemplate(
  deps: ServiceDeps,
  { templates, secrets, schemas }: TemplateStores,
  bus: Bus,
  { by, template }: ParamsOf<"config.createTemplate">,
): Promise<TemplateRecord> {
  const owner = { reseller_id: template.reseller_id, merchant_id: template.merchant_id ?? null };
  mayOwn(by, owner);
  await requireOwner(bus, owner);
  await requireValid(schemas, owner, template);
  await requireSecrets(secrets, owner, template);
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

const headToChange = (templates: TemplatesRepository, by: By, id: string): Promise<TemplateDoc> =>
  toChange(by, (scope) => templates.head(scope, id), templateNotFound);

const onlySwitches = (patch: TemplatePatch): boolean => Object.keys(patch).every((field) => field === "is_active");

/** One try at a new version; null: another save came first. A version whose writer died before it became current is made current on the way. */
async function tryVersion(
  deps: ServiceDeps,
  { templates, secrets, schemas }: TemplateStores,
  by: By,
  head: TemplateDoc,
  patch: TemplatePatch,
): Promise<TemplateRecord | null> {
  const was = (await templates.version(head._id, head.version)) ?? templateNotFound();
  const written = patchedTemplate({ ...was, is_active: head.is_active }, patch);
  await requireValid(schemas, head, written);
  if (patch.nodes ?? patch.global_functions) await requireSecrets(secrets, head, written);
  const record = nextRecord(head, was, written, deps.clock.now());
  if (await templates.addVersion(record)) {
    await templates.advance(scopeOf(by), record, patch.is_active);
    return record;
  }
  const other = await templates.version(head._id, record.version);
  if (other) await templates.advance(scopeOf(by), other, undefined);
  return null;
}

function save(
  deps: ServiceDeps,
  stores: TemplateStores,
  { by, id, template: patch }: ParamsOf<"config.updateTemplate">,
): Promise<TemplateRecord> {
  const { templates } = stores;
  return againstOthers("The template is being saved", async () => {
    const head = await headToChange(templates, by, id);
    if (onlySwitches(patch)) {
      const switched = await templates.setActive(
        scopeOf(by),
        head._id,
        patch.is_active ?? head.is_active,
        deps.clock.now(),
      );
      const [record] = await templates.current(switched ? [switched] : []);
      return record ?? templateNotFound();
    }
    return tryVersion(deps, stores, by, head, patch);
  });
}

/**
 * Saves a changed template as a new version; a change of is_active alone makes none. The whole is judged, not only the change.
 * FORBIDDEN, TEMPLATE_NOT_FOUND, TEMPLATE_INVALID, RATE_LIMITED, BUSY.
 */
export async function changeTemplate(
  deps: ServiceDeps,
  stores: TemplateStores,
  bus: Bus,
  params: ParamsOf<"config.updateTemplate">,
): Promise<TemplateRecord> {
  const { by, template: patch } = params;
  const record = await save(deps, stores, params);
  const { id, version, reseller_id, merchant_id } = record;
  deps.log.info(
    { event: "template.saved", template_id: id, version, reseller_id, by: by.id },
    "a template was changed",
  );
  bus.broadcast("config.changed", { template_id: id });
  await recordAudit(deps, bus, {
    by,
    action: "template.updated",
    subject: id,
    reseller_id,
    merchant_id,
    details: { version, is_active: record.is_active, fields: Object.keys(patch) },
  });
  return record;
}

/**
 * Deletes a template with its configuration and its doors. They go first: when the work is broken off in between, the same request ends it.
 * FORBIDDEN, TEMPLATE_NOT_FOUND, RESOURCE_IN_USE while it has unfinished leads.
 */
export async function deleteTemplate(
  deps: ServiceDeps,
  {
    templates,
    configurations,
    doors,
  }: {
    templates: TemplatesRepository;
    configurations: ConfigurationsRepository;
    doors: Pick<DoorsRepository, "removeOf">;
  },
  bus: Bus,
  { by, id }: ParamsOf<"config.deleteTemplate">,
): Promise<void> {
  const { _id, reseller_id, merchant_id, version } = await headToChange(templates, by, id);
  const { any } = await bus.call("leads.unfinished", { reseller_id, template_id: _id });
  if (any)
    fail(
      "RESOURCE_IN_USE",
      "The template has unfinished leads, so it can't be deleted; switch it off with is_active false, and delete it when they have finished.",
    );
  await doors.removeOf({ template_id: _id });
  const configuration_id = await configurations.removeOf(scopeOf(by), _id, deps.clock.now());
  if (!(await templates.remove(scopeOf(by), _id))) templateNotFound();
  deps.log.info({ event: "template.deleted", template_id: _id, reseller_id, by: by.id }, "a template was deleted");
  bus.broadcast("config.changed", { template_id: _id });
  await recordAudit(deps, bus, {
    by,
    action: "template.deleted",
    subject: _id,
    reseller_id,
    merchant_id,
    details: { version, configuration_id },
  });
}
