import { StoreError } from "../bson/errors.ts";
import { arrayIndex, field, setField } from "../bson/paths.ts";
import { isDoc, typeAlias } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** MongoDB's bound on the nulls an update may add to reach an array index. */
const MAX_ARRAY_PADDING = 1_500_000;

/** What positional components of a path refer to during one update of one document. */
export interface PathContext {
  /** The element that the filter matched, for `$`: path of the array → index. */
  positional: (arrayPath: string) => number | undefined;
  /** The filters behind `$[name]`. */
  filters: ReadonlyMap<string, (element: Value) => boolean>;
}

/** One place an update writes to: a field of a document or an element of an array. */
export interface Target {
  get(): Value | undefined;
  set(v: Value): void;
  remove(): void;
}

function describe(v: Value): string {
  return `of type ${typeAlias(v)}`;
}

function docTarget(doc: Doc, name: string): Target {
  return {
    get: () => field(doc, name),
    set: (v) => setField(doc, name, v),
    remove: () => {
      Reflect.deleteProperty(doc, name);
    },
  };
}

function arrayTarget(items: Value[], index: number): Target {
  return {
    get: () => items[index],
    set: (v) => {
      if (index - items.length > MAX_ARRAY_PADDING)
        throw new StoreError(1, `can't backfill more than ${MAX_ARRAY_PADDING} elements of an array`);
      while (items.length < index) items.push(null);
      items[index] = v;
    },
    // MongoDB leaves null behind, so that the other elements keep their places.
    remove: () => {
      if (index < items.length) items[index] = null;
    },
  };
}

/**
 * Visits every place a path leads to. With `create`, missing documents on the way are made.
 * Errors: PathNotViable where a scalar is in the way, BadValue for positional components that do not apply.
 */
export function visitTargets(
  root: Doc,
  path: string,
  create: boolean,
  context: PathContext,
  visit: (t: Target) => void,
): void {
  const parts = path.split(".");
  const step = (container: Value, i: number): void => {
    for (const target of targetsOf(container, parts, i, create, context)) {
      if (i === parts.length - 1) {
        visit(target);
        continue;
      }
      let child = target.get();
      if (child === undefined) {
        if (!create) continue;
        const next = parts[i + 1] ?? "";
        if (next.startsWith("$")) throw mustExist(parts, i + 1);
        child = {};
        target.set(child);
      }
      step(child, i + 1);
    }
  };
  step(root, 0);
}

function mustExist(parts: string[], i: number): StoreError {
  return new StoreError(
    "BadValue",
    `The path '${parts.slice(0, i).join(".")}' must exist in the document in order to apply array updates.`,
  );
}

function targetsOf(container: Value, parts: string[], i: number, create: boolean, context: PathContext): Target[] {
  const name = parts[i] ?? "";
  const positional = name === "$" || name.startsWith("$[");
  if (Array.isArray(container)) {
    if (positional) return elementsOf(container, parts, i, context).map((n) => arrayTarget(container, n));
    const index = arrayIndex(name);
    if (index !== undefined) return [arrayTarget(container, index)];
  } else if (isDoc(container) && !positional) return [docTarget(container, name)];
  if (positional) {
    if (isDoc(container) || i === 0) throw mustExist(parts, i);
    throw new StoreError(
      "BadValue",
      `Cannot apply array updates to non-array element ${parts.slice(0, i).join(".")} ${describe(container)}`,
    );
  }
  if (!create) return [];
  throw new StoreError(
    "PathNotViable",
    `Cannot create field '${name}' in element {${parts[i - 1] ?? ""}: …} ${describe(container)}`,
  );
}

function elementsOf(items: Value[], parts: string[], i: number, context: PathContext): number[] {
  const name = parts[i] ?? "";
  if (name === "$") {
    const index = context.positional(parts.slice(0, i).join("."));
    if (index === undefined)
      throw new StoreError("BadValue", "The positional operator did not find the match needed from the query.");
    return [index];
  }
  const test = context.filters.get(name.slice(2, -1));
  return items.flatMap((item, n) => (test === undefined || test(item) ? [n] : []));
}

/** Checks a path of an update as it is parsed. Errors: EmptyFieldName, DollarPrefixedFieldName, BadValue for an unknown filter name. */
export function checkUpdatePath(path: string, filterNames: ReadonlySet<string>, used: Set<string>): void {
  if (path === "") throw new StoreError("EmptyFieldName", "An empty update path is not valid.");
  for (const [i, part] of path.split(".").entries()) {
    if (part === "")
      throw new StoreError(
        "EmptyFieldName",
        `The update path '${path}' contains an empty field name, which is not allowed.`,
      );
    if (!part.startsWith("$")) continue;
    const name = /^\$\[([a-z][A-Za-z0-9]*)?\]$/u.exec(part);
    if (part !== "$" && name === null)
      throw new StoreError(
        "DollarPrefixedFieldName",
        `The dollar ($) prefixed field '${part}' in '${path}' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.`,
      );
    if (i === 0)
      throw new StoreError(
        "BadValue",
        `Cannot have array filter identifier (i.e. '$[<id>]') or '$' element in the first position in path '${path}'`,
      );
    const id = name?.[1];
    if (id === undefined) continue;
    if (!filterNames.has(id))
      throw new StoreError("BadValue", `No array filter found for identifier '${id}' in path '${path}'`);
    used.add(id);
  }
}
