import { Ajv2020, str, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { HOUR_MINUTE, NOT_BLANK, READERS_KEYWORDS, type TSchema } from "./contracts/define.ts";
import { boundedIssues, type ValidationIssue } from "./errors.ts";
import { isRecord, jsonBytes } from "./json.ts";
import { nearest } from "./process/command-line.ts";

/** The ajv of the contracts: all issues at once, no coercion, defaults filled in, formats checked. That they are schemas is tested, not asked by every process that starts. */
const ajv = new Ajv2020({
  allErrors: true,
  coerceTypes: false,
  useDefaults: true,
  strict: true,
  allowUnionTypes: true,
  meta: false,
  validateSchema: false,
});
formats.default(ajv);
ajv.addVocabulary([...READERS_KEYWORDS]);
ajv.addKeyword({
  keyword: "x-maxBytes",
  schemaType: "number",
  validate: (most: number, value: unknown) => jsonBytes(value) <= most,
  error: { message: ({ schemaValue }) => str`must be at most ${schemaValue} bytes as JSON` },
});

const pathOf = (e: ErrorObject): string => {
  const missing = e.keyword === "required" ? `/${String(e.params["missingProperty"])}` : "";
  const extra = e.keyword === "additionalProperties" ? `/${String(e.params["additionalProperty"])}` : "";
  return `${e.instancePath}${missing}${extra}`.replace(/^\//, "").replaceAll("/", ".");
};

/** What is said of a field that a schema does not have begins so. */
export const UNKNOWN_FIELD = "is not a known field";

/** The object schema that a path of an error leads to, where it leads to one alone; null: none is known. */
function schemaAt(schema: unknown, instancePath: string): Record<string, unknown> | null {
  let at = schema;
  for (const step of instancePath.split("/").slice(1)) {
    if (!isRecord(at)) return null;
    const properties = isRecord(at["properties"]) ? at["properties"] : {};
    at = Object.hasOwn(properties, step) ? properties[step] : at["items"];
  }
  return isRecord(at) ? at : null;
}

/** Fields that are suggested for one value, and the longest name that one is sought for: whoever sends thousands of names must not cost us a comparison of each. */
const MAX_SUGGESTED = 3;
const MAX_NAME_CHARS = 40;

/** Suggests known fields that were probably meant. */
function suggestions(schema: unknown): (e: ErrorObject) => string {
  let left = MAX_SUGGESTED;
  return ({ keyword, instancePath, params }) => {
    const name = String(params["additionalProperty"]);
    if (keyword !== "additionalProperties" || name.length > MAX_NAME_CHARS || left === 0) return "";
    left -= 1;
    const properties = schemaAt(schema, instancePath)?.["properties"];
    const meant = isRecord(properties) ? nearest(name, Object.keys(properties)) : null;
    return meant === null ? "" : `; did you mean ${meant}?`;
  };
}

/** What is expected where a pattern or format does not hold, for who does not read regular expressions. */
const EXPECTED: ReadonlyMap<unknown, string> = new Map([
  [NOT_BLANK, "must not be blank"],
  [HOUR_MINUTE, "must be a time of day as HH:MM, such as 09:30"],
  ["date-time", "must be a time as ISO 8601, such as 2026-11-21T09:30:00Z"],
  ["email", "must be an e-mail address"],
  ["uuid", "must be a UUID"],
]);

const messageOf = (e: ErrorObject): string => {
  if (e.keyword === "required") return "is required";
  if (e.keyword === "additionalProperties") return UNKNOWN_FIELD;
  if (e.keyword === "minProperties" && e.params["limit"] === 1) return "must have at least one field";
  if (e.keyword === "enum") return `must be one of ${(e.params["allowedValues"] as unknown[]).join(", ")}`;
  const expected = e.keyword === "pattern" || e.keyword === "format" ? EXPECTED.get(e.params[e.keyword]) : undefined;
  if (expected !== undefined) return expected;
  return e.message ?? "is not valid";
};

const isAboutNull = (e: ErrorObject): boolean => e.keyword === "type" && e.params["type"] === "null";

/**
 * A field that may also be null fails three times: by its own schema, by not being null, and by fitting neither. Only the first says what to do. Returns which
 * errors those are; in time that grows with their number only.
 */
function redundancy(all: readonly ErrorObject[]): (e: ErrorObject) => boolean {
  const nullable = new Set(all.filter(isAboutNull).map((e) => e.instancePath));
  if (nullable.size === 0) return (e) => e.keyword === "if";
  /** Paths at which, or inside of which, there is an error that says what to do. */
  const told = new Set<string>();
  for (const { instancePath } of all.filter((e) => e.keyword !== "anyOf" && !isAboutNull(e)))
    for (let path = instancePath; !told.has(path); path = path.slice(0, path.lastIndexOf("/"))) told.add(path);
  return (e) =>
    e.keyword !== "anyOf" && !isAboutNull(e)
      ? e.keyword === "if"
      : nullable.has(e.instancePath) && told.has(e.instancePath);
}

/** ajv's errors as issues a person can read, one after the other. `schema`: what was checked by; absent: no field is suggested. */
export function* eachIssue(
  errors: readonly ErrorObject[] | null | undefined,
  schema?: unknown,
): Generator<ValidationIssue> {
  if (!errors) return;
  const isRedundant = redundancy(errors);
  const meant = suggestions(schema);
  for (const e of errors) if (!isRedundant(e)) yield { path: pathOf(e), message: `${messageOf(e)}${meant(e)}` };
}

/** All of ajv's errors as issues a person can read. */
export const issuesOf = (errors: readonly ErrorObject[] | null | undefined, schema?: unknown): ValidationIssue[] => [
  ...eachIssue(errors, schema),
];

const cache = new WeakMap<object, ValidateFunction>();

/** Compiled at the first check: a process is asked for few of its actions at once, and all of them together would hold up its start. */
function compiled(schema: Record<string, unknown>): ValidateFunction {
  const known = cache.get(schema);
  if (known) return known;
  const made = ajv.compile(schema);
  cache.set(schema, made);
  return made;
}

/** A check of single values by a contract's schema: the issues of a value, none when it is valid; as many as a message takes. */
export function issueChecker(schema: TSchema): (value: unknown) => ValidationIssue[] {
  return (value) => {
    const check = compiled(schema as Record<string, unknown>);
    return check(value) ? [] : boundedIssues(issuesOf(check.errors, schema));
  };
}
