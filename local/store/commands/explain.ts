import { Long } from "bson";
import { REST, type Flow, type Slices } from "../budget.ts";
import type { Reply } from "../bson/bson-writer.ts";
import { planAggregate, writesOutput } from "./aggregate.ts";
import { docArgument, docsArgument, hintArgument, scopeOf, stringArgument } from "./command-arguments.ts";
import type { Call } from "./context.ts";
import { StoreError } from "../bson/errors.ts";
import { findAndModifyCollection } from "./find-and-modify.ts";
import { indexDocument } from "../indexes/index-definition.ts";
import type { Plan } from "../planner/query-plan.ts";
import { prepare, type Prepared } from "../query/query-execution.ts";
import { planFind } from "./reads.ts";
import { isDoc, type Doc } from "../bson/values.ts";

const VERBOSITY = new Set(["queryPlanner", "executionStats", "allPlansExecution"]);

/** What is explained: the search behind a command, and running it without writing. */
interface Explained {
  ns: string;
  filter: Doc;
  sort: Doc | undefined;
  prepared: Prepared | undefined;
  run: () => Slices<number>;
}

function scanStage(p: Plan | undefined): Doc {
  if (p === undefined) return { stage: "EOF" };
  if (p.index === undefined) return { stage: "COLLSCAN", direction: p.reverse ? "backward" : "forward" };
  const d = p.index.definition;
  return {
    stage: "FETCH",
    inputStage: {
      stage: "IXSCAN",
      keyPattern: d.key,
      indexName: d.name,
      isMultiKey: p.index.multikey,
      isUnique: d.unique,
      isSparse: d.sparse,
      isPartial: d.partialFilterExpression !== undefined,
      indexVersion: Number(indexDocument(d)["v"]),
      direction: p.reverse ? "backward" : "forward",
      intervals: p.bounds.intervals.length,
    },
  };
}

function winningPlan(e: Explained): Doc {
  const stage = scanStage(e.prepared?.plan);
  return e.sort !== undefined && e.prepared?.plan?.sorted === false
    ? { stage: "SORT", sortPattern: e.sort, inputStage: stage }
    : stage;
}

function* count(items: Flow<unknown>, most = Infinity): Slices<number> {
  let n = 0;
  for (const item of items) {
    if (item === REST) yield REST;
    else if (++n >= most) break;
  }
  return n;
}

function explainFind(call: Call): Explained {
  const planned = planFind(call);
  return {
    ns: stringArgument(call.command, "find"),
    filter: planned.query.filter,
    sort: planned.query.sort,
    prepared: planned.prepared,
    run: () => count(planned.docs()),
  };
}

function explainAggregate(call: Call): Explained {
  if (writesOutput(call.command))
    throw new StoreError(
      "CommandNotSupported",
      "explain of a pipeline that writes ($out, $merge) is not supported by the embedded store",
    );
  const planned = planAggregate(call);
  const stages = docsArgument(call.command, "pipeline");
  const [match, sort] = [stages[0]?.["$match"], stages.find((s) => s["$sort"] !== undefined)?.["$sort"]];
  return {
    ns: stringArgument(call.command, "aggregate"),
    filter: isDoc(match) ? match : {},
    sort: isDoc(sort) && planned.prepared?.plan?.sorted === false ? sort : undefined,
    prepared: planned.prepared,
    run: () => count(planned.docs()),
  };
}

/** The search of an update, delete, findAndModify, count or distinct: nothing is written. */
function explainSearch(call: Call, name: string, s: Doc, filterName: string, one: boolean): Explained {
  const filter = docArgument(s, filterName) ?? {};
  const sort = docArgument(s, "sort");
  const hint = hintArgument(s);
  const scope = scopeOf(call);
  const collection = call.engine.catalog.find(call.db, name);
  const query = {
    filter,
    ...(sort === undefined ? {} : { sort }),
    ...(hint === undefined ? {} : { hint }),
    ...(one ? { wanted: 1 } : {}),
  };
  const prepared = prepare(call.engine.storage, collection, query, scope);
  const run = (): Slices<number> => count(prepared.run(), one ? 1 : Infinity);
  return { ns: name, filter, sort, prepared, run };
}

function explained(call: Call): Explained {
  const { command } = call;
  const name = Object.keys(command)[0] ?? "";
  switch (name) {
    case "find":
      return explainFind(call);
    case "aggregate":
      return explainAggregate(call);
    case "count":
    case "distinct":
      return explainSearch(call, stringArgument(command, name), command, "query", false);
    case "findAndModify":
    case "findandmodify":
      return explainSearch(call, findAndModifyCollection(command), command, "query", true);
    case "update": {
      const [s = {}] = docsArgument(command, "updates");
      return explainSearch(call, stringArgument(command, name), s, "q", s["multi"] !== true);
    }
    case "delete": {
      const [s = {}] = docsArgument(command, "deletes");
      return explainSearch(call, stringArgument(command, name), s, "q", s["limit"] === 1);
    }
    default:
      throw new StoreError("CommandNotFound", `Explain failed due to unknown command: ${name}`);
  }
}

/** explain: the plan, and unless verbosity is queryPlanner what running it looked at. Writing commands are searched, not run. */
export function* explain(call: Call): Slices<Reply> {
  const inner = docArgument(call.command, "explain");
  if (inner === undefined) throw new StoreError("TypeMismatch", "explain needs a command document");
  const verbosity = call.command["verbosity"] ?? "allPlansExecution";
  if (typeof verbosity !== "string" || !VERBOSITY.has(verbosity))
    throw new StoreError("BadValue", "verbosity must be one of queryPlanner, executionStats, allPlansExecution");
  const e = explained({ ...call, command: { ...inner, $db: call.db } });
  const reply: Reply = {
    explainVersion: "1",
    queryPlanner: {
      namespace: `${call.db}.${e.ns}`,
      parsedQuery: e.filter,
      winningPlan: winningPlan(e),
      rejectedPlans: [],
    },
    command: inner,
    serverInfo: { host: call.engine.address, version: "8.0.0" },
  };
  if (verbosity === "queryPlanner") return reply;
  const started = Date.now();
  const nReturned = yield* e.run();
  const [keys, docs] = [e.prepared?.counters.keys ?? 0, e.prepared?.counters.docs ?? 0];
  return {
    ...reply,
    executionStats: {
      executionSuccess: true,
      nReturned,
      executionTimeMillis: Date.now() - started,
      totalKeysExamined: keys,
      totalDocsExamined: docs,
      executionStages: {
        ...winningPlan(e),
        nReturned,
        works: Long.fromNumber(Math.max(keys, docs)),
        ...(e.prepared?.plan?.index === undefined ? {} : { keysExamined: keys }),
        docsExamined: docs,
      },
    },
  };
}
