import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { TSchema } from "../contracts/define.ts";
import type { ValidationIssue } from "../errors.ts";
import { isRecord } from "../json.ts";
import { isOverLimit, withinCpuTime } from "../process/cpu-limit.ts";
import { eachIssue } from "../validator.ts";
import { linearPattern } from "./linear-pattern.ts";

/**
 * Clients' schemas, synchronously: nothing for an event loop, but where a schema is known to take no time. Services ask tenant-schemas.ts.
 */

/** A JSON Schema 2020-12 as a client wrote it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Largest schema taken, as JSON text. */
export const MAX_SCHEMA_BYTES = 64 * 1024;
/** Deepest nesting of objects and arrays in a schema. */
export const MAX_SCHEMA_DEPTH = 32;
/** Most issues reported of one value, and most characters of one; more would add no information. */
const MAX_ISSUES = 100;
const MAX_ISSUE_CHARS = 1000;
/** Most processor time that a client's schemas may take to check the values of one request, and to be looked at when a template is saved, ms. */
export const CHECK_MS = 250;
export const LOOK_MS = 2000;

/** Schemas with these words may fail only when they are compiled. */
const INTRICATE = /"(?:pattern|patternProperties|uniqueItems|\$ref|\$dynamicRef|\$id|\$anchor|\$dynamicAnchor)"\s*:/;

/** The format of ajv-formats, but in linear time: there the user's name may be divided at each of its colons. The rest ends at the first character that it can't take. */
const URL_FORMAT =
  /^(?:https?|ftp):\/\/(?:\S+@)?(?:(?!(?:10|127)(?:\.\d{1,3}){3})(?!(?:169\.254|192\.168)(?:\.\d{1,3}){2})(?!172\.(?:1[6-9]|2\d|3[0-1])(?:\.\d{1,3}){2})(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}(?:\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4]))|(?:(?:[a-z0-9\u{00a1}-\u{ffff}]+-)*[a-z0-9\u{00a1}-\u{ffff}]+)(?:\.(?:[a-z0-9\u{00a1}-\u{ffff}]+-)*[a-z0-9\u{00a1}-\u{ffff}]+)*(?:\.(?:[a-z\u{00a1}-\u{ffff}]{2,})))(?::\d{2,5})?(?:\/[^\s]*)?$/iu;
const BLANK = /\s/;

/** Whether a text is a URL as ajv-formats has it. */
export const isUrl = (text: string): boolean => !BLANK.test(text) && URL_FORMAT.test(text);

interface Matcher {
  test(text: string): boolean;
  toString(): string;
}
const MATCHERS = { code: "linearPattern" };

/** Patterns by linear time. One that was saved before this was asked for is matched as before: whoever runs it must have a limit. */
const matcher = (pattern: string): Matcher => {
  const linear = linearPattern(pattern);
  // ajv keeps patterns by their text
  return typeof linear === "string" ? RegExp(pattern, "u") : { test: linear.test, toString: () => pattern };
};

function ajvOf(options: Options): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    allErrors: true,
    code: { regExp: Object.assign(matcher, MATCHERS) },
    ...options,
  });
  formats.default(ajv);
  ajv.addFormat("url", { type: "string", validate: isUrl });
  return ajv;
}

const meta = ajvOf({});

const isCircle = (error: unknown): boolean => error instanceof Object && "name" in error && error.name === "RangeError";
const sentence = (error: unknown): string =>
  error instanceof Object && "message" in error ? String(error.message) : String(error);

/** A compiler of its own for every schema: ids and anchors of one client's schema must not be seen by another's. Nothing is ever fetched. */
const compile = (schema: JsonSchema | TSchema, options: Options = {}): ValidateFunction =>
  ajvOf({ meta: false, validateSchema: false, inlineRefs: false, addUsedSchema: false, ...options }).compile(schema);

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

/** The first issues of what ajv found, each once. */
function firstIssues(errors: readonly ErrorObject[] | null | undefined): ValidationIssue[] {
  const issues = new Map<string, ValidationIssue>();
  for (const { path, message } of eachIssue(errors)) {
    const short = message.length > MAX_ISSUE_CHARS ? `${message.slice(0, MAX_ISSUE_CHARS)}…` : message;
    issues.set(`${path}\n${short}`, { path, message: short });
    if (issues.size === MAX_ISSUES) break;
  }
  return [...issues.values()];
}

function metaIssues(schema: JsonSchema, path: string): ValidationIssue[] {
  try {
    if (meta.validateSchema(schema)) return [];
  } catch {
    return [
      { path: `${path}.$schema`, message: "must be https://json-schema.org/draft/2020-12/schema, or be left out" },
    ];
  }
  return firstIssues(meta.errors).map((f) => ({ path: f.path ? `${path}.${f.path}` : path, message: f.message }));
}

/** Where a pattern stands first in a schema. */
function pathOfPattern(value: unknown, path: string, pattern: string): string | null {
  if (typeof value !== "object" || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    if (key === "pattern" && inner === pattern) return `${path}.pattern`;
    if (key === "patternProperties" && isRecord(inner) && Object.hasOwn(inner, pattern)) return `${path}.${key}`;
    const found = pathOfPattern(inner, `${path}.${key}`, pattern);
    if (found !== null) return found;
  }
  return null;
}

/** What is wrong with the patterns of a schema, and with its references: only compiling it tells. */
function compileIssues(schema: JsonSchema, path: string): ValidationIssue[] {
  const unusable = new Map<string, string>();
  const judge = (pattern: string): Matcher => {
    const linear = linearPattern(pattern);
    if (typeof linear === "string") unusable.set(pattern, linear);
    return { test: () => true, toString: () => pattern };
  };
  try {
    compile(schema, { code: { regExp: Object.assign(judge, MATCHERS) } });
  } catch (error) {
    return [{ path, message: isCircle(error) ? "refers to itself without end" : `can't be used: ${sentence(error)}` }];
  }
  return [...unusable].slice(0, MAX_ISSUES).map(([pattern, message]) => ({
    path: pathOfPattern(schema, path, pattern) ?? path,
    message,
  }));
}

function issuesOfSchema(schema: JsonSchema, path: string): ValidationIssue[] {
  const text = JSON.stringify(schema);
  if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES)
    return [{ path, message: `must be at most ${MAX_SCHEMA_BYTES} bytes of JSON` }];
  if (depthOf(schema, MAX_SCHEMA_DEPTH) > MAX_SCHEMA_DEPTH)
    return [{ path, message: `must not be nested more than ${MAX_SCHEMA_DEPTH} levels deep` }];
  const issues = metaIssues(schema, path);
  remoteRefs(schema, path, issues);
  return issues.length > 0 || !INTRICATE.test(text) ? issues : compileIssues(schema, path);
}

/** Everything that is wrong with a schema itself: too large or deep, no valid 2020-12 schema, pointing elsewhere, or not to be compiled, in `ms` of processor time. */
export function schemaIssues(schema: JsonSchema, path: string, ms = LOOK_MS): ValidationIssue[] {
  try {
    return withinCpuTime(Math.max(1, Math.ceil(ms)), () => issuesOfSchema(schema, path));
  } catch (error) {
    if (isOverLimit(error)) return [{ path, message: "takes too long to compile; make it simpler" }];
    throw error;
  }
}

/** The one issue of a value whose check was not done to its end. */
export const uncheckable = (error?: unknown): ValidationIssue[] => [
  {
    path: "",
    message:
      error === undefined || isOverLimit(error)
        ? "takes too long to check against the template's schema"
        : "can't be checked against the template's schema",
  },
];

/** Checks one value; no issues: it fits. Paths are dotted and relative to the value. */
export type Check = (value: unknown) => ValidationIssue[];

/** A check by this schema, compiled now; null: the value has more than `most` faults, which were not looked at. Neither has a limit of time. Throws where it can't be compiled. */
export function unlimitedCheck(
  schema: JsonSchema | TSchema,
  most = Infinity,
): (value: unknown) => ValidationIssue[] | null {
  const validate = compile(schema);
  return (value) => {
    if (validate(value)) return [];
    return (validate.errors?.length ?? 0) > most ? null : firstIssues(validate.errors);
  };
}

/** A check by this schema, compiled at its first value; at most MAX_ISSUES issues, in `ms` of processor time. The schema should have passed `schemaIssues`. */
export function checkOf(schema: JsonSchema | TSchema): (value: unknown, ms?: number) => ValidationIssue[] {
  let check: ReturnType<typeof unlimitedCheck> | null = null;
  return (value, ms = CHECK_MS) => {
    if (ms <= 0) return uncheckable();
    try {
      check ??= withinCpuTime(LOOK_MS, () => unlimitedCheck(schema));
      const judge = check;
      return withinCpuTime(Math.ceil(ms), () => judge(value)) ?? uncheckable();
    } catch (error) {
      return uncheckable(error);
    }
  };
}
