import { REST, resting, type Flow } from "../budget.ts";
import { StoreError } from "../bson/errors.ts";
import { compileExpression, type Scope } from "../expressions/expressions.ts";
import { elsewhere } from "../expressions/operator.ts";
import { compileFilter } from "../query/matcher.ts";
import { compileGroup } from "./group-stage.ts";
import { compileLookup, compileUnionWith, unwind } from "./join-stages.ts";
import { fieldPath, setField } from "../bson/paths.ts";
import { slice } from "../query/query-execution.ts";
import { sortInSlices } from "../query/sort.ts";
import { compileDocStage } from "../update/update-pipeline.ts";
import { asNumber, isDoc, type Doc, type Value } from "../bson/values.ts";
import { held, type Stage, type PipelineContext, subPipeline } from "./stage.ts";

/** MongoDB's bound on stages. */
const MAX_STAGES = 1000;
/** The stages of the embedded store; $out and $merge are done by the aggregate command. README's list is compared with it. */
export const STAGES =
  "$match $project $set $addFields $unset $replaceRoot $replaceWith $group $sort $limit $skip $count $sortByCount $unwind $lookup $unionWith $facet $sample $documents $out $merge".split(
    " ",
  );
/** The stages of the store that $facet may not have. */
const NOT_IN_FACET = new Set(["$facet", "$documents", "$out", "$merge"]);
/** The stages that MongoDB has and the embedded store has not. */
const ELSEWHERE = new Set(
  `$bucket $bucketAuto $changeStream $changeStreamSplitLargeEvent $collStats $currentOp $densify $fill $geoNear $graphLookup
  $indexStats $listClusterCatalog $listLocalSessions $listSampledQueries $listSearchIndexes $listSessions $planCacheStats
  $querySettings $queryStats $rankFusion $redact $score $scoreFusion $search $searchMeta $setWindowFields $shardedDataDistribution
  $vectorSearch`.split(/\s+/u),
);

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

function wholeNumber(stage: string, arg: Value, least: number, [type, range]: readonly [number, number]): number {
  const n = asNumber(arg);
  if (n === undefined || !Number.isInteger(n))
    throw new StoreError(type, `the argument of ${stage} must be a whole number`);
  if (n < least) throw new StoreError(range, `the argument of ${stage} must be at least ${least}`);
  return n;
}

function counting(arg: Value): Stage {
  if (typeof arg !== "string") throw new StoreError(40156, "the count field must be a string");
  if (arg === "") throw new StoreError(40157, "the count field cannot be an empty string");
  if (arg.startsWith("$")) throw new StoreError(40158, "the count field cannot be a $-prefixed path");
  if (arg.includes("\0")) throw new StoreError(40159, "the count field cannot contain a null byte");
  if (arg.includes(".")) throw new StoreError(40160, "the count field cannot contain '.'");
  if (arg === "_id") throw new StoreError(9039800, "the count field cannot be '_id'");
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
  const runs = Object.entries(arg).map(([name, spec]): [string, Stage] => {
    if (fieldPath(name).length > 1) throw new StoreError(16412, `a field of $facet may not contain '.': ${name}`);
    const pipeline = subPipeline(spec, "$facet");
    const refused = pipeline.map((stage) => stageOf(stage)[0]).find((stage) => NOT_IN_FACET.has(stage));
    if (refused !== undefined)
      throw new StoreError(40600, `${refused} is not allowed to be used within a $facet stage`);
    return [name, compilePipeline(pipeline, site)];
  });
  return function* facets(docs) {
    const all = yield* held(docs, site.scope.budget);
    const made: Doc = {};
    for (const [name, run] of runs) setField(made, name, yield* held(run(all), site.scope.budget));
    yield made;
  };
}

function sample(arg: Value, { budget }: Scope): Stage {
  if (!isDoc(arg)) throw new StoreError(28745, "the $sample stage specification must be an object");
  const unknown = Object.keys(arg).find((k) => k !== "size");
  if (unknown !== undefined) throw new StoreError(28748, `unrecognized option to $sample: ${unknown}`);
  if (arg["size"] === undefined) throw new StoreError(28749, "$sample stage must specify a size");
  const size = wholeNumber("$sample", arg["size"], 1, [28746, 28747]);
  return function* sampled(docs) {
    const all = yield* held(docs, budget);
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

function sorting(arg: Value, { budget }: Scope): Stage {
  if (!isDoc(arg) || Object.keys(arg).length === 0)
    throw new StoreError(15976, "$sort stage must have at least one sort key");
  return function* sorted(docs) {
    yield* sortInSlices(yield* held(docs, budget), arg, (doc) => doc, budget);
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
      return sorting(arg, scope);
    case "$limit": {
      const n = wholeNumber(name, arg, 1, [5107201, 15958]);
      return (docs) => slice(docs, 0, n);
    }
    case "$skip": {
      const n = wholeNumber(name, arg, 0, [5107200, 5107200]);
      return (docs) => slice(docs, n, 0);
    }
    case "$group":
      return compileGroup(arg, scope);
    case "$count":
      return counting(arg);
    case "$sortByCount":
      return sortByCount(arg, site);
    case "$sample":
      return sample(arg, scope);
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
      throw ELSEWHERE.has(name)
        ? elsewhere(name)
        : new StoreError(40324, `Unrecognized pipeline stage name: '${name}'`);
  }
}

/** Compiles a pipeline. Errors: 40324 for unknown stages, those of each stage. */
export function compilePipeline(pipeline: Doc[], site: PipelineContext): Stage {
  if (pipeline.length > MAX_STAGES)
    throw new StoreError(7749501, `Pipeline length must be no longer than ${MAX_STAGES} stages.`);
  const stages = pipeline.map((stage, i) => compileStage(...stageOf(stage), site, i === 0));
  return (docs) => stages.reduce((current, run) => resting(run(current), site.scope.budget), docs);
}
