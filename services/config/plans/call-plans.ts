import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import type { ConfigurationDoc, Settings } from "../configurations/configurations.model.ts";
import type { ConfigurationsRepository } from "../configurations/configurations.repository.ts";
import { effective, overridden } from "../rules/effective-configuration.ts";
import type { TemplateDoc } from "../templates/templates.model.ts";
import type { TemplatesRepository } from "../templates/templates.repository.ts";

/** What a client set, as it was stored. */
export const settingsOf = (d: ConfigurationDoc): Settings => JSON.parse(d.settings) as Settings;

/** What services ask of templates and configurations together. */
export interface CallPlans {
  /** Plans of these templates, in the order asked; unknown ids are left out. Two queries however many there are. */
  plans(template_ids: readonly string[]): Promise<Plan[]>;
  /** The configuration of a template with an override merged over it; null where it has none. */
  overridden(template_id: string, override: Readonly<Record<string, unknown>>): Promise<ConfigurationRecord | null>;
  /** Configurations as they are shown, with the names of their templates. */
  records(docs: readonly ConfigurationDoc[]): Promise<ConfigurationRecord[]>;
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

/** Planning over the repositories; `default_timezone` applies to windows that name none. */
export function callPlans(
  templates: TemplatesRepository,
  configurations: ConfigurationsRepository,
  default_timezone: string,
): CallPlans {
  const inFull = (d: ConfigurationDoc, t: TemplateDoc): ConfigurationRecord =>
    effective(d, settingsOf(d), t.name, default_timezone);
  return {
    async plans(template_ids) {
      const ids = [...new Set(template_ids.map((id) => id.toLowerCase()))];
      const [heads, docs] = await Promise.all([templates.heads(ids), configurations.ofTemplates(ids)]);
      const head = new Map(heads.map((t) => [t._id, t]));
      const doc = new Map(docs.map((d) => [d.template_id, d]));
      return ids.flatMap((id) => {
        const t = head.get(id);
        const d = doc.get(id);
        return t ? [planOf(t, d ? inFull(d, t) : null)] : [];
      });
    },
    async overridden(template_id, override) {
      const id = template_id.toLowerCase();
      const [[t], [d]] = await Promise.all([templates.heads([id]), configurations.ofTemplates([id])]);
      return t && d ? effective(d, overridden(settingsOf(d), override), t.name, default_timezone) : null;
    },
    async records(docs) {
      const heads = await templates.heads([...new Set(docs.map((d) => d.template_id))]);
      const head = new Map(heads.map((t) => [t._id, t]));
      return docs.flatMap((d) => {
        const t = head.get(d.template_id);
        return t ? [inFull(d, t)] : [];
      });
    },
  };
}
