/** Why a property can't be kept, to follow its path. */
export interface Unstorable {
  /** The property, as `payload.items[0].name`, from the value on. */
  path: string;
  message: string;
}

/** The name by which the database's driver takes an object for one of its own types: one from outside makes it throw, or stores something else. */
const DRIVER_TYPE = "_bsontype";

const whyNot = (key: string): string | null => {
  if (key === DRIVER_TYPE) return `is a name that the database keeps for itself; use another one than "${DRIVER_TYPE}"`;
  return key.includes("\0") ? "has a NUL character in its name" : null;
};

/** Longest path that is told. */
const MAX_PATH = 200;

/**
 * The first property anywhere in a JSON value that no document can hold, whose path begins with `at`; null: the value can be stored. What comes from
 * clients, from addresses that they name and from models passes this before it is part of a document. Works without recursion.
 */
export function unstorableIn(value: unknown, at = ""): Unstorable | null {
  const open: { value: unknown; path: string }[] = [{ value, path: at }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value: inner, path } = next;
    if (typeof inner !== "object" || inner === null) continue;
    const listed = Array.isArray(inner);
    for (const [key, property] of Object.entries(inner)) {
      const its = listed ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
      const message = listed ? null : whyNot(key);
      if (message !== null) return { path: its.replaceAll("\0", "\\0").slice(0, MAX_PATH), message };
      if (typeof property === "object" && property !== null) open.push({ value: property, path: its });
    }
  }
  return null;
}
