import { isRecord } from "../json.ts";
import { linearPattern } from "./linear-pattern.ts";

/**
 * How much work a client's schema can be. A part of a schema is held against each place of a value at most once; so checking a value takes time in proportion
 * to the schema's weight times the value's bytes. Pure.
 */

/** Keywords by which a part is reached more often than that, that take more time than that, or that write a value's own keys into what is told of its faults. */
const UNBOUNDED = new Set([
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
  "$id",
  "$schema",
  "uniqueItems",
  "propertyNames",
  "patternProperties",
]);
/** Keywords that are bounded where they only allow or forbid. */
const OPEN = new Set(["additionalProperties", "unevaluatedProperties"]);

function ofKeyword(key: string, value: unknown, most: number): number {
  if (UNBOUNDED.has(key) || (OPEN.has(key) && isRecord(value)) || (key === "format" && value === "regex"))
    return Infinity;
  if (key !== "pattern" || typeof value !== "string") return 0;
  const linear = linearPattern(value, most);
  return typeof linear === "string" ? Infinity : linear.size;
}

/** The weight of a schema; Infinity: it has no bound, or one above `most`. */
export function weightOf(schema: unknown, most: number): number {
  if (typeof schema !== "object" || schema === null) return 1;
  let sum = 1;
  for (const [key, value] of Object.entries(schema)) {
    sum += ofKeyword(Array.isArray(schema) ? "" : key, value, most - sum) + weightOf(value, most - sum);
    if (sum > most) return Infinity;
  }
  return sum;
}
