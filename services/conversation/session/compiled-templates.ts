import type { Bus } from "../../../shared/bus/bus.ts";
import { recencyCache } from "../../../shared/cache.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { checkBudget, type TenantSchemas } from "../../../shared/schemas/tenant-schemas.ts";
import { argumentSchemas, toldFaults } from "../dialogue/argument-checks.ts";
import { flowOf, type Flow } from "../dialogue/flow.ts";
import type { ReadCall } from "../dialogue/function-calls.ts";

/** A template version with its flow. */
export interface CompiledTemplate {
  template: TemplateRecord;
  flow: Flow;
  /** What is wrong with the arguments of the calls of one answer; null: the checks of this tenant take too long. Never rejects. */
  judge(calls: readonly ReadCall[]): Promise<(readonly string[] | null)[]>;
}
const MAX_KEPT = 500;

/** A template whose functions' schemas are compiled when they are needed, and heavy ones used by the thread alone. */
function compile(template: TemplateRecord, schemas: TenantSchemas): CompiledTemplate {
  const checks = new Map(argumentSchemas(template).map(([fn, schema]) => [fn, schemas.checkOf(schema)]));
  const flow = flowOf(template, (called, args) => {
    const check = checks.get(called);
    const issues = check ? check.here(args) : [];
    return issues && toldFaults(issues);
  });
  return {
    template,
    flow,
    judge(calls) {
      const budget = checkBudget();
      return Promise.all(
        calls.map(async ({ called, args }) => {
          const check = checks.get(called);
          const issues = check ? await schemas.issuesOf(template, check, args, budget).catch(() => null) : [];
          return issues && toldFaults(issues);
        }),
      );
    },
  };
}

/** Gives template versions, compiled once: a version never changes. Keeps those used last. */
export function compiledTemplates(schemas: TenantSchemas) {
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
      const compiled = compile(await bus.call("config.templateVersion", { template_id, version }), schemas);
      cache.set(key, compiled);
      return compiled;
    },
  };
}

/** The template versions of a process. */
export type CompiledTemplates = ReturnType<typeof compiledTemplates>;
