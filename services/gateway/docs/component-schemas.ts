import type { EventName } from "../../../shared/contracts/events/catalogue.ts";
import { isRecord } from "../../../shared/json.ts";
import type { Schema } from "../api/action-schema.ts";

/** The named schemas of a document, by name. */
export type Components = Record<string, Schema>;

/** Keywords of a contract's schema that are said in another way in the document. */
const SAID_OTHERWISE = new Set([
  "title",
  "x-about",
  "x-meanings",
  "x-default",
  "x-pattern",
  "patternProperties",
  "anyOf",
  "properties",
  "items",
]);
/** Patterns that every name matches. */
const ANY_NAME: readonly string[] = ["^.*$", "^(.*)$"];

/** The name of what a document has of a type of events: `lead.ended` -> `LeadEnded`. */
export const eventSchemaName = (type: EventName): string =>
  type.replaceAll(/(?:^|\.)([a-z])/g, (_, letter: string) => letter.toUpperCase());

const isText = (v: unknown): v is string => typeof v === "string";
const isNull = (schema: unknown): boolean => isRecord(schema) && schema["type"] === "null";

/** A description, and what each value of a closed set means. */
export function textOf(schema: Schema, text: unknown = schema["description"]): string {
  const meanings = schema["x-meanings"];
  const lines = isRecord(meanings)
    ? Object.entries(meanings).map(([value, what]) => `- \`${value}\`: ${String(what)}`)
    : [];
  return [...(isText(text) ? [text] : []), ...(lines.length > 0 ? [lines.join("\n")] : [])].join("\n\n");
}

const typesOf = (values: readonly unknown[]): string[] => [
  ...new Set(values.map((v) => (v === null ? "null" : typeof v))),
];

/** An object's free fields, as generators of other languages read them. */
function freeFields(schema: Schema, into: Components): Schema {
  const [first] = isRecord(schema["patternProperties"]) ? Object.entries(schema["patternProperties"]) : [];
  if (!first || !isRecord(first[1])) return {};
  const value = outward(first[1], into);
  return {
    additionalProperties: Object.keys(value).length === 0 ? true : value,
    ...(ANY_NAME.includes(first[0]) ? {} : { propertyNames: { pattern: first[0] } }),
  };
}

/** A schema that may be null too: one type more, or beside what it refers to. */
function withNull(schema: Schema): Schema {
  const { type, enum: values, $ref, ...said } = schema;
  if (isText($ref)) return { anyOf: [{ $ref }, { type: "null" }], ...said };
  if (!isText(type)) return { anyOf: [schema, { type: "null" }] };
  return { ...schema, type: [type, "null"], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}

function choice(options: readonly unknown[], into: Components): Schema {
  const shapes = options.filter(isRecord).filter((option) => !isNull(option));
  const [only] = shapes;
  const shape =
    only !== undefined && shapes.length === 1
      ? outward(only, into)
      : { anyOf: shapes.map((option) => outward(option, into)) };
  if (!options.some(isNull)) return shape;
  return "anyOf" in shape ? { anyOf: [...(shape["anyOf"] as Schema[]), { type: "null" }] } : withNull(shape);
}

/** What is said of a schema where it stands: meaning, default, example. */
function saidOf(schema: Schema): Schema {
  const text = textOf("title" in schema ? { description: schema["description"] } : schema);
  return {
    ...(text === "" ? {} : { description: text }),
    ...("x-pattern" in schema ? { pattern: schema["x-pattern"] } : {}),
    ...("x-default" in schema ? { default: schema["x-default"] } : {}),
    ...("examples" in schema ? { examples: schema["examples"] } : {}),
  };
}

function shapeOf(schema: Schema, into: Components): Schema {
  if (Array.isArray(schema["anyOf"])) return choice(schema["anyOf"], into);
  const { enum: values, properties, items } = schema;
  const kept = Object.entries(schema).filter(([word]) => !SAID_OTHERWISE.has(word));
  return {
    ...(Array.isArray(values) && schema["type"] === undefined ? { type: typesOf(values)[0] } : {}),
    ...Object.fromEntries(kept),
    ...(isRecord(properties)
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, inner]) => [name, isRecord(inner) ? outward(inner, into) : inner]),
          ),
        }
      : {}),
    ...(isRecord(items) ? { items: outward(items, into) } : {}),
    ...freeFields(schema, into),
  };
}

/**
 * A contract's schema as the document has it: a named one stands once among the components and is referred to; meanings, defaults and the values of closed
 * sets are said in the words that other programs know.
 */
export function outward(schema: Schema, into: Components): Schema {
  const { title } = schema;
  const said = saidOf(schema);
  if (!isText(title)) return { ...shapeOf(schema, into), ...said };
  const { description: _site, examples: _given, ...own } = schema;
  into[title] ??= { ...shapeOf(own, into), description: textOf(schema, schema["x-about"]) };
  return { $ref: `#/components/schemas/${title}`, ...said };
}

const TYPES = new Map([
  ["string", ["string"]],
  ["number", ["number", "integer"]],
  ["boolean", ["boolean"]],
  ["object", ["object"]],
]);
const isOfType = (schema: Schema, value: unknown): boolean =>
  [schema["type"]].flat().some((type) => isText(type) && TYPES.get(typeof value)?.includes(type) === true);
const tellsValues = (schema: Schema): boolean => ["examples", "enum", "const"].some((word) => word in schema);

/**
 * Gives the fields of a schema that show no value the one that they have in an example of the whole, down through what it refers to. The examples of operations
 * are answers of the services themselves (test/gateway/docs/documented-examples.test.ts), so a field shows what it really holds.
 */
export function showIn(schema: unknown, value: unknown, components: Components): void {
  if (!isRecord(schema) || value === null || value === undefined) return;
  const { $ref, properties, items, anyOf, additionalProperties: free } = schema;
  if (isText($ref)) return showIn(components[$ref.split("/").at(-1) ?? ""], value, components);
  if (Array.isArray(anyOf)) for (const option of anyOf) showIn(option, value, components);
  if (Array.isArray(value)) {
    for (const item of value) showIn(items, item, components);
  } else if (isRecord(value) && isRecord(properties ?? free)) {
    const named = isRecord(properties) ? properties : {};
    for (const [name, inner] of Object.entries(value)) showIn(named[name] ?? free, inner, components);
  } else if (isOfType(schema, value) && !tellsValues(schema)) schema["examples"] = [value];
}

/** Every named field below `part`, and every parameter: its name and its schema. */
export function* fieldsIn(part: unknown): Generator<[name: string, schema: Schema]> {
  if (Array.isArray(part)) for (const one of part) yield* fieldsIn(one);
  if (!isRecord(part)) return;
  const { name, schema, properties, example: _example, examples: _examples, ...rest } = part;
  if (isText(name) && isRecord(schema)) yield [name, schema];
  const named = isRecord(properties) ? properties : {};
  for (const [field, inner] of Object.entries(named)) if (isRecord(inner)) yield [field, inner];
  yield* fieldsIn([schema, ...Object.values(named), ...Object.values(rest)]);
}

/** What still shows no value shows that of a field of the same name: a name means one thing. */
export function shareExamples(part: unknown): void {
  const all = [...fieldsIn(part)];
  const shown = new Map<string, unknown[]>();
  for (const [name, { examples }] of all)
    if (Array.isArray(examples)) shown.set(name, [...(shown.get(name) ?? []), ...(examples as unknown[])]);
  for (const [name, schema] of all) {
    const value = tellsValues(schema) ? undefined : shown.get(name)?.find((one) => isOfType(schema, one));
    if (value !== undefined) schema["examples"] = [value];
  }
}
