import { withoutMark } from "./text/encoded-text.ts";

/** True for an object with fields: neither null nor an array. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The object that a text is the JSON of; null: it is none. */
export function recordIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(withoutMark(text));
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** The value where it is a text, else "". */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Bytes that a value takes as JSON; 0 for undefined, which JSON leaves out. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/** Deepest nesting of JSON that comes from outside: what is deeper only serves to break readers, and no document holds more than 100 levels. */
export const MAX_JSON_DEPTH = 64;

/** Whether objects and arrays of a JSON value are nested deeper than that. Works without recursion. */
export function isTooDeep(value: unknown): boolean {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value: inner, depth } = next;
    if (typeof inner !== "object" || inner === null) continue;
    if (depth > MAX_JSON_DEPTH) return true;
    for (const property of Object.values(inner)) open.push({ value: property, depth: depth + 1 });
  }
  return false;
}
