import { REST, type Budget, type Flow, type Slices } from "../budget.ts";
import { refuseUnknown } from "../commands/command-arguments.ts";
import { StoreError } from "../bson/errors.ts";
import { MAX_DOCUMENT_BYTES } from "../bson/bson-writer.ts";
import { checkVariableName, measured } from "../expressions/expression-values.ts";
import { compileExpression, type Scope } from "../expressions/expressions.ts";
import { fieldPath, setField, visitPath } from "../bson/paths.ts";
import { subPipeline, type CompilePipeline, type PipelineContext, type Stage } from "./stage.ts";
import { isDoc, isTrue, typeAlias, type Doc, type Value } from "../bson/values.ts";
import { BSONRegExp, Long } from "bson";

const LOOKUP = new Set(["from", "localField", "foreignField", "as", "let", "pipeline"]);
const UNWIND = new Set(["path", "includeArrayIndex", "preserveNullAndEmptyArrays"]);

function text(arg: Doc, name: string, stage: string): string {
  const v = arg[name];
  if (typeof v !== "string" || v === "")
    throw new StoreError("FailedToParse", `${stage} argument '${name}' must be a string, is type ${typeAlias(v)}`);
  return v;
}

/** A copy of `doc` with `value` at a dotted path; the documents on the way are copied, the others shared. */
export function withPath(doc: Doc, path: readonly string[], value: Value | undefined, at = 0): Doc {
  const out: Doc = { ...doc };
  const name = path[at] ?? "";
  if (at === path.length - 1) {
    if (value === undefined) Reflect.deleteProperty(out, name);
    else setField(out, name, value);
    return out;
  }
  const child = Object.hasOwn(out, name) ? out[name] : undefined;
  setField(out, name, withPath(isDoc(child) ? child : {}, path, value, at + 1));
  return out;
}

/** What a foreign field must equal for a document to join: null and missing alike, each element of an array by itself. */
function joinFilter(doc: Doc, local: string[], foreign: string): Doc {
  const values: Value[] = [];
  visitPath(doc, local, (v) => {
    if (Array.isArray(v)) values.push(...v);
    else values.push(v ?? null);
    return false;
  });
  // A regular expression in $in would match by pattern; a join compares values.
  const regexes = values.filter((v) => v instanceof BSONRegExp).map((v): Doc => ({ [foreign]: { $eq: v } }));
  const others: Doc = { [foreign]: { $in: values.filter((v) => !(v instanceof BSONRegExp)) } };
  return regexes.length === 0 ? others : { $or: [others, ...regexes] };
}

/** $lookup by equality, by pipeline, or both; the equality goes through the foreign collection's indexes. */
export function compileLookup(arg: Value, site: PipelineContext, compilePipeline: CompilePipeline): Stage {
  if (!isDoc(arg))
    throw new StoreError("FailedToParse", `the $lookup specification must be an object, not ${typeAlias(arg)}`);
  refuseUnknown(arg, "$lookup", LOOKUP, false);
  const from = text(arg, "from", "$lookup");
  const as = fieldPath(text(arg, "as", "$lookup"));
  const byField = arg["localField"] !== undefined || arg["foreignField"] !== undefined;
  const local = byField ? fieldPath(text(arg, "localField", "$lookup")) : [];
  const foreign = byField ? fieldPath(text(arg, "foreignField", "$lookup")).join(".") : "";
  const pipeline = arg["pipeline"] === undefined ? undefined : subPipeline(arg["pipeline"], "$lookup");
  if (!byField && pipeline === undefined)
    throw new StoreError(
      "FailedToParse",
      "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified",
    );
  const own: Doc = { ...site.scope.variables };
  if (arg["let"] !== undefined && !isDoc(arg["let"]))
    throw new StoreError("TypeMismatch", `the 'let' of $lookup must be an object, not ${typeAlias(arg["let"])}`);
  const bind = variables(arg["let"], own, site.scope);
  const run =
    pipeline === undefined
      ? undefined
      : compilePipeline(pipeline, { ...site, scope: { ...site.scope, variables: own } });
  return function* lookup(docs) {
    for (const doc of docs) {
      if (doc === REST) {
        yield REST;
        continue;
      }
      bind(doc);
      const found = site.read(from, { filter: byField ? joinFilter(doc, local, foreign) : {} });
      yield withPath(doc, as, yield* joined(run === undefined ? found : run(found), from, site.scope.budget));
    }
  };
}

/** What `let` binds for each document; the pipeline is compiled once and reads `own`. */
function variables(let_: Value | undefined, own: Doc, scope: Scope): (doc: Doc) => void {
  const each = Object.entries(isDoc(let_) ? let_ : {}).map(([name, e]): [string, (doc: Doc) => Value | undefined] => {
    checkVariableName(name, true);
    return [name, compileExpression(e, scope)];
  });
  for (const [name] of each) setField(own, name, null);
  return (doc) => {
    for (const [name, evaluate] of each) {
      const v = evaluate(doc);
      if (v === undefined) Reflect.deleteProperty(own, name);
      else setField(own, name, v);
    }
  };
}

/** The documents that join one document. Errors: 4568 when they are more than a document holds. */
function* joined(found: Flow<Doc>, from: string, budget: Budget): Slices<Doc[]> {
  const all: Doc[] = [];
  let bytes = 0;
  for (const doc of found) {
    if (doc === REST) {
      yield REST;
      continue;
    }
    bytes += measured(doc, budget);
    if (bytes > MAX_DOCUMENT_BYTES)
      throw new StoreError(
        4568,
        `Total size of documents in ${from} matching pipeline's $lookup stage exceeds ${MAX_DOCUMENT_BYTES} bytes`,
      );
    all.push(doc);
  }
  return all;
}

/** $unionWith */
export function compileUnionWith(arg: Value, site: PipelineContext, compilePipeline: CompilePipeline): Stage {
  const spec: Doc = typeof arg === "string" ? { coll: arg } : isDoc(arg) ? arg : {};
  refuseUnknown(spec, "$unionWith", new Set(["coll", "pipeline"]), false);
  const coll = text(spec, "coll", "$unionWith");
  const run = compilePipeline(spec["pipeline"] === undefined ? [] : subPipeline(spec["pipeline"], "$unionWith"), site);
  return function* union(docs) {
    yield* docs;
    yield* run(site.read(coll, { filter: {} }));
  };
}

/** $unwind */
export function unwind(arg: Value): Stage {
  const spec: Doc = isDoc(arg) ? arg : { path: arg };
  refuseUnknown(spec, "$unwind", UNWIND, false);
  const given = text(spec, "path", "$unwind");
  if (!given.startsWith("$"))
    throw new StoreError(28818, `path option to $unwind stage should be prefixed with a '$': ${given}`);
  const path = fieldPath(given.slice(1));
  const keep = isTrue(spec["preserveNullAndEmptyArrays"]);
  const index =
    spec["includeArrayIndex"] === undefined ? undefined : fieldPath(text(spec, "includeArrayIndex", "$unwind"));
  const numbered = (doc: Doc, n: Value): Doc => (index === undefined ? doc : withPath(doc, index, n));
  return function* unwound(docs) {
    for (const doc of docs) {
      if (doc === REST) {
        yield REST;
        continue;
      }
      let v: Value | undefined = doc;
      for (const name of path) v = isDoc(v) && Object.hasOwn(v, name) ? v[name] : undefined;
      if (Array.isArray(v) && v.length > 0)
        for (const [i, item] of v.entries()) yield numbered(withPath(doc, path, item), Long.fromNumber(i));
      else if (Array.isArray(v)) {
        if (keep) yield numbered(withPath(doc, path, undefined), null);
      } else if (keep || (v !== undefined && v !== null)) yield numbered(doc, null);
    }
  };
}
