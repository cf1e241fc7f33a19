import { withoutMark } from "../../../shared/text/encoded-text.ts";
import { isRecord } from "../../../shared/json.ts";

/** Reads a carrier's JSON without believing any of it. */

/** The object, or an empty one. */
export const recordOf = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});

/** The list, or an empty one. */
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The text; null for anything else and for an empty one. */
export const textOf = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

/** The moment as ISO text with milliseconds (some write microseconds, some whole seconds); null for anything else. */
export function timeOf(value: unknown): string | null {
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

/** A whole number that came as one or as text; null for anything else. */
export function wholeOf(value: unknown): number | null {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0 ? value : null;
  return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : null;
}

/** Parsed JSON; null where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(withoutMark(text));
  } catch {
    return null;
  }
}
