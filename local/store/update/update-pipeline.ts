import { StoreError } from "../bson/errors.ts";
import { refuseUnknown } from "../commands/command-arguments.ts";
import { compileExpression } from "../expressions/expressions.ts";
import type { Scope } from "../expressions/expressions.ts";
import { field, fieldPath, setField } from "../bson/paths.ts";
import { compileProjection } from "../query/projection.ts";
import { isDoc, typeAlias } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** A stage that makes one document of one document. */
export type DocStage = (doc: Doc) => Doc;

type Fields = Map<string, Fields | ((root: Doc) => Value | undefined)>;

function fieldsOf(spec: Doc, scope: Scope, out: Fields = new Map()): Fields {
  for (const [path, v] of Object.entries(spec)) {
    const parts = fieldPath(path);
    const last = parts.pop() ?? "";
    let at = out;
    for (const part of parts) {
      const next = at.get(part) ?? new Map();
      if (!(next instanceof Map))
        throw new StoreError(40176, `specification contains two conflicting paths at '${path}'`);
      at.set(part, next);
      at = next;
    }
    if (at.has(last)) throw new StoreError(40176, `specification contains two conflicting paths at '${path}'`);
    const nested = isDoc(v) && Object.keys(v).length > 0 && !(Object.keys(v)[0] ?? "").startsWith("$");
    at.set(last, nested ? fieldsOf(v, scope) : compileExpression(v, scope));
  }
  return out;
}

/** Sets fields in a document, and in every element where an array is in the way, as $addFields does. */
function withFields(v: Value | undefined, fields: Fields, root: Doc): Value {
  if (Array.isArray(v)) return v.map((item) => withFields(item, fields, root));
  const out: Doc = isDoc(v) ? { ...v } : {};
  for (const [name, to] of fields) {
    const made = to instanceof Map ? withFields(field(out, name), to, root) : to(root);
    if (made === undefined) Reflect.deleteProperty(out, name);
    else setField(out, name, made);
  }
  return out;
}

function addFields(stage: string, arg: Value, scope: Scope): DocStage {
  if (!isDoc(arg)) throw new StoreError(40272, `${stage} specification stage must be an object, got ${typeAlias(arg)}`);
  const fields = fieldsOf(arg, scope);
  return (doc) => {
    const out = withFields(doc, fields, doc);
    return isDoc(out) ? out : doc;
  };
}

function replaceRoot(stage: string, arg: Value, scope: Scope): DocStage {
  if (stage === "$replaceRoot" && !isDoc(arg))
    throw new StoreError(40229, `expected an object as specification for $replaceRoot, got ${typeAlias(arg)}`);
  if (stage === "$replaceRoot" && isDoc(arg)) refuseUnknown(arg, stage, new Set(["newRoot"]), false);
  const expr = stage === "$replaceWith" ? arg : isDoc(arg) ? arg["newRoot"] : undefined;
  if (expr === undefined)
    throw new StoreError(40414, "BSON field '$replaceRoot.newRoot' is missing but a required field");
  const evaluate = compileExpression(expr, scope);
  return (doc) => {
    const made = evaluate(doc);
    if (!isDoc(made))
      throw new StoreError(
        40228,
        `'newRoot' expression must evaluate to an object, but resulting value was of type ${typeAlias(made)}`,
      );
    return made;
  };
}

function unset(arg: Value, scope: Scope): DocStage {
  const paths = Array.isArray(arg) ? arg : [arg];
  if (paths.length === 0 || !paths.every((p) => typeof p === "string"))
    throw new StoreError(31002, "$unset specification must be a string or an array of strings");
  return compileProjection(Object.fromEntries(paths.map((p) => [p, 0])), { inFind: false, filter: {}, scope });
}

/** Compiles $set/$addFields, $unset, $project, $replaceRoot/$replaceWith; undefined for any other stage. */
export function compileDocStage(stage: string, arg: Value, scope: Scope): DocStage | undefined {
  switch (stage) {
    case "$set":
    case "$addFields":
      return addFields(stage, arg, scope);
    case "$unset":
      return unset(arg, scope);
    case "$replaceRoot":
    case "$replaceWith":
      return replaceRoot(stage, arg, scope);
    case "$project":
      if (!isDoc(arg) || Object.keys(arg).length === 0)
        throw new StoreError(51272, "$project specification must be a non-empty object");
      return compileProjection(arg, { inFind: false, filter: {}, scope });
    default:
      return undefined;
  }
}

/** Compiles an update given as a pipeline. Errors: InvalidOptions for stages an update may not have. */
export function compileUpdatePipeline(pipeline: Value[], scope: Scope): DocStage {
  const stages = pipeline.map((stage) => {
    const [name, ...more] = isDoc(stage) ? Object.keys(stage) : [];
    if (!isDoc(stage) || name === undefined || more.length > 0)
      throw new StoreError(40323, "A pipeline stage specification object must contain exactly one field.");
    const run = compileDocStage(name, stage[name] ?? null, scope);
    if (run === undefined) throw new StoreError("InvalidOptions", `${name} is not allowed to be used within an update`);
    return run;
  });
  return (doc) => stages.reduce((current, run) => run(current), doc);
}
