import type { Bus } from "../../../shared/bus/bus.ts";
import { recencyCache } from "../../../shared/cache.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { fail } from "../../../shared/errors.ts";
import { argumentChecks } from "../dialogue/argument-checks.ts";
import { flowOf, type Flow } from "../dialogue/flow.ts";

/** A template version with its compiled flow. */
export interface CompiledTemplate {
  template: TemplateRecord;
  flow: Flow;
}
const MAX_KEPT = 500;

function compile(template: TemplateRecord): CompiledTemplate {
  try {
    return { template, flow: flowOf(template, argumentChecks(template)) };
  } catch (error) {
    return fail(
      "TEMPLATE_INVALID",
      `A function of template ${template.id} (version ${template.version}) has parameters that are no JSON Schema: ${error instanceof Error ? error.message : String(error)}. Save the template with a valid schema.`,
    );
  }
}

/** Gives template versions, compiled once: a version never changes. Keeps those used last. */
export function compiledTemplates() {
  const cache = recencyCache<CompiledTemplate>({ max: MAX_KEPT });
  const keyOf = (template_id: string, version: number): string => `${template_id}:${version}`;
  return {
    /** One that was got before; null: it is not kept. */
    known: (template_id: string, version: number): CompiledTemplate | null =>
      cache.get(keyOf(template_id, version)) ?? null,
    async get(bus: Bus, template_id: string, version: number): Promise<CompiledTemplate> {
      const key = keyOf(template_id, version);
      const known = cache.get(key);
      if (known) return known;
      const compiled = compile(await bus.call("config.templateVersion", { template_id, version }));
      cache.set(key, compiled);
      return compiled;
    },
  };
}

/** The template versions of a process. */
export type CompiledTemplates = ReturnType<typeof compiledTemplates>;
