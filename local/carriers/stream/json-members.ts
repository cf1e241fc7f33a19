const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** A member of an object that came over a socket; undefined where there is none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

/** A text in an object that came over a socket; null where there is none. */
export function textIn(value: unknown, name: string): string | null {
  const found = memberOf(value, name);
  return typeof found === "string" ? found : null;
}

/** The bytes of a base64 text; null when it is none. */
export const bytesOf = (text: string | null): Buffer | null =>
  text !== null && BASE64.test(text) ? Buffer.from(text, "base64") : null;
