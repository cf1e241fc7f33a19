import type { Handlers, ParamsOf } from "../../../shared/bus/bus.ts";
import type { InboundPlan } from "../../../shared/contracts/config.ts";
import type { ConfigurationDoc } from "../configurations/configurations.model.ts";
import type { ConfigurationsRepository } from "../configurations/configurations.repository.ts";
import { settingsOf, type CallPlans } from "./call-plans.ts";
import type { TemplateDoc } from "../templates/templates.model.ts";
import type { TemplatesRepository } from "../templates/templates.repository.ts";

/** Whom a called number belongs to; nulls: the shared pool. */
type NumberOwner = Omit<ParamsOf<"config.inboundFor">, "template_id">;

/** True when a number of this owner may be answered by the template: a merchant's by its own and its reseller's, a reseller's by any of its own, the pool's by all. */
export const mayUse = (owner: NumberOwner, of: Pick<TemplateDoc, "reseller_id" | "merchant_id">): boolean =>
  owner.reseller_id === null ||
  (owner.reseller_id === of.reseller_id &&
    (owner.merchant_id === null || of.merchant_id === null || of.merchant_id === owner.merchant_id));

/** A configuration with what its choice depends on. */
interface Candidate {
  doc: Pick<ConfigurationDoc, "template_id" | "merchant_id">;
  takes: boolean;
}

/** The first of the candidates (the oldest first) that takes inbound calls, a merchant's before its reseller's; else the first at all. */
export function preferredCandidate<C extends Candidate>(candidates: readonly C[]): C | undefined {
  const first = (some: readonly C[]): C | undefined => some.find((c) => c.doc.merchant_id !== null) ?? some[0];
  return first(candidates.filter((c) => c.takes)) ?? first(candidates);
}

/** Which template takes a call to a number, and by what. */
export function inboundPlans(
  templates: TemplatesRepository,
  configurations: ConfigurationsRepository,
  plans: CallPlans,
): Handlers<"config", "inboundFor" | "mayTakeCalls"> {
  const headOf = async (id: string): Promise<TemplateDoc | undefined> => (await templates.heads([id]))[0];

  async function planOf(head: TemplateDoc): Promise<InboundPlan | null> {
    const [[record], [doc]] = await Promise.all([templates.current([head]), configurations.ofTemplates([head._id])]);
    const [configuration] = await plans.records(doc ? [doc] : []);
    return record
      ? {
          template_id: head._id,
          version: head.version,
          name: head.name,
          reseller_id: head.reseller_id,
          merchant_id: head.merchant_id,
          is_active: head.is_active,
          language: record.language,
          max_call_seconds: head.max_call_seconds,
          configuration: configuration ?? null,
        }
      : null;
  }

  async function ofOwner({ reseller_id, merchant_id }: NumberOwner): Promise<TemplateDoc | undefined> {
    if (reseller_id === null) return undefined;
    const docs = await configurations.ofOwner(reseller_id, merchant_id);
    const heads = new Map((await templates.heads(docs.map((d) => d.template_id))).map((t) => [t._id, t]));
    const candidates = docs.flatMap((doc) => {
      const head = heads.get(doc.template_id);
      return head ? [{ doc, head, takes: head.is_active && settingsOf(doc).enable_inbound === true }] : [];
    });
    return preferredCandidate(candidates)?.head;
  }

  return {
    async inboundFor({ template_id, ...owner }) {
      const named = template_id === null ? undefined : await headOf(template_id);
      const head = named && mayUse(owner, named) ? named : await ofOwner(owner);
      return { plan: head ? await planOf(head) : null };
    },
    async mayTakeCalls({ template_id, ...owner }) {
      const head = await headOf(template_id);
      return { may: head !== undefined && mayUse(owner, head) };
    },
  };
}
