import { StoreError } from "./errors.ts";
import { isDoc } from "./values.ts";
import type { Doc, Value } from "./values.ts";

const INDEX = /^(?:0|[1-9][0-9]{0,8})$/u;

/** The array index a path component names, or undefined. */
export function arrayIndex(name: string): number | undefined {
  return INDEX.test(name) ? Number(name) : undefined;
}

/** MongoDB's bound on the length of a field path. */
const MAX_PATH = 200;
/** Fields of a reference to a document, which paths may name. */
const DBREF = new Set(["$ref", "$id", "$db"]);

/** The names of a field path of an expression or a stage. `whole`: as the client wrote it. Errors: MongoDB's codes for what is no path. */
export function fieldPath(path: string, whole = path): string[] {
  if (whole === "") throw new StoreError(40352, "FieldPath cannot be constructed with empty string");
  if (whole.endsWith(".")) throw new StoreError(40353, `FieldPath must not end with a '.': '${whole}'`);
  const parts = path.split(".");
  if (parts.length > MAX_PATH) throw new StoreError("Overflow", `FieldPath is longer than ${MAX_PATH} names`);
  for (const [i, part] of parts.entries()) {
    if (part === "") throw new StoreError(15998, "FieldPath field names may not be empty strings.");
    if (part.startsWith("$") && !(i > 0 && DBREF.has(part)))
      throw new StoreError(
        16410,
        `FieldPath field names may not start with '$': '${whole}'. Consider using $getField.`,
      );
    if (part.includes("\0")) throw new StoreError(16411, "FieldPath field names may not contain null bytes.");
  }
  return parts;
}

/** A field of a document; never something inherited from Object.prototype. */
export function field(doc: Doc, name: string): Value | undefined {
  return Object.hasOwn(doc, name) ? doc[name] : undefined;
}

/** Sets a field, also one named `__proto__`, at the end when it is new. */
export function setField(doc: Doc, name: string, value: Value): void {
  if (name === "__proto__")
    Object.defineProperty(doc, name, { value, enumerable: true, writable: true, configurable: true });
  else doc[name] = value;
}

/**
 * Calls `visit` with every value a dotted path leads to, going into the elements of arrays on the way as MongoDB's matcher does
 * (a numeric component names an element and, in embedded documents, a field). A missing end is visited as undefined;
 * an array on the way that holds no document is not visited at all, so it is neither null nor anything else.
 * `visit` returns true to stop; so does this function then. An array at the end is given whole.
 */
export function visitPath(
  doc: Value | undefined,
  path: readonly string[],
  visit: (v: Value | undefined) => boolean,
  from = 0,
): boolean {
  let v = doc;
  for (let i = from; i < path.length; i++) {
    if (Array.isArray(v)) return visitArray(v, path, visit, i);
    if (!isDoc(v)) return visit(undefined);
    v = field(v, path[i] ?? "");
  }
  return visit(v);
}

function visitArray(
  items: Value[],
  path: readonly string[],
  visit: (v: Value | undefined) => boolean,
  from: number,
): boolean {
  const index = arrayIndex(path[from] ?? "");
  if (index !== undefined && index < items.length && visitPath(items[index], path, visit, from + 1)) return true;
  for (const item of items) {
    if (isDoc(item) && visitPath(item, path, visit, from)) return true;
  }
  return false;
}
