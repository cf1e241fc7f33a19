import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { FlowFunction, TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { issuesOf } from "../../../shared/validator.ts";
import type { ArgumentCheck } from "./flow.ts";

const MAX_FAULTS_TOLD = 5;

/** Compiles the JSON Schemas of a template's functions once. Throws ajv's error when one is no schema. */
export function argumentChecks(template: TemplateRecord): ArgumentCheck {
  const ajv = new Ajv2020({
    allErrors: true,
    strict: false,
    coerceTypes: false,
    useDefaults: false,
    addUsedSchema: false,
    logger: false,
  });
  formats.default(ajv);
  const checks = new Map<FlowFunction, ValidateFunction>();
  for (const fn of [...template.global_functions, ...template.nodes.flatMap((n) => n.functions ?? [])]) {
    if (fn.parameters) checks.set(fn, ajv.compile({ type: "object", ...fn.parameters }));
  }
  return (called, args) => {
    const check = checks.get(called);
    if (!check || check(args)) return [];
    return issuesOf(check.errors)
      .slice(0, MAX_FAULTS_TOLD)
      .map((f) => `${f.path === "" ? "the arguments" : f.path} ${f.message}`);
  };
}
