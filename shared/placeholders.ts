const PLACEHOLDER = /\{\{\s*([A-Za-z][A-Za-z0-9_]*)\s*\}\}/g;
const MAX_VALUE_CHARS = 2000;

/** Values by name; the first source that has the name wins. Inherited properties never count. */
export type Sources = readonly Readonly<Record<string, unknown>>[];

/** The text form of a variable's value: empty for what is unknown or null, JSON for lists and objects. */
export function valueText(name: string, sources: Sources): string {
  const source = sources.find((s) => Object.hasOwn(s, name));
  const value = source?.[name];
  if (value === undefined || value === null) return "";
  const text =
    typeof value === "string"
      ? value
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value as number | boolean | bigint);
  return text.slice(0, MAX_VALUE_CHARS);
}

/** Puts values in the place of {{name}}. Done once: what a value holds is never read as a template again. */
export const render = (text: string, sources: Sources, encode: (value: string) => string = (v) => v): string =>
  text.replace(PLACEHOLDER, (_whole, name: string) => encode(valueText(name, sources)));

const MAX_DEPTH = 8;

/** `render` for every text inside a JSON value; keys are left alone. A text that is one placeholder only takes the value itself. */
export function renderJson(value: unknown, sources: Sources, depth = 0): unknown {
  if (depth > MAX_DEPTH) return null;
  if (typeof value === "string") {
    const whole = /^\{\{\s*([A-Za-z][A-Za-z0-9_]*)\s*\}\}$/.exec(value)?.[1];
    if (whole === undefined) return render(value, sources);
    return sources.find((s) => Object.hasOwn(s, whole))?.[whole] ?? null;
  }
  if (Array.isArray(value)) return value.map((v) => renderJson(v, sources, depth + 1));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, renderJson(v, sources, depth + 1)]));
  return value;
}
