import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { TSchema } from "../../../shared/contracts/define.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { issuesOf } from "../../../shared/validator.ts";
import { isOverLimit, withinCpuTime } from "../../../shared/process/cpu-limit.ts";

/** A JSON Schema 2020-12 as a client wrote it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Largest schema taken, as JSON text. */
export const MAX_SCHEMA_BYTES = 64 * 1024;
/** Deepest nesting of objects and arrays in a schema. */
export const MAX_SCHEMA_DEPTH = 32;
/** Most issues reported of one value; more would add no information. */
const MAX_ISSUES = 100;
/** Most processor time that a client's schema may take to check a value, or to be compiled, ms. */
const CHECK_MS = 250;
const COMPILE_MS = 2000;

/** Schemas with these words can take time out of all proportion (back-tracking patterns, references that multiply) or fail only when compiled. */
const INTRICATE = /"(?:pattern|patternProperties|uniqueItems|\$ref|\$dynamicRef|\$id|\$anchor|\$dynamicAnchor)"\s*:/;

const meta = new Ajv2020({ strict: false, logger: false, allErrors: true });
formats.default(meta);

const isCircle = (error: unknown): boolean => error instanceof Object && "name" in error && error.name === "RangeError";
const sentence = (error: unknown): string =>
  error instanceof Object && "message" in error ? String(error.message) : String(error);

/** A compiler of its own for every schema: ids and anchors of one client's schema must not be seen by another's. Nothing is ever fetched. */
function compile(schema: JsonSchema | TSchema): ValidateFunction {
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    allErrors: true,
    validateSchema: false,
    inlineRefs: false,
    addUsedSchema: false,
  });
  formats.default(ajv);
  return withinCpuTime(COMPILE_MS, () => ajv.compile(schema));
}

function depthOf(value: unknown, limit: number): number {
  if (typeof value !== "object" || value === null) return 0;
  if (limit === 0) return 1;
  let deepest = 0;
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner, limit - 1));
  return deepest + 1;
}

function remoteRefs(value: unknown, path: string, issues: ValidationIssue[]): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if ((key === "$ref" || key === "$dynamicRef") && typeof inner === "string" && !inner.startsWith("#")) {
      issues.push({
        path: `${path}.${key}`,
        message: "must point into this schema (#/…); other documents are not fetched",
      });
    }
    remoteRefs(inner, `${path}.${key}`, issues);
  }
}

const unique = (issues: ValidationIssue[]): ValidationIssue[] =>
  [...new Map(issues.map((f) => [`${f.path}\n${f.message}`, f])).values()].slice(0, MAX_ISSUES);

function metaIssues(schema: JsonSchema, path: string): ValidationIssue[] {
  try {
    if (meta.validateSchema(schema)) return [];
  } catch {
    return [
      { path: `${path}.$schema`, message: "must be https://json-schema.org/draft/2020-12/schema, or be left out" },
    ];
  }
  return unique(issuesOf(meta.errors).map((f) => ({ path: f.path ? `${path}.${f.path}` : path, message: f.message })));
}

/** Everything that is wrong with a schema itself: too large or deep, no valid 2020-12 schema, pointing elsewhere, or not to be compiled. */
export function schemaIssues(schema: JsonSchema, path: string): ValidationIssue[] {
  const text = JSON.stringify(schema);
  if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES)
    return [{ path, message: `must be at most ${MAX_SCHEMA_BYTES} bytes of JSON` }];
  if (depthOf(schema, MAX_SCHEMA_DEPTH) > MAX_SCHEMA_DEPTH)
    return [{ path, message: `must not be nested more than ${MAX_SCHEMA_DEPTH} levels deep` }];
  const issues = metaIssues(schema, path);
  remoteRefs(schema, path, issues);
  if (issues.length > 0 || !INTRICATE.test(text)) return issues;
  try {
    compile(schema);
    return [];
  } catch (error) {
    if (isOverLimit(error)) return [{ path, message: "takes too long to compile; make it simpler" }];
    return [{ path, message: isCircle(error) ? "refers to itself without end" : `can't be used: ${sentence(error)}` }];
  }
}

/** Checks one value; no issues: it fits. Paths are dotted and relative to the value. */
export type Check = (value: unknown) => ValidationIssue[];

/** A check by this schema, compiled once. The schema must have passed `schemaIssues`. */
export function checkOf(schema: JsonSchema | TSchema): Check {
  const validate = compile(schema);
  const judge = (value: unknown): ValidationIssue[] => (validate(value) ? [] : unique(issuesOf(validate.errors)));
  if (!INTRICATE.test(JSON.stringify(schema))) return judge;
  return (value) => {
    try {
      return withinCpuTime(CHECK_MS, () => judge(value));
    } catch (error) {
      return [
        {
          path: "",
          message: isOverLimit(error)
            ? "takes too long to check against the template's schema"
            : "can't be checked against the template's schema",
        },
      ];
    }
  };
}
