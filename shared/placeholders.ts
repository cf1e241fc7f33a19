/** `{{name}}` is a variable, `{{secrets.name}}` a secret of the client. */
const PLACEHOLDER = /\{\{\s*(secrets\.)?([A-Za-z][A-Za-z0-9_]*)\s*\}\}/g;
const MAX_VALUE_CHARS = 2000;

/** Values by name; the first source that has the name wins. Inherited properties never count. */
export type Sources = readonly Readonly<Record<string, unknown>>[];

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** A list of texts, numbers and truth values as one says it: its items with commas between them. Items that have parts have no such form. */
const listText = (list: readonly unknown[]): string =>
  list.some(isObject)
    ? JSON.stringify(list)
    : list
        .filter((item) => item !== null && item !== "")
        .map(String)
        .join(", ");

/** The text form of a variable's value: empty for what is unknown or null, the items of a list with commas between them, JSON for objects and for lists of them. */
export function valueText(name: string, sources: Sources): string {
  const source = sources.find((s) => Object.hasOwn(s, name));
  const value = source?.[name];
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return listText(value).slice(0, MAX_VALUE_CHARS);
  const text = isObject(value) ? JSON.stringify(value) : String(value as string | number | boolean | bigint);
  return text.slice(0, MAX_VALUE_CHARS);
}

/** Values of secrets by name. Only a request to the client's own servers is rendered with any: elsewhere `{{secrets.name}}` stays as it is. */
export type SecretValues = ReadonlyMap<string, string>;
const NO_SECRETS: SecretValues = new Map();

const asItIs = (value: string): string => value;

/** Puts values in the place of {{name}}, and of {{secrets.name}} where its value is given, as `encode` writes them. Done once: what a value holds is never read as a template again. */
export const render = (
  text: string,
  sources: Sources,
  encode: (value: string, name: string) => string = asItIs,
  secrets: SecretValues = NO_SECRETS,
): string =>
  text.replace(PLACEHOLDER, (whole, secret: string | undefined, name: string) => {
    if (secret === undefined) return encode(valueText(name, sources), name);
    const value = secrets.get(name);
    return value === undefined ? whole : encode(value, name);
  });

const MAX_DEPTH = 8;

/** `render` for every text inside a JSON value; keys are left alone. A text that is one placeholder only takes the value itself. */
export function renderJson(value: unknown, sources: Sources, secrets: SecretValues = NO_SECRETS, depth = 0): unknown {
  if (depth > MAX_DEPTH) return null;
  if (typeof value === "string") {
    const whole = /^\{\{\s*([A-Za-z][A-Za-z0-9_]*)\s*\}\}$/.exec(value)?.[1];
    if (whole === undefined) return render(value, sources, asItIs, secrets);
    return sources.find((s) => Object.hasOwn(s, whole))?.[whole] ?? null;
  }
  if (Array.isArray(value)) return value.map((v) => renderJson(v, sources, secrets, depth + 1));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, renderJson(v, sources, secrets, depth + 1)]));
  return value;
}

/** Every {{secrets.name}} in the texts of a JSON value, each with its path below `path`. */
export function secretReferences(value: unknown, path: string): { path: string; name: string }[] {
  if (typeof value === "string")
    return [...value.matchAll(PLACEHOLDER)].flatMap(([, secret, name = ""]) => (secret ? [{ path, name }] : []));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => secretReferences(inner, `${path}.${key}`));
}

/** The secrets that the texts of JSON values use, each once. */
export const secretNames = (...values: unknown[]): string[] => [
  ...new Set(values.flatMap((value) => secretReferences(value, "").map(({ name }) => name))),
];
