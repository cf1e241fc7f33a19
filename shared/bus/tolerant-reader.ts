import type { Static, TSchema } from "../contracts/define.ts";
import type { ValidationIssue } from "../errors.ts";
import { isRecord } from "../json.ts";
import { issueChecker } from "../validator.ts";

/** A message as a service reads it: without the fields that its contract does not name, and what is wrong with the rest. */
export interface Reading<T = unknown> {
  value: T;
  /** Where the fields were that were left out, `orders[].priority`; each place once. */
  unknown: string[];
  issues: ValidationIssue[];
}

type Schema = Record<string, unknown>;
type Drop = (path: string) => void;

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);
const schemasIn = (value: unknown): Schema[] => (Array.isArray(value) ? value.filter(isRecord) : []);

function knownOfObject(schema: Schema, value: Record<string, unknown>, path: string, drop: Drop): unknown {
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  const others = isRecord(schema["patternProperties"]) ? Object.values(schema["patternProperties"]) : [];
  const closed = schema["additionalProperties"] === false && others.length === 0;
  const kept: [string, unknown][] = [];
  for (const [name, inner] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name) ? properties[name] : others[0];
    if (isRecord(known)) kept.push([name, knownOf(known, inner, join(path, name), drop)]);
    else if (closed) drop(join(path, name));
    else kept.push([name, inner]);
  }
  return Object.fromEntries(kept);
}

/** Of several shapes the one that the value has once its unknown fields are gone, with the fewest of them; where it has none, the value as it is. */
function knownOfUnion(shapes: readonly Schema[], value: unknown, path: string, drop: Drop): unknown {
  const fitting = shapes.flatMap((shape) => {
    const dropped: string[] = [];
    const kept = knownOf(shape, value, path, (at) => dropped.push(at));
    return issueChecker(shape as TSchema)(kept).length === 0 ? [{ kept, dropped }] : [];
  });
  const [best] = fitting.sort((a, b) => a.dropped.length - b.dropped.length);
  best?.dropped.forEach(drop);
  return best ? best.kept : value;
}

function knownOf(schema: Schema, value: unknown, path: string, drop: Drop): unknown {
  if (typeof value !== "object" || value === null) return value;
  const shapes = schemasIn(schema["anyOf"]);
  if (shapes.length > 0) return knownOfUnion(shapes, value, path, drop);
  const items = schema["items"];
  if (Array.isArray(value)) return isRecord(items) ? value.map((v) => knownOf(items, v, `${path}[]`, drop)) : value;
  return isRecord(value) ? knownOfObject(schema, value, path, drop) : value;
}

/**
 * How a service reads what another one sent, which may be of a later version: fields that the contract does not name are left out and named, never
 * refused. A message without such fields is checked once and costs nothing more. What comes from outside is checked strictly, by the gateway.
 */
export function tolerantReader<S extends TSchema>(schema: S): (value: unknown) => Reading<Static<S>> {
  const issuesOf = issueChecker(schema);
  const as = (value: unknown): Static<S> => value as Static<S>; // what has issues is not read by anyone
  return (sent) => {
    const issues = issuesOf(sent);
    if (issues.length === 0) return { value: as(sent), unknown: [], issues };
    const unknown = new Set<string>();
    const value = knownOf(schema as Schema, sent, "", (at) => unknown.add(at));
    return unknown.size === 0
      ? { value: as(sent), unknown: [], issues }
      : { value: as(value), unknown: [...unknown], issues: issuesOf(value) };
  };
}
