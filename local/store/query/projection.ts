import { StoreError } from "../bson/errors.ts";
import { compileExpression } from "../expressions/expressions.ts";
import type { Scope } from "../expressions/expressions.ts";
import { elementTest } from "./matcher.ts";
import { field, setField } from "../bson/paths.ts";
import { positionalOf } from "./positional.ts";
import { asNumber, isDoc, isNumeric, isTrue } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** What happens to one field: kept, dropped, computed from the document, or made from its own value. */
type Leaf =
  | { kind: "keep" }
  | { kind: "drop" }
  | { kind: "compute"; value: (root: Doc) => Value | undefined }
  | { kind: "reshape"; value: (v: Value | undefined, root: Doc) => Value | undefined };
type Node = Leaf | { kind: "inside"; fields: Map<string, Node> };

/** Gives each document the shape a projection asks for. */
export type Projection = (doc: Doc) => Doc;

/** Where a projection stands: find has `$slice`, `$elemMatch` and positional forms of its own, $project has not. */
export interface ProjectionSite {
  inFind: boolean;
  filter: Doc;
  scope: Scope;
}

function place(root: Map<string, Node>, path: string, leaf: Leaf): void {
  const parts = path.split(".");
  let fields = root;
  for (const [i, part] of parts.entries()) {
    if (part === "") throw new StoreError(15998, "FieldPath field names may not be empty strings.");
    if (part.startsWith("$"))
      throw new StoreError(16410, `FieldPath field names may not start with '$', given '${path}'.`);
    const there = fields.get(part);
    if (i === parts.length - 1) {
      if (there !== undefined) throw new StoreError(31250, `Path collision at ${path}`);
      fields.set(part, leaf);
    } else {
      if (there !== undefined && there.kind !== "inside")
        throw new StoreError(31249, `Path collision at ${path} remaining portion ${parts.slice(i + 1).join(".")}`);
      const next: Node = there ?? { kind: "inside", fields: new Map() };
      fields.set(part, next);
      fields = next.fields;
    }
  }
}

function slicing(arg: Value): (v: Value | undefined) => Value | undefined {
  const [first, second] = (Array.isArray(arg) ? arg : [arg]).map((v) => asNumber(v));
  if (first === undefined) throw new StoreError(28724, "$slice takes a number, or two");
  if (second === undefined) return (v) => (Array.isArray(v) ? (first < 0 ? v.slice(first) : v.slice(0, first)) : v);
  if (second <= 0) throw new StoreError(28724, "the second argument of $slice must be positive");
  return (v) => {
    if (!Array.isArray(v)) return v;
    const start = first < 0 ? Math.max(0, v.length + first) : first;
    return v.slice(start, start + second);
  };
}

function findOperator(op: string, arg: Value, site: ProjectionSite): Leaf | undefined {
  if (op === "$slice" && (isNumeric(arg) || (Array.isArray(arg) && arg.every(isNumeric))))
    return { kind: "reshape", value: slicing(arg) };
  if (op === "$meta") throw new StoreError("CommandNotSupported", "$meta is not supported by the embedded store");
  if (op !== "$elemMatch") return undefined;
  if (!isDoc(arg)) throw new StoreError(31274, "elemMatch: Invalid argument, object required");
  const test = elementTest(arg, site.scope);
  return {
    kind: "reshape",
    value: (v) => {
      const found = Array.isArray(v) ? v.find((item) => test(item)) : undefined;
      return found === undefined ? undefined : [found];
    },
  };
}

/** Collects the leaves of a specification; nested documents without operators are paths. */
function collect(spec: Doc, prefix: string, site: ProjectionSite, out: Map<string, Leaf>): void {
  for (const [name, v] of Object.entries(spec)) {
    const path = prefix + name;
    if (typeof v === "boolean" || isNumeric(v)) out.set(path, { kind: isTrue(v) ? "keep" : "drop" });
    else if (isDoc(v) && Object.keys(v).length === 0)
      throw new StoreError(51270, "An empty sub-projection is not a valid value. Found empty object at path");
    else if (isDoc(v) && !(Object.keys(v)[0] ?? "").startsWith("$")) collect(v, `${path}.`, site, out);
    else {
      const [op, arg] = isDoc(v) ? (Object.entries(v)[0] ?? []) : [];
      const own = site.inFind && op !== undefined && arg !== undefined ? findOperator(op, arg, site) : undefined;
      out.set(path, own ?? { kind: "compute", value: compileExpression(v, site.scope) });
    }
  }
}

function positionalLeaf(path: string, site: ProjectionSite): Leaf {
  const find = positionalOf(site.filter, path, site.scope);
  return {
    kind: "reshape",
    value: (v, root) => {
      if (!Array.isArray(v)) return v;
      const index = find(root);
      if (index === undefined)
        throw new StoreError(
          51246,
          "Executor error during find command: positional operator '.$' couldn't find a matching element in the array",
        );
      return v.slice(index, index + 1);
    },
  };
}

/** Compiles a projection of find or the argument of $project. Errors: MongoDB's for mixed, colliding or unknown parts. */
export function compileProjection(spec: Doc, site: ProjectionSite): Projection {
  const leaves = new Map<string, Leaf>();
  collect(spec, "", site, leaves);
  const root = new Map<string, Node>();
  const kinds = new Set<string>();
  for (const [path, leaf] of leaves) {
    const positional = site.inFind && path.endsWith(".$");
    const target = positional ? path.slice(0, -2) : path;
    place(root, target, positional ? positionalLeaf(target, site) : leaf);
    if (path === "_id" && leaf.kind === "drop") continue;
    if (path === "_id" && leaf.kind === "keep" && leaves.size > 1) continue;
    if (positional) kinds.add("keep");
    else if (leaf.kind !== "reshape") kinds.add(leaf.kind === "drop" ? "drop" : "keep");
    else if (isElemMatch(spec, path)) kinds.add("keep");
  }
  if (kinds.has("keep") && kinds.has("drop"))
    throw new StoreError(31254, "Cannot do exclusion on a field in inclusion projection, or the other way round");
  const onlyIdKept = leaves.size === 1 && leaves.get("_id")?.kind === "keep";
  const including = kinds.has("keep") || onlyIdKept;
  if (including && root.get("_id") === undefined) root.set("_id", { kind: "keep" });
  return (doc) => shape(doc, root, including, doc);
}

function isElemMatch(spec: Doc, path: string): boolean {
  const v = spec[path];
  return isDoc(v) && v["$elemMatch"] !== undefined;
}

function shape(doc: Doc, fields: Map<string, Node>, including: boolean, root: Doc): Doc {
  const out: Doc = {};
  for (const [name, v] of Object.entries(doc)) {
    const node = fields.get(name);
    const kept = node === undefined ? (including ? undefined : v) : shapeField(v, node, including, root);
    if (kept !== undefined) setField(out, name, kept);
  }
  addComputed(out, doc, fields, root);
  return out;
}

function shapeField(v: Value, node: Node, including: boolean, root: Doc): Value | undefined {
  switch (node.kind) {
    case "keep":
      return v;
    case "drop":
    case "compute":
      return undefined;
    case "reshape":
      return node.value(v, root);
    default:
      return shapeInside(v, node.fields, including, root);
  }
}

function shapeInside(v: Value, fields: Map<string, Node>, including: boolean, root: Doc): Value | undefined {
  if (isDoc(v)) return shape(v, fields, including, root);
  if (!Array.isArray(v)) return including ? undefined : v;
  return v.flatMap((item) => {
    const kept = shapeInside(item, fields, including, root);
    return kept === undefined ? [] : [kept];
  });
}

function hasComputed(node: Node): boolean {
  return node.kind === "compute" || (node.kind === "inside" && [...node.fields.values()].some(hasComputed));
}

/** Computed fields come after the kept ones, in the order of the specification; missing parents are made. */
function addComputed(out: Doc, doc: Doc, fields: Map<string, Node>, root: Doc): void {
  for (const [name, node] of fields) {
    if (node.kind === "compute") {
      const v = node.value(root);
      if (v !== undefined) setField(out, name, v);
    } else if (
      node.kind === "inside" &&
      hasComputed(node) &&
      !isDoc(field(doc, name)) &&
      !Array.isArray(field(doc, name))
    ) {
      const made = shape({}, node.fields, true, root);
      setField(out, name, made);
    }
  }
}
