import { REST, type Budget, type Flow, type Slices } from "../budget.ts";
import { StoreError } from "../bson/errors.ts";
import { typeAlias, isDoc, type Doc, type Value } from "../bson/values.ts";
import { measured } from "../expressions/expression-values.ts";
import type { Scope } from "../expressions/expressions.ts";
import type { Query } from "../planner/query-plan.ts";

/** A stage, or a whole pipeline: documents in, documents out. It passes on the rests of what it reads. */
export type Stage = (docs: Flow<Doc>) => Flow<Doc>;

/** Where a pipeline runs: its variables, and other collections of its database. */
export interface PipelineContext {
  scope: Scope;
  read: (collection: string, query: Query) => Flow<Doc>;
}

/** Compiles a pipeline; stages that hold pipelines of their own are given it. */
export type CompilePipeline = (pipeline: Doc[], site: PipelineContext) => Stage;

/** A pipeline inside a stage. */
export function subPipeline(v: Value | undefined, stage: string): Doc[] {
  if (!Array.isArray(v) || !v.every(isDoc))
    throw new StoreError("TypeMismatch", `the pipeline in ${stage} must be an array of objects, not ${typeAlias(v)}`);
  return v;
}

/** All documents of a flow, for a stage that needs them together. Errors: 292 when they are too much for the memory. */
export function* held(docs: Flow<Doc>, budget: Budget): Slices<Doc[]> {
  const all: Doc[] = [];
  for (const doc of docs) {
    if (doc === REST) {
      yield REST;
      continue;
    }
    budget.hold(measured(doc, budget));
    all.push(doc);
  }
  return all;
}
