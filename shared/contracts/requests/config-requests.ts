import { described, Strict, Text, Type } from "../define.ts";
import { ConfigurationRecord } from "../records/configuration.ts";
import { By, Count, NextCursor, OfTemplate, OwnerFilter, PageParams } from "../records/identity.ts";
import { MAX_SECRET_CHARS, SecretName, SecretRecord } from "../records/secret.ts";
import { DoorRecord } from "../records/session.ts";
import { TemplateRecord } from "../records/template.ts";

/** Of requests about one template. */
export const OneTemplate = { by: By, id: described("Id of the template.", Text(64)) };
/** Of requests about one configuration. */
export const OneConfiguration = { by: By, config_id: described("Id of the configuration.", Text(64)) };
/** Of requests about one secret. */
export const OneSecret = {
  by: By,
  name: SecretName,
  reseller_id: described("The reseller whose secret it is, or whose merchant's.", Text(64)),
  merchant_id: Type.Optional(described("The merchant whose secret it is. Left out: the reseller's own.", Text(64))),
};

/** A page of templates by filters. */
export const templateList = [
  Strict({
    by: By,
    ...OwnerFilter,
    is_active: Type.Optional(described("Only templates that are switched on, or only the others.", Type.Boolean())),
    name: Type.Optional(described("Only templates whose name begins so, as it is written.", Text(200))),
    ...PageParams,
  }),
  Type.Object({
    count: Count,
    templates: described("The templates, each in its newest version.", Type.Array(TemplateRecord)),
    next_cursor: NextCursor,
  }),
] as const;

/** A page of a template's versions. */
export const versionList = [
  Strict({ ...OneTemplate, ...PageParams }),
  Type.Object({
    count: Count,
    versions: described("The versions, newest first; is_active is that of its time.", Type.Array(TemplateRecord)),
    next_cursor: NextCursor,
  }),
] as const;

/** A page of configurations by filters. */
export const configurationList = [
  Strict({ by: By, ...OwnerFilter, template_id: OfTemplate, ...PageParams }),
  Type.Object({
    count: Count,
    configurations: described("The configurations.", Type.Array(ConfigurationRecord)),
    next_cursor: NextCursor,
  }),
] as const;

/** A secret's value, and what is shown of it. */
export const secretWritten = [
  Strict({ ...OneSecret, value: described("Its value; it is never shown again.", Text(MAX_SECRET_CHARS)) }),
  SecretRecord,
] as const;

/** A page of secrets' names. */
export const secretList = [
  Strict({
    by: By,
    name: Type.Optional(described("Only the secrets of this name.", SecretName)),
    ...OwnerFilter,
    ...PageParams,
  }),
  Type.Object({
    count: Count,
    secrets: described("The secrets, without their values.", Type.Array(SecretRecord)),
    next_cursor: NextCursor,
  }),
] as const;

/** A page of doors by filters. */
export const doorList = [
  Strict({ by: By, template_id: OfTemplate, ...OwnerFilter, ...PageParams }),
  Type.Object({
    count: Count,
    doors: described("The doors.", Type.Array(DoorRecord)),
    next_cursor: NextCursor,
  }),
] as const;
