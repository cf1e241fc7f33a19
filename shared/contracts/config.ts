import {
  action,
  described,
  FieldName,
  Json,
  Nothing,
  Nullable,
  Strict,
  Text,
  Type,
  Uuid,
  type Static,
  Id,
  UpTo,
} from "./define.ts";
import { ConfigurationInput, ConfigurationPatch, ConfigurationRecord, Duplicates } from "./records/configuration.ts";
import { DoorInput, DoorKey, DoorRecord, DoorVariables } from "./records/session.ts";
import { By, ROLES } from "./records/identity.ts";
import { MAX_SECRET_CHARS, MAX_SECRETS_OF_REQUEST } from "./records/secret.ts";
import { Override } from "./records/pushed-lead.ts";
import { TemplateInput, TemplatePatch, TemplateRecord } from "./records/template.ts";
import {
  configurationList,
  doorList,
  OneConfiguration,
  OneSecret,
  OneTemplate,
  secretList,
  secretWritten,
  templateList,
  versionList,
} from "./requests/config-requests.ts";

/** What the scheduler must know of a template to admit its leads; `configuration` is null where the template has none. */
export const Plan = Type.Object({
  template_id: Uuid,
  version: Type.Integer(),
  is_active: Type.Boolean(),
  max_age_seconds: Type.Integer(),
  max_call_seconds: Type.Integer(),
  retry_on: Nullable(Type.Array(UpTo(64))),
  configuration: Nullable(ConfigurationRecord),
  /** Changes whenever anything of the plan does; given to those who name what they know. */
  stamp: Type.Optional(Text(64)),
});
export type Plan = Static<typeof Plan>;

/** What judges and leads an inbound call; `configuration` is null where the template has none. Owner and language are the template's. */
export const InboundPlan = Type.Object({
  template_id: Uuid,
  version: Type.Integer(),
  name: UpTo(200),
  reseller_id: Id,
  merchant_id: Nullable(Id),
  is_active: Type.Boolean(),
  language: UpTo(35),
  max_call_seconds: Type.Integer(),
  configuration: Nullable(ConfigurationRecord),
});
export type InboundPlan = Static<typeof InboundPlan>;

const PushQuestion = Strict({
  template_id: Text(64),
  reseller_id: Text(64),
  merchant_id: Type.Optional(Text(64)),
  payload: Json,
  /** A playground run's override without its nulls, and the role of who pushes it. */
  override: Type.Optional(Strict({ role: Type.Enum([...ROLES]), fields: Override })),
});

/** Why a part of an override does not apply: users override nothing; what protects the callee is lifted for test numbers only. */
export const OVERRIDE_REFUSALS = ["role", "no_test_number"] as const;

/** A template as a push needs it; `initial_offset` in seconds, the override's over the configuration's, null where there is neither. */
const Resolved = Type.Object({
  template_id: Uuid,
  version: Type.Integer(),
  name: UpTo(200),
  reseller_id: Id,
  merchant_id: Nullable(Id),
  initial_offset: Nullable(Type.Integer()),
  max_age_seconds: Type.Integer(),
  /** How long a session lead waits for a client to join; absent: max_age_seconds. */
  rtc_join_timeout_seconds: Type.Optional(Type.Integer()),
  /** Of the push's override: what its role may not change, "*" for all of it; and whether the number is one of the merchant's test numbers. */
  override_left_out: Type.Optional(
    Type.Array(Type.Object({ field: UpTo(64), why: Type.Enum([...OVERRIDE_REFUSALS]) }), { maxItems: 10 }),
  ),
  test_number: Type.Optional(Type.Boolean()),
  /** What the configuration declares of a request_id that was pushed before; absent: nothing. */
  duplicates: Type.Optional(Duplicates),
});

const PushRefusal = Type.Object({
  code: UpTo(64),
  message: UpTo(2000),
  errors: Type.Array(Type.Object({ path: Type.String(), message: UpTo(2000) })),
});

/** Templates with their versions, and call execution configurations. */
export const config = {
  name: "config",
  actions: {
    /** TEMPLATE_INVALID lists every validation issue: unreachable nodes, functions that lead nowhere, variables that are not in the schema. */
    createTemplate: action(Strict({ by: By, template: TemplateInput }), TemplateRecord),
    listTemplates: action(...templateList),
    /** TEMPLATE_NOT_FOUND when it is unknown or foreign. */
    getTemplate: action(Strict(OneTemplate), TemplateRecord),
    /** Saves a new immutable version; a change of is_active alone makes none. FORBIDDEN, TEMPLATE_NOT_FOUND, TEMPLATE_INVALID, BUSY after lost races. */
    updateTemplate: action(Strict({ ...OneTemplate, template: TemplatePatch }), TemplateRecord),
    /** Deletes the template and its configuration; its versions stay for leads that ran with them. RESOURCE_IN_USE while it has unfinished leads. */
    deleteTemplate: action(Strict(OneTemplate), Nothing),
    /** Every version of a template, whole, the newest first; is_active is that of its time. TEMPLATE_NOT_FOUND. */
    listVersions: action(...versionList),
    /** TEMPLATE_NOT_FOUND, FORBIDDEN, CONFIGURATION_EXISTS, VALIDATION_FAILED. */
    createConfiguration: action(Strict({ by: By, configuration: ConfigurationInput }), ConfigurationRecord),
    listConfigurations: action(...configurationList),
    /** CONFIGURATION_NOT_FOUND when it is unknown or foreign. */
    getConfiguration: action(Strict(OneConfiguration), ConfigurationRecord),
    /** The change is judged together with what stays. FORBIDDEN, CONFIGURATION_NOT_FOUND, VALIDATION_FAILED, BUSY after lost races. */
    updateConfiguration: action(
      Strict({ ...OneConfiguration, configuration: ConfigurationPatch }),
      ConfigurationRecord,
    ),
    /** The template's leads wait until it has a configuration again. FORBIDDEN, CONFIGURATION_NOT_FOUND. */
    deleteConfiguration: action(Strict(OneConfiguration), Nothing),
    /**
     * Writes a secret of a merchant, or of a reseller when no merchant is named; what it was before is gone. FORBIDDEN, RESELLER_NOT_FOUND,
     * MERCHANT_NOT_FOUND, RESOURCE_IN_USE (too many), NOT_AVAILABLE without SECRETS_KEY.
     */
    putSecret: action(...secretWritten, { since: "0.3.0" }),
    /** The secrets of the asker's scope, without their values. */
    listSecrets: action(...secretList, { since: "0.3.0" }),
    /** FORBIDDEN, SECRET_NOT_FOUND. */
    deleteSecret: action(Strict(OneSecret), Nothing, { since: "0.3.0" }),
    /** Internal: a merchant, or a reseller with all that was its merchants', is deleted, and its secrets and doors go before it. Idempotent. */
    dropSecrets: action(Strict({ reseller_id: Text(64), merchant_id: Type.Optional(Text(64)) }), Nothing, {
      since: "0.3.0",
    }),
    /** Internal, at the moment of a request that uses them: values of secrets of a template's owner; unknown ones are left out. NOT_AVAILABLE where one can't be read. */
    secretValues: action(
      Strict({ template_id: Uuid, names: Type.Array(FieldName, { maxItems: MAX_SECRETS_OF_REQUEST }) }),
      Type.Object({
        values: Type.Array(Type.Object({ name: FieldName, value: UpTo(MAX_SECRET_CHARS) }), {
          maxItems: MAX_SECRETS_OF_REQUEST,
        }),
      }),
      { since: "0.3.0" },
    ),
    /** A door: visitors of its websites begin sessions of its template by a button, without a token. FORBIDDEN, TEMPLATE_NOT_FOUND, MERCHANT_NOT_FOUND, RESOURCE_IN_USE (too many). */
    createDoor: action(Strict({ by: By, door: DoorInput }), DoorRecord, { since: "0.3.0" }),
    /** The doors of the asker's scope. */
    listDoors: action(...doorList, { since: "0.3.0" }),
    /** Nobody comes through the door any more; sessions under way go on. FORBIDDEN, DOOR_NOT_FOUND. */
    deleteDoor: action(Strict({ by: By, id: described("Id of the door.", Text(64)) }), Nothing, { since: "0.3.0" }),
    /** Internal: which websites may use a door, and how often one client address; null: there is no such door. */
    doorByKey: action(
      Strict({ key: DoorKey }),
      Type.Object({
        door: Nullable(
          Type.Object({
            origins: DoorRecord.properties.origins,
            calls_per_address_hour: DoorRecord.properties.calls_per_address_hour,
          }),
        ),
      }),
      { since: "0.3.0" },
    ),
    /** Internal: what a session through a door is led with, its variables checked. DOOR_NOT_FOUND, FORBIDDEN: another website; PAYLOAD_INVALID; RATE_LIMITED; SESSION_HELD: its template or tenant is switched off. */
    resolveDoor: action(
      Strict({ key: DoorKey, origin: Text(300), payload: DoorVariables }),
      Type.Object({
        door_id: Uuid,
        merchant_id: Nullable(Id),
        template: Resolved,
        /** Where the end of its leads is reported: the configuration's inbound_webhook_url. */
        reporting_webhook_url: Nullable(UpTo(2000)),
      }),
      { since: "0.3.0" },
    ),
    /** Internal: counts a session that is about to begin. DOOR_NOT_FOUND, RATE_LIMITED. */
    countDoor: action(Strict({ door_id: Uuid, origin: Text(300) }), Nothing, { since: "0.3.0" }),
    /** Internal: whether this reseller (and merchant) owns any template. */
    owns: action(
      Strict({ reseller_id: Text(64), merchant_id: Type.Optional(Text(64)) }),
      Type.Object({ any: Type.Boolean() }),
    ),
    /** Internal, for push: the template if it belongs to this reseller (and merchant), and its payload checked against its schema.
     *  TEMPLATE_UNKNOWN: the id exists nowhere; TEMPLATE_NOT_FOUND: it exists elsewhere; TEMPLATE_INACTIVE; PAYLOAD_INVALID lists every
     *  validation issue. */
    resolveForPush: action(PushQuestion, Resolved),
    /** Internal, for bulk push: the same for up to 500 leads, each by itself, in order; `refusal` says what resolveForPush would fail with. */
    resolveManyForPush: action(
      Strict({ pushes: Type.Array(PushQuestion, { maxItems: 500 }) }),
      Type.Object({
        results: Type.Array(Type.Object({ resolved: Nullable(Resolved), refusal: Nullable(PushRefusal) })),
      }),
    ),
    /** Internal: plans of up to 500 templates at once; ids that no longer exist are left out. For those who say which plans they `know`, and by which stamp, plans that are still the
     *  same are only named in `unchanged`, and the answer ends where a message is full: it is about the first `read` ids. */
    plans: action(
      Strict({
        template_ids: Type.Array(Uuid, { maxItems: 500 }),
        known: Type.Optional(Type.Array(Strict({ template_id: Uuid, stamp: Text(64) }), { maxItems: 500 })),
      }),
      Type.Object({
        plans: Type.Array(Plan),
        unchanged: Type.Optional(Type.Array(Uuid)),
        read: Type.Optional(Type.Integer()),
      }),
    ),
    /** Internal: the template that takes inbound calls of a number of this owner (nulls: of the shared pool): the one named, if the owner may use it;
     *  else that of the merchant's, then the reseller's own, oldest configuration that takes inbound calls; else that of their oldest
     *  configuration at all, so that its block action holds; null: there is none. */
    inboundFor: action(
      Strict({ reseller_id: Nullable(Text(64)), merchant_id: Nullable(Text(64)), template_id: Nullable(Uuid) }),
      Type.Object({ plan: Nullable(InboundPlan) }),
    ),
    /** Internal: whether the owner of a number may use this template for its inbound calls. */
    mayTakeCalls: action(
      Strict({ reseller_id: Nullable(Text(64)), merchant_id: Nullable(Text(64)), template_id: Uuid }),
      Type.Object({ may: Type.Boolean() }),
    ),
    /** Internal: one version of a template, whole; TEMPLATE_NOT_FOUND. */
    templateVersion: action(Strict({ template_id: Uuid, version: Type.Integer({ minimum: 1 }) }), TemplateRecord),
    /** Internal: the template's configuration with a playground lead's override merged over it (services/config/rules/configuration-override.ts); null where it has none. */
    overridden: action(
      Strict({ template_id: Uuid, override: Json }),
      Type.Object({ configuration: Nullable(ConfigurationRecord) }),
    ),
  },
  events: {
    /** A configuration or template changed: caches drop it, the scheduler judges again. */
    "config.changed": Type.Object({ template_id: Uuid }),
  },
};
