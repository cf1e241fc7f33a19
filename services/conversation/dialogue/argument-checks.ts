import type { FlowFunction } from "../../../shared/contracts/flow/flow-node.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { checkOf, type JsonSchema } from "../../../shared/schemas/client-schema.ts";
import type { ArgumentCheck } from "./flow.ts";

const MAX_FAULTS_TOLD = 5;

/** The functions of a template that take arguments, each with the schema of these. */
export const argumentSchemas = (
  template: Pick<TemplateRecord, "global_functions" | "nodes">,
): [FlowFunction, JsonSchema][] =>
  [...template.global_functions, ...template.nodes.flatMap((n) => n.functions ?? [])].flatMap(
    (fn): [FlowFunction, JsonSchema][] => (fn.parameters ? [[fn, { type: "object", ...fn.parameters }]] : []),
  );

/** The faults of a call's arguments as the model is told them. */
export const toldFaults = (issues: readonly ValidationIssue[]): string[] =>
  issues.slice(0, MAX_FAULTS_TOLD).map((f) => `${f.path === "" ? "the arguments" : f.path} ${f.message}`);

/** Checks of arguments by the JSON Schemas of a template's functions, for who has time: a conversation has its checks from outside (session/compiled-templates.ts). */
export function argumentChecks(template: TemplateRecord): ArgumentCheck {
  const checks = new Map(argumentSchemas(template).map(([fn, schema]) => [fn, checkOf(schema)]));
  return (called, args) => toldFaults(checks.get(called)?.(args) ?? []);
}
