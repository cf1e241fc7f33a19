import { collected, REST, type Flow } from "../budget.ts";
import { Aggregator } from "mingo";
import { refuseUnknown } from "../commands/command-arguments.ts";
import { StoreError } from "../bson/errors.ts";
import { prepareExpression } from "../expressions/expression-check.ts";
import { demoteDeep, promote } from "../expressions/expression-values.ts";
import { storeErrorOf } from "../expressions/expressions.ts";
import { mingoOptions, PLAIN_CONTEXT } from "../expressions/mingo-core.ts";
import type { PipelineContext, Stage } from "./stage.ts";
import { isDoc, type Doc, type Value } from "../bson/values.ts";

/** Stages left to mingo. Documents go through it as JavaScript values, so an integral double comes out as an integer. */
const STAGES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["$bucket", new Set(["groupBy", "boundaries", "default", "output"])],
  ["$bucketAuto", new Set(["groupBy", "buckets", "output", "granularity"])],
  ["$densify", new Set(["field", "partitionByFields", "range"])],
  ["$fill", new Set(["partitionBy", "partitionByFields", "sortBy", "output"])],
  [
    "$graphLookup",
    new Set([
      "from",
      "startWith",
      "connectFromField",
      "connectToField",
      "as",
      "maxDepth",
      "depthField",
      "restrictSearchWithMatch",
    ]),
  ],
  ["$setWindowFields", new Set(["partitionBy", "sortBy", "output"])],
  ["$redact", new Set()],
]);

function plainDocs(docs: Flow<Doc>): Record<string, unknown>[] {
  return [...docs].flatMap((doc) => {
    if (doc === REST) return [];
    const plain = demoteDeep(doc);
    return typeof plain === "object" && plain !== null ? [{ ...plain }] : [];
  });
}

/** One of the stages that mingo runs. Errors: 40324 for an unknown stage. */
export function mingoStage(name: string, arg: Value, site: PipelineContext): Stage {
  const known = STAGES.get(name);
  if (known === undefined) throw new StoreError(40324, `Unrecognized pipeline stage name: '${name}'`);
  if (name !== "$redact") {
    if (!isDoc(arg)) throw new StoreError("FailedToParse", `the specification of ${name} must be an object`);
    refuseUnknown(arg, name, known, false);
  }
  // $setWindowFields has operators that are no expressions (window functions): mingo checks those itself.
  const spec = name === "$setWindowFields" ? arg : withoutCheck(name, arg, site);
  return function* ran(docs) {
    const all = yield* collected(docs);
    try {
      const options = {
        ...mingoOptions(PLAIN_CONTEXT, site.scope.variables),
        collectionResolver: (from: string): Record<string, unknown>[] => plainDocs(site.read(from, { filter: {} })),
      };
      const out = new Aggregator([{ [name]: demoteDeep(spec) }], options).run(plainDocs(all));
      yield* out.flatMap((doc) => {
        const v = promote(doc);
        // $redact leaves a hole where it has pruned a whole document.
        return isDoc(v) ? [v] : [];
      });
    } catch (error) {
      throw storeErrorOf(error);
    }
  };
}

/** Accumulators and filters inside these stages are no expressions; everything else in them is checked. */
function withoutCheck(name: string, arg: Value, site: PipelineContext): Value {
  if (!isDoc(arg) || name === "$redact") return prepareExpression(arg, site.scope.now);
  const out: Doc = {};
  for (const [k, v] of Object.entries(arg))
    out[k] = k === "output" || k === "restrictSearchWithMatch" ? v : prepareExpression(v, site.scope.now);
  return out;
}
