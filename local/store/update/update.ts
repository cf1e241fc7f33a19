import { StoreError } from "../bson/errors.ts";
import { copyValue } from "../expressions/expression-values.ts";
import type { Scope } from "../expressions/expressions.ts";
import { identical, sameValue } from "../bson/comparison.ts";
import { compileFilter } from "../query/matcher.ts";
import { field, setField } from "../bson/paths.ts";
import { positionalOf } from "../query/positional.ts";
import { compileUpdatePipeline } from "./update-pipeline.ts";
import { UPDATE_OPERATORS } from "./update-operators.ts";
import type { Change } from "./update-operators.ts";
import { checkUpdatePath, visitTargets } from "./update-paths.ts";
import type { PathContext, Target } from "./update-paths.ts";
import { isDoc, typeAlias } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** A compiled update. `apply` never changes its input; the same object comes back when nothing changed. */
export interface Update {
  kind: "operators" | "replacement" | "pipeline";
  apply: (doc: Doc, inserting: boolean) => Doc;
}

/** Below it are digits, which order paths as numbers. */
const FIRST_LETTER = 65;

interface Step {
  path: string;
  root: string;
  creates: boolean;
  onInsertOnly: boolean;
  change: Change;
}

/** Compiles the `u` of an update command. Errors: FailedToParse for unknown operators, ConflictingUpdateOperators, and those of each operator. */
export function compileUpdate(u: Value, arrayFilters: Doc[], filter: Doc, scope: Scope): Update {
  if (Array.isArray(u)) {
    if (arrayFilters.length > 0)
      throw new StoreError("FailedToParse", "arrayFilters may not be specified for pipeline-syle updates");
    const run = compileUpdatePipeline(u, scope);
    return { kind: "pipeline", apply: (doc) => keepId(doc, run(doc)) };
  }
  if (!isDoc(u)) throw new StoreError("FailedToParse", "Update argument must be either an object or an array");
  const first = Object.keys(u)[0];
  if (first === undefined || !first.startsWith("$")) return replacement(u, arrayFilters);
  return operators(u, arrayFilters, filter, scope);
}

/** The refusal to change or remove an `_id`. */
export function immutableId(): StoreError {
  return new StoreError(
    "ImmutableField",
    "Performing an update on the path '_id' would modify the immutable field '_id'",
  );
}

/** Puts `_id` first and refuses to change it; an update without one keeps it. */
function keepId(old: Doc, changed: Doc): Doc {
  const id = old["_id"];
  if (id === undefined) return changed;
  const own = changed["_id"];
  if (own !== undefined && !sameValue(own, id)) throw immutableId();
  const out = Object.keys(changed)[0] === "_id" && identical(own, id) ? changed : { _id: id, ...withoutId(changed) };
  return identical(out, old) ? old : out;
}

function withoutId(doc: Doc): Doc {
  const out: Doc = {};
  for (const [k, v] of Object.entries(doc)) if (k !== "_id") setField(out, k, v);
  return out;
}

function replacement(u: Doc, arrayFilters: Doc[]): Update {
  if (arrayFilters.length > 0)
    throw new StoreError("FailedToParse", "Cannot specify arrayFilters and a replacement document");
  const dollar = Object.keys(u).find((k) => k.startsWith("$"));
  if (dollar !== undefined)
    throw new StoreError(
      "DollarPrefixedFieldName",
      `The dollar ($) prefixed field '${dollar}' in '${dollar}' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.`,
    );
  return { kind: "replacement", apply: (doc) => keepId(doc, u) };
}

function filtersOf(arrayFilters: Doc[], scope: Scope): Map<string, (v: Value) => boolean> {
  const filters = new Map<string, (v: Value) => boolean>();
  for (const f of arrayFilters) {
    const names = new Set(namesIn(f));
    const [name] = names;
    if (name === undefined)
      throw new StoreError("FailedToParse", "Cannot use an expression without a top-level field name in arrayFilters");
    if (names.size > 1)
      throw new StoreError(
        "FailedToParse",
        `Error parsing array filter :: caused by :: Expected a single top-level field name, found '${[...names].join("' and '")}'`,
      );
    if (!/^[a-z][A-Za-z0-9]*$/u.test(name))
      throw new StoreError(
        "BadValue",
        `Error parsing array filter :: caused by :: The top-level field name must be an alphanumeric string beginning with a lowercase letter, found '${name}'`,
      );
    if (filters.has(name))
      throw new StoreError("FailedToParse", `Found multiple array filters with the same top-level field name ${name}`);
    const test = compileFilter(f, scope);
    filters.set(name, (v) => test({ [name]: v }));
  }
  return filters;
}

function namesIn(filter: Doc): string[] {
  return Object.entries(filter).flatMap(([k, v]) => {
    if (!k.startsWith("$")) return [k.split(".")[0] ?? ""];
    return Array.isArray(v) ? v.flatMap((item) => (isDoc(item) ? namesIn(item) : [])) : [];
  });
}

function renameSteps(from: string, to: Value): { from: string; to: string } {
  if (typeof to !== "string")
    throw new StoreError("BadValue", `The 'to' field for $rename must be a string: ${from}: ${typeAlias(to)}`);
  if (from === to)
    throw new StoreError("BadValue", `The source and target field for $rename must differ: ${from}: "${to}"`);
  for (const path of [from, to])
    if (path.split(".").some((part) => part === "$" || part.startsWith("$[")))
      throw new StoreError("BadValue", `The source and destination field for $rename may not be dynamic: ${path}`);
  checkUpdatePath(to, new Set(), new Set());
  return { from, to };
}

function operators(u: Doc, arrayFilters: Doc[], filter: Doc, scope: Scope): Update {
  const filters = filtersOf(arrayFilters, scope);
  const names = new Set(filters.keys());
  const used = new Set<string>();
  const steps: Step[] = [];
  const renames: { from: string; to: string }[] = [];
  for (const [op, fields] of Object.entries(u)) {
    const operator = UPDATE_OPERATORS[op === "$setOnInsert" ? "$set" : op];
    if (operator === undefined && op !== "$rename")
      throw new StoreError(
        "FailedToParse",
        `Unknown modifier: ${op}. Expected a valid update modifier or pipeline-style update specified as an array`,
      );
    if (!isDoc(fields))
      throw new StoreError(
        "FailedToParse",
        `Modifiers operate on fields but we found type ${typeAlias(fields)} instead. For example: {$mod: {<field>: ...}} not {${op}: ${typeAlias(fields)}}`,
      );
    for (const [path, arg] of Object.entries(fields)) {
      checkUpdatePath(path, names, used);
      if (operator === undefined) renames.push(renameSteps(path, arg));
      else
        steps.push({
          path,
          root: rootOf(path),
          creates: operator.creates,
          onInsertOnly: op === "$setOnInsert",
          change: operator.compile(arg, path, scope),
        });
    }
  }
  for (const name of names)
    if (!used.has(name))
      throw new StoreError("FailedToParse", `The array filter for identifier '${name}' was not used in the update`);
  refuseConflicts([...steps.map((s) => s.path), ...renames.flatMap((r) => [r.from, r.to])]);
  steps.sort((a, b) => comparePaths(a.path, b.path));
  const finders = new Map<string, ReturnType<typeof positionalOf>>();
  const finderOf = (path: string): ReturnType<typeof positionalOf> => {
    const found = finders.get(path) ?? positionalOf(filter, path, scope);
    finders.set(path, found);
    return found;
  };
  return {
    kind: "operators",
    apply: (doc, inserting) =>
      applySteps(doc, steps, renames, { filters, positional: (path) => finderOf(path)(doc) }, inserting),
  };
}

function rootOf(path: string): string {
  const dot = path.indexOf(".");
  return dot === -1 ? path : path.slice(0, dot);
}

/** MongoDB applies an update in the order of the paths, so new fields come out in that order. */
function comparePaths(a: string, b: string): number {
  if (!a.includes(".") && !b.includes(".") && !(a.charCodeAt(0) < FIRST_LETTER && b.charCodeAt(0) < FIRST_LETTER))
    return a < b ? -1 : a > b ? 1 : 0;
  const [x, y] = [a.split("."), b.split(".")];
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const [p, q] = [x[i] ?? "", y[i] ?? ""];
    if (p === q) continue;
    const [m, n] = [Number(p), Number(q)];
    return Number.isInteger(m) && Number.isInteger(n) ? m - n : p < q ? -1 : 1;
  }
  return x.length - y.length;
}

function refuseConflicts(paths: string[]): void {
  const whole = new Set<string>();
  const prefixes = new Set<string>();
  for (const path of paths) {
    let at = whole.has(path) || prefixes.has(path) ? path : undefined;
    for (let dot = path.indexOf("."); dot !== -1; dot = path.indexOf(".", dot + 1)) {
      const above = path.slice(0, dot);
      if (whole.has(above)) at ??= above;
      prefixes.add(above);
    }
    if (at !== undefined)
      throw new StoreError(
        "ConflictingUpdateOperators",
        `Updating the path '${path}' would create a conflict at '${at}'`,
      );
    whole.add(path);
  }
}

/** The one place a path of $rename leads to; arrays are not on its way. */
function renamed(root: Doc, path: string, create: boolean, context: PathContext): Target | undefined {
  let v: Value | undefined = root;
  for (const name of path.split(".").slice(0, -1)) {
    v = isDoc(v) ? field(v, name) : v;
    if (Array.isArray(v))
      throw new StoreError("BadValue", `The source and target field of $rename cannot be an array element: '${path}'`);
    if (v !== undefined && !isDoc(v))
      throw new StoreError("PathNotViable", `cannot use the part '${name}' of '${path}': it is ${typeAlias(v)}`);
  }
  let found: Target | undefined;
  visitTargets(root, path, create, context, (t) => {
    found = t;
  });
  return found;
}

function applyRenames(out: Doc, renames: { from: string; to: string }[], context: PathContext): boolean {
  let changed = false;
  for (const { from, to } of renames) {
    const source = renamed(out, from, false, context);
    const value = source?.get();
    if (source === undefined || value === undefined) continue;
    source.remove();
    const target = renamed(out, to, true, context);
    target?.remove();
    target?.set(value);
    changed = true;
  }
  return changed;
}

function applySteps(
  doc: Doc,
  steps: Step[],
  renames: { from: string; to: string }[],
  context: PathContext,
  inserting: boolean,
): Doc {
  const out = { ...doc };
  // Only what an update touches is copied: all else is shared with the document before it, which nobody changes.
  for (const name of new Set([
    ...steps.map((s) => s.root),
    ...renames.flatMap((r) => [rootOf(r.from), rootOf(r.to)]),
  ])) {
    const v = field(out, name);
    if (typeof v === "object" && v !== null) setField(out, name, copyValue(v));
  }
  let changed = applyRenames(out, renames, context);
  for (const step of steps) {
    if (step.onInsertOnly && !inserting) continue;
    visitTargets(out, step.path, step.creates, context, (target) => {
      if (step.change(target)) changed = true;
    });
  }
  if (!changed) return doc;
  if (doc["_id"] !== undefined && out["_id"] === undefined) throw immutableId();
  return keepId(doc, out);
}
