import { isRecord } from "../json.ts";
import { linearPattern } from "./linear-pattern.ts";

/**
 * How much work a client's schema can be. A part of a schema is held against each place of a value at most once, however the parts that it refers to are
 * reached; so checking a value takes time in proportion to the schema's weight times the value's bytes. Pure.
 */

/** Keywords by which parts find each other otherwise than by place, and one whose work grows with the square of the value. */
const UNBOUNDED = new Set([
  "$dynamicRef",
  "$dynamicAnchor",
  "$anchor",
  "$recursiveRef",
  "$recursiveAnchor",
  "uniqueItems",
]);

const unescaped = (part: string): string => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");

/** What a reference of the schema points at; undefined: nothing. */
function targetOf(root: unknown, ref: string): unknown {
  if (ref !== "#" && !ref.startsWith("#/")) return undefined;
  try {
    return ref
      .split("/")
      .slice(1)
      .reduce<unknown>((at, part) => {
        const key = unescaped(part);
        if (Array.isArray(at)) return at[Number(key)] as unknown;
        return isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined;
      }, root);
  } catch {
    return undefined; // a broken percent sign
  }
}

function patternWeight(pattern: string): number {
  const linear = linearPattern(pattern);
  return typeof linear === "string" ? Infinity : linear.size;
}

/** The weight of a schema with all that it refers to; Infinity: it has no bound, or one above `most`. */
export function weightOf(schema: unknown, most: number): number {
  const known = new Map<object, number>();
  /** Of the keyword and its value, what lies in it aside. */
  const ofKeyword = (key: string, value: unknown): number => {
    if (UNBOUNDED.has(key) || key === "$id") return Infinity;
    if (key === "pattern" && typeof value === "string") return patternWeight(value);
    if (key === "patternProperties" && isRecord(value))
      return Object.keys(value).reduce((sum, pattern) => sum + patternWeight(pattern), 0);
    if (key !== "$ref" || typeof value !== "string") return 0;
    const target = targetOf(schema, value);
    return target === undefined ? Infinity : of(target);
  };
  const of = (part: unknown): number => {
    if (typeof part !== "object" || part === null) return 1;
    const before = known.get(part);
    if (before !== undefined) return before;
    known.set(part, Infinity); // as long as it is being weighed: whatever leads back to it has no end
    let sum = 1;
    for (const [key, value] of Object.entries(part)) {
      sum += ofKeyword(Array.isArray(part) ? "" : key, value) + of(value);
      if (sum > most) break;
    }
    const weight = sum > most ? Infinity : sum;
    known.set(part, weight);
    return weight;
  };
  return of(schema);
}
