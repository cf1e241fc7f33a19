import type { Bus, ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { cached, timedCache } from "../../../shared/cache.ts";
import { refusal, type Refusal, type ValidationIssue } from "../../../shared/errors.ts";
import { isUuid } from "../../../shared/ids.ts";
import type { ConfigurationDoc } from "../configurations/configurations.model.ts";
import type { ConfigurationsRepository } from "../configurations/configurations.repository.ts";
import { settingsOf } from "../plans/call-plans.ts";
import {
  checkBudget,
  type CheckBudget,
  type TenantCheck,
  type TenantSchemas,
} from "../../../shared/schemas/tenant-schemas.ts";
import { ofPayload, payloadSchema, type PayloadSchema } from "../rules/payload-validation.ts";
import { versionId } from "../templates/template-records.ts";
import type { TemplateDoc } from "../templates/templates.model.ts";
import type { TemplatesRepository } from "../templates/templates.repository.ts";
import { ruleOverrides, type FoundPush } from "./push-overrides.ts";
import { EVERYTHING } from "../tenancy.ts";

type Push = ParamsOf<"config.resolveForPush">;
type Resolved = ResultOf<"config.resolveForPush">;

/** What a push needs of a template: its head and its configuration, if it has one. */
interface PushTarget {
  template: TemplateDoc;
  configuration: ConfigurationDoc | undefined;
}

/** How a template version's payloads are checked; null: they are not. */
interface PayloadCheck {
  by: (Pick<PayloadSchema, "seen"> & { check: TenantCheck }) | null;
}

/** Where a push finds its template and has its payload validated. */
export interface PushTargets {
  /** For each push in order its template, or why it is refused: TEMPLATE_UNKNOWN, TEMPLATE_NOT_FOUND, TEMPLATE_INACTIVE, PAYLOAD_INVALID, VALIDATION_FAILED, RATE_LIMITED. */
  resolve(pushes: readonly Push[], bus: Bus): Promise<(Resolved | Refusal)[]>;
  /** Drops what is cached of a template. */
  forget(template_id: string): void;
}

/** Compiled payload schemas, one per template version, which never changes. */
const CHECKS = { ttlSeconds: 600, max: 500 };
/** Push targets: a change drops its template at once on every node that hears of it, and within these seconds on any other. */
const TARGETS = { ttlSeconds: 5, max: 5000, sweepSeconds: 30 };

const unknown = (): Refusal =>
  refusal("TEMPLATE_UNKNOWN", "template_id is the id of no template; templates are found by id only, never by name.", [
    { path: "template_id", message: "is unknown" },
  ]);

const elsewhere = (): Refusal =>
  refusal(
    "TEMPLATE_NOT_FOUND",
    "template_id does not exist under this reseller and merchant; check reseller_id and merchant_id.",
  );

/** Whether the template serves this reseller and merchant; merchant_id is required where the template belongs to a merchant. */
function scopeRefusal(template: TemplateDoc, push: Push): Refusal | null {
  if (template.reseller_id !== push.reseller_id) return elsewhere();
  if (template.merchant_id === null) return null;
  if (push.merchant_id === undefined)
    return refusal("VALIDATION_FAILED", "merchant_id is required: the template belongs to a merchant.", [
      { path: "merchant_id", message: "is required: the template belongs to a merchant" },
    ]);
  return push.merchant_id === template.merchant_id ? null : elsewhere();
}

/** A reseller's own template serves all its merchants, but only those that exist. */
async function merchantRefusal(template: TemplateDoc, push: Push, bus: Bus): Promise<Refusal | null> {
  const { reseller_id, merchant_id } = push;
  if (template.merchant_id !== null || merchant_id === undefined) return null;
  const { merchant } = await bus.call("merchants.lookup", { reseller_id, merchant_id });
  return merchant ? null : elsewhere();
}

/** Why a payload is refused by what its check found; null: nothing. `errors` null: it was not checked. */
function payloadRefusal(errors: ValidationIssue[] | null): Refusal | null {
  if (errors === null)
    return refusal(
      "RATE_LIMITED",
      "Checking the payloads of your merchant or reseller takes more time than one tenant may have; make payload_schema or the payloads simpler, or push more slowly.",
    );
  if (errors.length === 0) return null;
  const places = `${errors.length} ${errors.length === 1 ? "place" : "places"}`;
  return refusal(
    "PAYLOAD_INVALID",
    `The payload does not fit the template's payload_schema in ${places}; see errors.`,
    errors,
  );
}

const foundPush = (push: Push, { template, configuration }: PushTarget): FoundPush & { template: TemplateDoc } => ({
  push,
  template,
  settings: configuration ? settingsOf(configuration) : null,
  merchant_id: template.merchant_id ?? push.merchant_id ?? null,
});

/** The push, or why it is refused, once its payload was checked in the turn of its tenant. */
async function checkedPush<P extends FoundPush>(
  schemas: TenantSchemas,
  found: P,
  { by }: PayloadCheck,
  budget: CheckBudget,
): Promise<P | Refusal> {
  if (by === null) return found;
  const { push, merchant_id } = found;
  const owner = { reseller_id: push.reseller_id, merchant_id };
  const issues = await schemas.issuesOf(owner, by.check, by.seen(push.payload), budget);
  return payloadRefusal(issues && ofPayload(issues)) ?? found;
}

const resolvedOf = ({
  template: t,
  settings,
}: Pick<FoundPush, "settings"> & { template: TemplateDoc }): Omit<Resolved, "initial_offset"> => ({
  template_id: t._id,
  version: t.version,
  name: t.name,
  reseller_id: t.reseller_id,
  merchant_id: t.merchant_id,
  max_age_seconds: t.max_age_seconds,
  ...(typeof t.rtc_join_timeout_seconds === "number" ? { rtc_join_timeout_seconds: t.rtc_join_timeout_seconds } : {}),
  ...(settings?.duplicates === undefined ? {} : { duplicates: settings.duplicates }),
});

const ruled = (
  one: Parameters<typeof resolvedOf>[0],
  ruling: Awaited<ReturnType<typeof ruleOverrides>>[number],
): Resolved | Refusal => ("code" in ruling ? ruling : { ...resolvedOf(one), ...ruling });

/** Push targets over the repositories; `default_timezone` applies to windows that name none. */
export function pushTargets(
  templates: TemplatesRepository,
  configurations: ConfigurationsRepository,
  default_timezone: string,
  schemas: TenantSchemas,
): PushTargets {
  const checks = timedCache<PayloadCheck>(CHECKS);
  const targets = timedCache<PushTarget>(TARGETS);

  const checkFor = ({ _id, version }: TemplateDoc): Promise<PayloadCheck | null> =>
    cached<PayloadCheck, null>(checks, versionId(_id, version), async () => {
      const record = await templates.version(_id, version);
      if (!record?.payload_schema) return record && { by: null };
      const { schema, seen } = payloadSchema(record.payload_schema);
      return { by: { check: schemas.checkOf(schema), seen } };
    });
  const targetOf = (template_id: string): Promise<PushTarget | null> =>
    cached<PushTarget, null>(targets, template_id.toLowerCase(), async () => {
      const template = await templates.head(EVERYTHING, template_id);
      if (!template) return null;
      const [configuration] = await configurations.ofTemplates([template._id]);
      return { template, configuration };
    });

  /** The template of a push, its payload aside. */
  async function targetFor(push: Push, bus: Bus): Promise<{ target: PushTarget; check: PayloadCheck } | Refusal> {
    const target = isUuid(push.template_id) ? await targetOf(push.template_id) : null;
    if (!target) return unknown();
    const { template } = target;
    const refused = scopeRefusal(template, push) ?? (await merchantRefusal(template, push, bus));
    if (refused) return refused;
    if (!template.is_active)
      return refusal("TEMPLATE_INACTIVE", "The template is switched off (is_active is false), so it takes no leads.");
    const check = await checkFor(template);
    return check ? { target, check } : unknown();
  }

  return {
    async resolve(pushes, bus) {
      const known = new Map<string, ReturnType<typeof targetFor>>();
      const budget = checkBudget(); // of all pushes together
      const found = await Promise.all(
        pushes.map(async (push) => {
          const key = JSON.stringify([push.template_id, push.reseller_id, push.merchant_id]);
          const finding = known.get(key) ?? targetFor(push, bus);
          known.set(key, finding);
          const one = await finding;
          if ("code" in one) return one;
          return checkedPush(schemas, foundPush(push, one.target), one.check, budget);
        }),
      );
      const rulings = (
        await ruleOverrides(
          found.filter((one) => "push" in one),
          bus,
          default_timezone,
        )
      ).values();
      return found.map((one) => ("push" in one ? ruled(one, rulings.next().value ?? unknown()) : one));
    },
    forget: (template_id) => targets.delete(template_id.toLowerCase()),
  };
}
