import { READERS_KEYWORDS } from "../../shared/contracts/define.ts";
import { isRecord } from "../../shared/json.ts";

/** A JSON Schema or contract as plain data. */
export type Plain = Record<string, unknown>;

/** Words of a schema that bound a value's size; in an answer they may change, since nobody checks answers. */
const BOUNDS = ["minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "maxProperties", "pattern", "format"]; // prettier-ignore
/** Words that are judged by themselves, or that say nothing to a reader. */
const NOT_COMPARED: readonly string[] = [
  "anyOf",
  "properties",
  "required",
  "items",
  "patternProperties",
  "additionalProperties",
  "description",
  "title",
  "examples",
  ...READERS_KEYWORDS,
];

const fieldsOf = (schema: Plain): Record<string, Plain> =>
  isRecord(schema["properties"]) ? (schema["properties"] as Record<string, Plain>) : {};
const requiredOf = (schema: Plain): string[] =>
  Array.isArray(schema["required"]) ? (schema["required"] as string[]) : [];

/** What is said with a schema: by a caller to a service, or by a service in its answer. */
export type Direction = "request" | "answer";

const schemasIn = (value: unknown): Plain[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** Changes of the schemas inside: of a list's items, of a map's values, of each shape of several. */
function changesInside(old: Plain, now: Plain, path: string, direction: Direction): string[] {
  const [shapes, others] = [schemasIn(old["anyOf"]), schemasIn(now["anyOf"])];
  const inner = (before: unknown, after: unknown, at: string): string[] =>
    isRecord(before) && isRecord(after) ? schemaChanges(before, after, at, direction) : [];
  const [values, othersValues] = [old["patternProperties"], now["patternProperties"]];
  return [
    ...(shapes.length === others.length
      ? shapes.flatMap((shape, i) => inner(shape, others[i], path))
      : [`${path} has other shapes`]),
    ...inner(old["items"], now["items"], `${path}[]`),
    ...inner(
      isRecord(values) ? Object.values(values)[0] : undefined,
      isRecord(othersValues) ? Object.values(othersValues)[0] : undefined,
      `${path}.*`,
    ),
  ];
}

/**
 * Why two versions that run side by side would misunderstand each other over a schema; each speaks and reads, so both ways are judged. New fields
 * that may be left out are understood; so is a field of a request that is gone, where it could be left out before.
 */
export function schemaChanges(old: Plain, now: Plain, path: string, direction: Direction): string[] {
  const [before, after] = [fieldsOf(old), fieldsOf(now)];
  const [hadTo, hasTo] = [requiredOf(old), requiredOf(now)];
  const own = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
    (word) =>
      !NOT_COMPARED.includes(word) && !word.startsWith("~") && !(direction === "answer" && BOUNDS.includes(word)),
  );
  return [
    ...own
      .filter((word) => JSON.stringify(old[word]) !== JSON.stringify(now[word]))
      .map((word) => `${path} has another ${word}`),
    ...Object.keys(after).filter((name) => !(name in before) && hasTo.includes(name)).map((name) => `${path}.${name} is new and required`), // prettier-ignore
    ...Object.keys(before).filter((name) => !(name in after) && (direction === "answer" || hadTo.includes(name))).map((name) => `${path}.${name} is gone`), // prettier-ignore
    ...Object.keys(before)
      .filter((name) => name in after && hadTo.includes(name) !== hasTo.includes(name))
      .map((name) => `${path}.${name} is ${hasTo.includes(name) ? "now" : "no longer"} required`),
    ...Object.entries(before).flatMap(([name, inner]) =>
      after[name] === undefined ? [] : schemaChanges(inner, after[name], `${path}.${name}`, direction),
    ),
    ...changesInside(old, now, path, direction),
  ];
}

const actionsOf = (contracts: unknown): Map<string, Plain> =>
  new Map(
    Object.entries(isRecord(contracts) ? contracts : {}).flatMap(([service, of]) =>
      Object.entries(isRecord(of) && isRecord(of["actions"]) ? of["actions"] : {}).flatMap(([name, action]) =>
        isRecord(action) ? [[`${service}.${name}`, action] as const] : [],
      ),
    ),
  );
const part = (action: Plain, name: string): Plain => (isRecord(action[name]) ? action[name] : {});

/** What in the actions of two neighbouring versions keeps them from running side by side. */
export function contractChanges(old: unknown, now: unknown): string[] {
  const current = actionsOf(now);
  return [...actionsOf(old)].flatMap(([name, before]) => {
    const after = current.get(name);
    if (after === undefined) return [`${name} is gone`];
    return [
      ...schemaChanges(part(before, "params"), part(after, "params"), name, "request"),
      ...schemaChanges(part(before, "result"), part(after, "result"), `${name} →`, "answer"),
    ];
  });
}

/** Actions that are new or were there before, and do not say so: `since` of a new one is this version, of another an older one. */
export function wrongSince(old: unknown, now: unknown, version: string): string[] {
  const before = actionsOf(old);
  return [...actionsOf(now)]
    .filter(([name, action]) => (action["since"] === version) === before.has(name))
    .map(([name]) => (before.has(name) ? `${name} was there before ${version}` : `${name} is new: since ${version}`));
}
