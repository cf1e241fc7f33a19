import { collected, REST, resting, type Flow } from "../budget.ts";
import { StoreError } from "../bson/errors.ts";
import { compileExpression, type Scope } from "../expressions/expressions.ts";
import { compileFilter } from "../query/matcher.ts";
import { mingoStage } from "./mingo-stages.ts";
import { compileGroup } from "./group-stage.ts";
import { compileLookup, compileUnionWith, unwind } from "./join-stages.ts";
import { setField } from "../bson/paths.ts";
import { slice } from "../query/query-execution.ts";
import { sortBy } from "../query/sort.ts";
import { compileDocStage } from "../update/update-pipeline.ts";
import { asNumber, isDoc, type Doc, type Value } from "../bson/values.ts";
import { type Stage, type PipelineContext, subPipeline } from "./stage.ts";

/** MongoDB's bound on stages. */
const MAX_STAGES = 1000;
const REFUSED = new Set([
  "$changeStream",
  "$geoNear",
  "$search",
  "$searchMeta",
  "$vectorSearch",
  "$collStats",
  "$indexStats",
  "$planCacheStats",
  "$currentOp",
  "$listSessions",
  "$listLocalSessions",
]);

/** The name and argument of a stage. Errors: 40323 unless it has exactly one field. */
export function stageOf(stage: Doc): [string, Value] {
  const [entry, ...more] = Object.entries(stage);
  if (entry === undefined) return ["", null];
  if (more.length > 0)
    throw new StoreError(40323, "A pipeline stage specification object must contain exactly one field.");
  return entry;
}

function* filtered(docs: Flow<Doc>, test: (doc: Doc) => boolean): Generator<Doc | typeof REST, void> {
  for (const doc of docs) if (doc === REST || test(doc)) yield doc;
}

function* mapped(docs: Flow<Doc>, change: (doc: Doc) => Doc): Generator<Doc | typeof REST, void> {
  for (const doc of docs) yield doc === REST ? REST : change(doc);
}

function wholeNumber(stage: string, arg: Value, least: number): number {
  const n = asNumber(arg);
  if (n === undefined || !Number.isInteger(n) || n < least)
    throw new StoreError(15958, `the argument of ${stage} must be a whole number of at least ${least}`);
  return n;
}

function counting(arg: Value): Stage {
  if (typeof arg !== "string" || arg === "" || arg.startsWith("$") || arg.includes("."))
    throw new StoreError(40156, "the count field must be a non-empty string without '$' and '.'");
  return function* countAll(docs) {
    let n = 0;
    for (const doc of docs) {
      if (doc === REST) yield REST;
      else n++;
    }
    if (n > 0) yield { [arg]: n };
  };
}

function facet(arg: Value, site: PipelineContext): Stage {
  if (!isDoc(arg) || Object.keys(arg).length === 0)
    throw new StoreError(40169, "the $facet specification must be a non-empty object");
  const runs = Object.entries(arg).map(([name, pipeline]): [string, Stage] => [
    name,
    compilePipeline(subPipeline(pipeline, "$facet"), site),
  ]);
  return function* facets(docs) {
    const all = yield* collected(docs);
    const made: Doc = {};
    for (const [name, run] of runs) setField(made, name, yield* collected(run(all)));
    yield made;
  };
}

function sample(arg: Value): Stage {
  const size = wholeNumber("$sample", isDoc(arg) ? (arg["size"] ?? null) : null, 1);
  return function* sampled(docs) {
    const all = yield* collected(docs);
    const wanted = Math.min(size, all.length);
    for (let i = 0; i < wanted; i++) {
      const other = i + Math.floor(Math.random() * (all.length - i));
      const [a, b] = [all[i], all[other]];
      if (a !== undefined && b !== undefined) [all[i], all[other]] = [b, a];
    }
    yield* all.slice(0, wanted);
  };
}

function documents(arg: Value, scope: Scope): Stage {
  const made = compileExpression(arg, scope)({});
  if (!Array.isArray(made) || !made.every(isDoc))
    throw new StoreError(5858203, "an array of objects is expected in $documents");
  return () => made;
}

function sorting(arg: Value): Stage {
  if (!isDoc(arg) || Object.keys(arg).length === 0)
    throw new StoreError(15976, "$sort stage must have at least one sort key");
  return function* sorted(docs) {
    yield* sortBy(yield* collected(docs), arg, (doc) => doc);
  };
}

function sortByCount(arg: Value, site: PipelineContext): Stage {
  return compilePipeline([{ $group: { _id: arg, count: { $sum: 1 } } }, { $sort: { count: -1 } }], site);
}

function compileStage(name: string, arg: Value, site: PipelineContext, first: boolean): Stage {
  const { scope } = site;
  const single = compileDocStage(name, arg, scope);
  if (single !== undefined) return (docs) => mapped(docs, single);
  switch (name) {
    case "$match": {
      if (!isDoc(arg)) throw new StoreError(15959, "the match filter must be an expression in an object");
      const test = compileFilter(arg, scope);
      return (docs) => filtered(docs, test);
    }
    case "$sort":
      return sorting(arg);
    case "$limit": {
      const n = wholeNumber(name, arg, 1);
      return (docs) => slice(docs, 0, n);
    }
    case "$skip": {
      const n = wholeNumber(name, arg, 0);
      return (docs) => slice(docs, n, 0);
    }
    case "$group":
      return compileGroup(arg, scope);
    case "$count":
      return counting(arg);
    case "$sortByCount":
      return sortByCount(arg, site);
    case "$sample":
      return sample(arg);
    case "$unwind":
      return unwind(arg);
    case "$facet":
      return facet(arg, site);
    case "$lookup":
      return compileLookup(arg, site, compilePipeline);
    case "$unionWith":
      return compileUnionWith(arg, site, compilePipeline);
    case "$documents":
      if (!first) throw new StoreError(40602, "$documents is only valid as the first stage in a pipeline");
      return documents(arg, scope);
    case "$out":
    case "$merge":
      throw new StoreError(40601, `${name} can only be the final stage in the pipeline`);
    default:
      if (REFUSED.has(name))
        throw new StoreError("CommandNotSupported", `the stage ${name} is not supported by the embedded store`);
      return mingoStage(name, arg, site);
  }
}

/** Compiles a pipeline. Errors: 40324 for unknown stages, those of each stage. */
export function compilePipeline(pipeline: Doc[], site: PipelineContext): Stage {
  if (pipeline.length > MAX_STAGES)
    throw new StoreError(7749501, `Pipeline length must be no longer than ${MAX_STAGES} stages.`);
  const stages = pipeline.map((stage, i) => compileStage(...stageOf(stage), site, i === 0));
  return (docs) => stages.reduce((current, run) => resting(run(current), site.scope.budget), docs);
}
