import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import { chunks, fitting } from "../../../shared/batching.ts";
import { sha256 } from "../../../shared/ids.ts";
import type { ConfigurationDoc, Settings } from "../configurations/configurations.model.ts";
import type { ConfigurationsRepository, ConfigurationStamp } from "../configurations/configurations.repository.ts";
import { overridden } from "../rules/configuration-override.ts";
import { configurationMisfits, withWarnings } from "../rules/configuration-fit.ts";
import { effective } from "../rules/effective-configuration.ts";
import type { TemplateDoc } from "../templates/templates.model.ts";
import type { TemplatesRepository } from "../templates/templates.repository.ts";

/** A plan that the asker has, by its stamp. */
type KnownPlan = NonNullable<ParamsOf<"config.plans">["known"]>[number];

const STAMP_CHARS = 32;

/** What a client set, as it was stored. */
export const settingsOf = (d: ConfigurationDoc): Settings => JSON.parse(d.settings) as Settings;

/** What services ask of templates and configurations together. */
export interface CallPlans {
  /** Plans of these templates, in the order asked; unknown ids are left out. Two queries however many there are. */
  plans(template_ids: readonly string[]): Promise<Plan[]>;
  /** The same with stamps, those that are known left out, in the order of the ids as far as they fit into a message. */
  changedPlans(template_ids: readonly string[], known: readonly KnownPlan[]): Promise<ResultOf<"config.plans">>;
  /** The configuration of a template with an override merged over it; null where it has none. */
  overridden(template_id: string, override: Readonly<Record<string, unknown>>): Promise<ConfigurationRecord | null>;
  /** Configurations in full, with the names of their templates. */
  records(docs: readonly ConfigurationDoc[]): Promise<ConfigurationRecord[]>;
  /** The same as people read them: with what will not work with their templates. */
  shown(docs: readonly ConfigurationDoc[]): Promise<ConfigurationRecord[]>;
}

const planOf = (t: TemplateDoc, configuration: ConfigurationRecord | null): Plan => ({
  template_id: t._id,
  version: t.version,
  is_active: t.is_active,
  max_age_seconds: t.max_age_seconds,
  max_call_seconds: t.max_call_seconds,
  retry_on: t.retry_on,
  configuration,
});

const rateOf = (s: Settings): unknown[] => [s.rate_limit_enabled, s.rate_limit_max_calls, s.rate_limit_window_seconds];

/** A changed rate limit counts in a window of its own, one for all leads that change it alike: one log of permits can't keep two limits. */
function ownRateWindow(d: ConfigurationDoc, stored: Settings, merged: Settings): { rate_window_id?: string } {
  if (JSON.stringify(rateOf(stored)) === JSON.stringify(rateOf(merged))) return {};
  const hash = sha256(JSON.stringify([d._id, rateOf(merged)]));
  return { rate_window_id: hash.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5") };
}

const uniqueIds = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))];

/** Plans read at once to fill a message. */
const PLANS_AT_ONCE = 25;

const stampOf = (t: TemplateDoc, c: ConfigurationStamp | undefined): string =>
  sha256(JSON.stringify([t, c?._id, c?.updated_at])).slice(0, STAMP_CHARS);

/** Planning over the repositories; `default_timezone` applies to windows that name none. */
export function callPlans(
  templates: TemplatesRepository,
  configurations: ConfigurationsRepository,
  default_timezone: string,
): CallPlans {
  const inFull = (d: ConfigurationDoc, t: TemplateDoc): ConfigurationRecord =>
    effective(d, settingsOf(d), t.name, default_timezone);
  const recordsOf = (docs: readonly ConfigurationDoc[], heads: readonly TemplateDoc[]): ConfigurationRecord[] => {
    const head = new Map(heads.map((t) => [t._id, t]));
    return docs.flatMap((d) => {
      const t = head.get(d.template_id);
      return t ? [inFull(d, t)] : [];
    });
  };
  /** The plans of these ids in their order, each with its stamp; two queries however many there are. */
  const stamped = async (ids: readonly string[]): Promise<{ plan: Plan; stamp: string }[]> => {
    const [heads, docs] = await Promise.all([templates.heads(ids), configurations.ofTemplates(ids)]);
    const head = new Map(heads.map((t) => [t._id, t]));
    const doc = new Map(docs.map((d) => [d.template_id, d]));
    return ids.flatMap((id) => {
      const t = head.get(id);
      const d = doc.get(id);
      return t ? [{ plan: planOf(t, d ? inFull(d, t) : null), stamp: stampOf(t, d) }] : [];
    });
  };
  const stampsOf = async (ids: readonly string[]): Promise<Map<string, string>> => {
    const [heads, docs] = await Promise.all([templates.heads(ids), configurations.stampsOf(ids)]);
    const doc = new Map(docs.map((d) => [d.template_id, d]));
    return new Map(heads.map((t) => [t._id, stampOf(t, doc.get(t._id))]));
  };
  return {
    plans: async (template_ids) => (await stamped(uniqueIds(template_ids))).map(({ plan }) => plan),
    async changedPlans(template_ids, known) {
      const ids = uniqueIds(template_ids);
      const stamps = await stampsOf(ids);
      const unchanged = known.filter((k) => stamps.get(k.template_id) === k.stamp).map((k) => k.template_id);
      const same = new Set(unchanged);
      let plans: Plan[] = [];
      for (const some of chunks(
        ids.filter((id) => stamps.has(id) && !same.has(id)),
        { maxItems: PLANS_AT_ONCE },
      )) {
        const read = [...plans, ...(await stamped(some)).map(({ plan, stamp }) => ({ ...plan, stamp }))];
        plans = fitting(read);
        const next = read[plans.length];
        if (next) return { plans, unchanged, read: ids.indexOf(next.template_id) };
      }
      return { plans, unchanged, read: ids.length };
    },
    async overridden(template_id, override) {
      const id = template_id.toLowerCase();
      const [[t], [d]] = await Promise.all([templates.heads([id]), configurations.ofTemplates([id])]);
      if (!t || !d) return null;
      const stored = settingsOf(d);
      const merged = overridden(stored, override, default_timezone);
      return { ...effective(d, merged, t.name, default_timezone), ...ownRateWindow(d, stored, merged) };
    },
    async records(docs) {
      const heads = await templates.heads([...new Set(docs.map((d) => d.template_id))]);
      return recordsOf(docs, heads);
    },
    async shown(docs) {
      const heads = await templates.heads([...new Set(docs.map((d) => d.template_id))]);
      const content = new Map((await templates.current(heads)).map((t) => [t.id, t]));
      return recordsOf(docs, heads).map((record) => {
        const written = content.get(record.template_id);
        return written ? withWarnings(record, configurationMisfits(written, record)) : record;
      });
    },
  };
}
