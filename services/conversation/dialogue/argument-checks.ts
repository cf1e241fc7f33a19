import type { FlowFunction, TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { checkOf, type Check } from "../../../shared/schemas/client-schema.ts";
import type { ArgumentCheck } from "./flow.ts";

const MAX_FAULTS_TOLD = 5;

/** Compiles the JSON Schemas of a template's functions once; checking arguments takes bounded time, whatever they say. Throws ajv's error when one is no schema. */
export function argumentChecks(template: TemplateRecord): ArgumentCheck {
  const checks = new Map<FlowFunction, Check>();
  for (const fn of [...template.global_functions, ...template.nodes.flatMap((n) => n.functions ?? [])]) {
    if (fn.parameters) checks.set(fn, checkOf({ type: "object", ...fn.parameters }));
  }
  return (called, args) =>
    (checks.get(called)?.(args) ?? [])
      .slice(0, MAX_FAULTS_TOLD)
      .map((f) => `${f.path === "" ? "the arguments" : f.path} ${f.message}`);
}
