import { REST, resting, type Flow, type Slices } from "../budget.ts";
import { encode, type Reply } from "../bson/bson-writer.ts";
import {
  countArgument,
  docArgument,
  hintArgument,
  refuseCollation,
  refuseOptions,
  refuseUnknown,
  scopeOf,
} from "./command-arguments.ts";
import type { Call } from "./context.ts";
import { StoreError } from "../bson/errors.ts";
import type { Scope } from "../expressions/expressions.ts";
import { compilePipeline, stageOf } from "../pipeline/pipeline.ts";
import { held, type PipelineContext } from "../pipeline/stage.ts";
import { mergeTarget, outTarget } from "../pipeline/output-stages.ts";
import type { Query } from "../planner/query-plan.ts";
import { countMatches, prepare, type Prepared } from "../query/query-execution.ts";
import { asNumber, isDoc, type Doc, type Value } from "../bson/values.ts";

const FIELDS = new Set([
  "aggregate",
  "pipeline",
  "cursor",
  "explain",
  "allowDiskUse",
  "bypassDocumentValidation",
  "hint",
  "collation",
  "let",
]);

/** An aggregate command read and planned. */
export interface PlannedAggregate {
  prepared: Prepared | undefined;
  docs: () => Flow<Doc>;
  ns: string;
}

/** Takes the stages at the head of a pipeline that the planner can do: $match, $sort, $skip/$limit only as a hint of how much is wanted. */
function head(pipeline: Doc[]): { query: Query; rest: Doc[] } {
  const filters: Doc[] = [];
  let at = 0;
  for (; at < pipeline.length; at++) {
    const match = pipeline[at]?.["$match"];
    if (!isDoc(match)) break;
    filters.push(match);
  }
  const filter = filters.length === 1 ? (filters[0] ?? {}) : filters.length === 0 ? {} : { $and: filters };
  const sort = pipeline[at]?.["$sort"];
  if (!isDoc(sort) || Object.keys(sort).length === 0) return { query: { filter }, rest: pipeline.slice(at) };
  const wanted = asNumber(pipeline[at + 1]?.["$limit"] ?? null);
  return { query: { filter, sort, ...(wanted === undefined ? {} : { wanted }) }, rest: pipeline.slice(at + 1) };
}

/** The count that countDocuments asks for: [$match …, {$group: {_id: 1, n: {$sum: 1}}}], with $skip and $limit before it. */
function isPlainCount(rest: Doc[]): boolean {
  const [only, ...more] = rest;
  const group = only?.["$group"];
  if (!isDoc(group) || more.length > 0 || Object.keys(group).join() !== "_id,n" || group["_id"] !== 1) return false;
  const n = group["n"];
  return isDoc(n) && n["$sum"] === 1;
}

function source(call: Call, name: string, query: Query, scope: Scope): Prepared {
  return prepare(call.engine.storage, call.engine.catalog.find(call.db, name), query, scope);
}

function* docsOf(prepared: Prepared): Generator<Doc | typeof REST, void> {
  for (const m of prepared.run()) yield m === REST ? REST : m.doc;
}

function site(call: Call, scope: Scope): PipelineContext {
  return { scope, read: (name, query) => docsOf(source(call, name, query, scope)) };
}

/** Reads and plans an aggregate command, for aggregate itself and for explain. */
export function planAggregate(call: Call): PlannedAggregate {
  const { command } = call;
  refuseUnknown(command, "aggregate", FIELDS);
  refuseCollation(command);
  const stages = pipelineOf(command);
  const scope = scopeOf(call);
  const hint = hintArgument(command);
  const from = command["aggregate"];
  if (typeof from !== "string") {
    if (stageOf(stages[0] ?? {})[0] !== "$documents")
      throw new StoreError(
        "InvalidNamespace",
        "{aggregate: 1} is not valid for a pipeline that does not start with $documents here",
      );
    return {
      prepared: undefined,
      docs: () => compilePipeline(stages, site(call, scope))([]),
      ns: `${call.db}.$cmd.aggregate`,
    };
  }
  const { query, rest } = head(stages);
  const hinted: Query = { ...query, ...(hint === undefined ? {} : { hint }) };
  const ns = `${call.db}.${from}`;
  const prepared = source(call, from, hinted, scope);
  const collection = call.engine.catalog.find(call.db, from);
  if (collection !== undefined && query.sort === undefined && isPlainCount(rest)) {
    return {
      prepared,
      ns,
      docs: function* counted() {
        const n = yield* countMatches(call.engine.storage, collection, hinted, scope);
        if (n > 0) yield { _id: 1, n };
      },
    };
  }
  const run = compilePipeline(rest, site(call, scope));
  return { prepared, docs: () => run(docsOf(prepared)), ns };
}

function pipelineOf(command: Doc): Doc[] {
  const pipeline: Value | undefined = command["pipeline"];
  if (!Array.isArray(pipeline)) throw new StoreError("TypeMismatch", "'pipeline' option must be specified as an array");
  return pipeline.map((stage) => {
    if (!isDoc(stage)) throw new StoreError("TypeMismatch", "Each element of the 'pipeline' array must be an object");
    return stage;
  });
}

function* encoded(docs: Flow<Doc>): Generator<Uint8Array | typeof REST, void> {
  for (const doc of docs) yield doc === REST ? REST : encode(doc);
}

/** aggregate */
export function* aggregate(call: Call): Slices<Reply> {
  const { command } = call;
  const stages = pipelineOf(command);
  refuseOptions(command, ["explain"]);
  const cursor = docArgument(command, "cursor");
  if (cursor === undefined)
    throw new StoreError(
      "FailedToParse",
      "The 'cursor' option is required, except for aggregate with the explain argument",
    );
  refuseUnknown(cursor, "aggregate.cursor", new Set(["batchSize"]), false);
  const [last, arg] = stageOf(stages.at(-1) ?? {});
  const output = last === "$out" || last === "$merge";
  const planned = planAggregate(output ? { ...call, command: { ...command, pipeline: stages.slice(0, -1) } } : call);
  if (!output)
    return yield* call.engine.cursors.first(
      call,
      planned.ns,
      encoded(planned.docs()),
      countArgument(cursor, "batchSize"),
    );
  const write = last === "$out" ? outTarget(call, arg) : mergeTarget(call, arg);
  // All results first: the collection written may be one that is read.
  yield* write(resting(yield* held(planned.docs(), call.budget), call.budget));
  return yield* call.engine.cursors.first(call, planned.ns, [][Symbol.iterator](), undefined);
}

/** True when an aggregate command writes ($out, $merge): it must not be explained by running it. */
export function writesOutput(command: Doc): boolean {
  const [last] = stageOf(pipelineOf(command).at(-1) ?? {});
  return last === "$out" || last === "$merge";
}
