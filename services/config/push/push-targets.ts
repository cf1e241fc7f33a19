import type { Bus, ParamsOf, ResultOf } from "../../../shared/bus.ts";
import { fail, Failure, type ValidationIssue } from "../../../shared/errors.ts";
import { isUuid } from "../../../shared/ids.ts";
import type { Check } from "../rules/json-schema-validation.ts";
import { memory } from "./bounded-cache.ts";
import { payloadCheck } from "../rules/payload-validation.ts";
import type { ConfigurationsRepository } from "../configurations/configurations.repository.ts";
import type { PushMemory, PushTarget } from "./push-cache.ts";
import { versionId, type TemplateDoc } from "../templates/templates.model.ts";
import type { TemplatesRepository } from "../templates/templates.repository.ts";
import { EVERYTHING } from "../tenancy.ts";

type Pushed = ParamsOf<"config.resolveForPush">;

/** Compiled payload schemas kept, one per template version. */
const REMEMBERED_CHECKS = 500;

/** Whom a lead is for and by which template. */
type Asked = Omit<Pushed, "payload">;
interface Chosen {
  target: PushTarget;
  check: Check;
}

/** Why a push is refused: as the failure of resolveForPush would say it. */
export interface Refusal {
  code: string;
  message: string;
  errors: ValidationIssue[];
}

/** Where a push finds its template and has its payload checked. */
export interface Pushing {
  /** The template with its configuration, if it may be used for this lead and the payload fits it; else the codes of the contract. */
  targetFor(pushed: Pushed, bus: Bus): Promise<PushTarget>;
  /** The same for many, each by itself, in order; every template is looked up once. Throws what is no refusal. */
  targetsFor(pushed: readonly Pushed[], bus: Bus): Promise<(PushTarget | Refusal)[]>;
}

/** Codes by which one push is refused; anything else is a fault of the service, and of all of them. */
const REFUSALS = new Set([
  "TEMPLATE_UNKNOWN",
  "TEMPLATE_NOT_FOUND",
  "TEMPLATE_INACTIVE",
  "PAYLOAD_INVALID",
  "VALIDATION_FAILED",
]);

const isFault = (v: unknown): v is ValidationIssue =>
  typeof v === "object" && v !== null && "path" in v && "message" in v;

function refusalOf(error: unknown): Refusal {
  if (!(error instanceof Failure) || !REFUSALS.has(error.type)) throw error;
  const errors: unknown = (error.data as Record<string, unknown> | undefined)?.["errors"];
  return { code: error.type, message: error.message, errors: Array.isArray(errors) ? errors.filter(isFault) : [] };
}

const elsewhere = (): never =>
  fail(
    "TEMPLATE_NOT_FOUND",
    "template_id does not exist under this reseller and merchant; check reseller_id and merchant_id.",
  );

/** Whether the template serves this reseller and merchant: 2.1's scope, and 4.2's "required if the template belongs to a merchant". */
function checkScope(template: TemplateDoc, pushed: Asked): void {
  if (template.reseller_id !== pushed.reseller_id) elsewhere();
  if (template.merchant_id === null) return;
  if (pushed.merchant_id === undefined) {
    fail("VALIDATION_FAILED", "merchant_id is required: the template belongs to a merchant.", {
      errors: [{ path: "merchant_id", message: "is required: the template belongs to a merchant" }],
    });
  }
  if (pushed.merchant_id !== template.merchant_id) elsewhere();
}

/** A reseller's own template serves all its merchants, but only those that exist. */
async function checkMerchant(template: TemplateDoc, pushed: Asked, bus: Bus): Promise<void> {
  if (template.merchant_id !== null || pushed.merchant_id === undefined) return;
  const found: ResultOf<"merchants.lookup"> = await bus.call("merchants.lookup", {
    reseller_id: pushed.reseller_id,
    merchant_id: pushed.merchant_id,
  });
  if (!found.merchant) elsewhere();
}

/** Resolving over the repositories; compiled schemas and, for seconds, whole targets are remembered. */
export function pushing(
  templates: TemplatesRepository,
  configurations: ConfigurationsRepository,
  remembered: PushMemory,
): Pushing {
  const checks = memory<Check>(REMEMBERED_CHECKS);
  const checkFor = (t: TemplateDoc): Promise<Check | null> =>
    checks.get(versionId(t._id, t.version), async () => {
      const record = await templates.version(t._id, t.version);
      return record && payloadCheck(record.payload_schema);
    });

  const targetOf = (template_id: string): Promise<PushTarget | null> =>
    remembered.get(template_id, async () => {
      const template = await templates.head(EVERYTHING, template_id);
      if (!template) return null;
      const [configuration] = await configurations.ofTemplates([template._id]);
      return { template, configuration };
    });
  const chosen = async (asked: Asked, bus: Bus): Promise<Chosen> => {
    const unknown = (): never =>
      fail("TEMPLATE_UNKNOWN", "template_id is the id of no template; templates are found by id only, never by name.", {
        errors: [{ path: "template_id", message: "is unknown" }],
      });
    if (!isUuid(asked.template_id)) return unknown();
    const target = (await targetOf(asked.template_id)) ?? unknown();
    const { template } = target;
    checkScope(template, asked);
    await checkMerchant(template, asked, bus);
    if (!template.is_active)
      fail("TEMPLATE_INACTIVE", "The template is switched off (is_active is false), so it takes no leads.");
    return { target, check: (await checkFor(template)) ?? unknown() };
  };
  const fitting = ({ target, check }: Chosen, payload: unknown): PushTarget => {
    const errors = check(payload);
    if (errors.length > 0)
      fail(
        "PAYLOAD_INVALID",
        `The payload does not fit the template's payload_schema in ${errors.length} ${errors.length === 1 ? "place" : "places"}; see errors.`,
        { errors },
      );
    return target;
  };

  return {
    targetFor: async (pushed, bus) => fitting(await chosen(pushed, bus), pushed.payload),
    async targetsFor(pushed, bus) {
      const known = new Map<string, Promise<Chosen | Refusal>>();
      return Promise.all(
        pushed.map(async (p) => {
          const key = JSON.stringify([p.template_id, p.reseller_id, p.merchant_id]);
          const found = known.get(key) ?? chosen(p, bus).catch(refusalOf);
          known.set(key, found);
          const one = await found;
          if ("code" in one) return one;
          try {
            return fitting(one, p.payload);
          } catch (error) {
            return refusalOf(error);
          }
        }),
      );
    },
  };
}
