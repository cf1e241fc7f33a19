import { propertiesOf, requiredOf, type Schema } from "../api/action-schema.ts";
import { escapeHtml } from "../../../shared/html/page-parts.ts";
import { isRecord } from "../../../shared/json.ts";

/** How deep fields inside fields are shown. */
const MAX_DEPTH = 4;

const isText = (v: unknown): v is string => typeof v === "string";
const optionsOf = (schema: Schema): Schema[] =>
  Array.isArray(schema["anyOf"]) ? schema["anyOf"].filter(isRecord) : [];
/** The name of a schema that is shown once, elsewhere on the page. */
export const nameOf = (schema: Schema): string | null =>
  isText(schema["title"]) && "x-about" in schema ? schema["title"] : null;

/** A schema's type as text: `integer, 1 to 500`, `one of a, b`, `array of text or null`, `Lead`. */
export function typeText(schema: Schema, naming: (name: string) => string = (name) => name): string {
  const name = nameOf(schema);
  if (name !== null) return naming(name);
  const options = optionsOf(schema);
  if (options.length > 0) return options.map((option) => typeText(option, naming)).join(" or ");
  if (Array.isArray(schema["enum"])) return `one of ${schema["enum"].map(String).join(", ")}`;
  if ("const" in schema) return JSON.stringify(schema["const"]);
  const { type, format, minimum, maximum, maxLength, maxItems, pattern = schema["x-pattern"], items } = schema;
  if (type === "array")
    return `array of ${isRecord(items) ? typeText(items, naming) : "anything"}${typeof maxItems === "number" ? `, at most ${maxItems}` : ""}`;
  const base = isText(type) ? type : "anything";
  const bounds =
    typeof minimum === "number" && typeof maximum === "number"
      ? `, ${minimum} to ${maximum}`
      : typeof minimum === "number"
        ? `, at least ${minimum}`
        : "";
  const length = typeof maxLength === "number" ? `, up to ${maxLength} characters` : "";
  return `${base}${isText(format) ? ` (${format})` : ""}${bounds}${length}${isText(pattern) ? `, like ${pattern}` : ""}`;
}

/** One row of a field table. */
export interface FieldLine {
  name: string;
  schema: Schema;
  required: boolean;
}

/** A schema's fields, those of nested objects and arrays under dotted names; not those of named schemas, which are shown once. */
export function fieldLines(schema: Schema, prefix = "", depth = 1): FieldLine[] {
  const required = requiredOf(schema);
  return Object.entries(propertiesOf(schema)).flatMap(([name, inner]) => {
    const line = { name: `${prefix}${name}`, schema: inner, required: required.includes(name) };
    const object = [inner, ...optionsOf(inner)].find((s) => s["type"] === "object" && nameOf(s) === null) ?? null;
    const items = isRecord(inner["items"]) && nameOf(inner["items"]) === null ? inner["items"] : null;
    if (depth >= MAX_DEPTH || nameOf(inner) !== null) return [line];
    return [
      line,
      ...(object ? fieldLines(object, `${prefix}${name}.`, depth + 1) : []),
      ...(items ? fieldLines(items, `${prefix}${name}[].`, depth + 1) : []),
    ];
  });
}

/** The first of the schema and its shapes beside null that says this. */
const said = (schema: Schema, word: string): unknown => [schema, ...optionsOf(schema)].find((s) => word in s)?.[word];

/** What is said of a schema: meaning, values, default, an example. `whole`: it is the place where a named schema is shown. */
export function meaningHtml(schema: Schema, whole = false): string {
  const text = whole ? schema["x-about"] : said(schema, "description");
  const meanings = whole || nameOf(schema) === null ? said(schema, "x-meanings") : null;
  const standard = said(schema, "x-default");
  const [example] = [said(schema, "examples")].flat();
  const code = (value: unknown): string => `<code>${escapeHtml(isText(value) ? value : JSON.stringify(value))}</code>`;
  return [
    isText(text) ? escapeHtml(text) : "",
    isRecord(meanings)
      ? `<ul class="values">${Object.entries(meanings)
          .map(([value, what]) => `<li>${code(value)}: ${escapeHtml(String(what))}</li>`)
          .join("")}</ul>`
      : "",
    standard === undefined ? "" : ` Default: ${code(standard)}.`,
    example === undefined ? "" : ` Example: ${code(example)}`,
  ].join("");
}

/** A schema's type with links to the named schemas in it. */
export const typeHtml = (schema: Schema): string =>
  escapeHtml(typeText(schema, (name) => `[[${name}]]`)).replaceAll(
    /\[\[(\w+)\]\]/g,
    (_, name: string) => `<a href="#schema-${name}">${name}</a>`,
  );

/** A table of fields: name, type and meaning. */
export const fieldTable = (lines: readonly (FieldLine & { in?: string })[]): string =>
  `<table class="fields"><thead><tr><th>Field</th><th>Type and meaning</th></tr></thead><tbody>${lines
    .map(
      (line) =>
        `<tr><td><code>${escapeHtml(line.name)}</code>${line.in === undefined ? "" : ` <span class="type">${line.in}</span>`}${line.required ? ' <span class="must">required</span>' : ""}</td><td><span class="type">${typeHtml(line.schema)}</span><br>${meaningHtml(line.schema)}</td></tr>`,
    )
    .join("")}</tbody></table>`;

/** Every named schema in these, by name. */
export function namedIn(schemas: readonly unknown[]): Map<string, Schema> {
  const found = new Map<string, Schema>();
  const look = (schema: unknown): void => {
    if (Array.isArray(schema)) return schema.forEach(look);
    if (!isRecord(schema)) return;
    const name = nameOf(schema);
    if (name !== null && !found.has(name)) found.set(name, schema);
    Object.values(schema).forEach(look);
  };
  look(schemas);
  return new Map([...found].sort(([a], [b]) => a.localeCompare(b)));
}
