/** True for an object with fields: neither null nor an array. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The object that a text is the JSON of; null: it is none. */
export function recordIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** The value where it is a text, else "". */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Bytes that a value takes as JSON; 0 for undefined, which JSON leaves out. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");
