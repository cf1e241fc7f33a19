import { randomUUID } from "node:crypto";
import { REST, type Flow, type Slices } from "../budget.ts";
import { refuseUnknown } from "../commands/command-arguments.ts";
import type { Call } from "../commands/context.ts";
import { StoreError } from "../bson/errors.ts";
import { visitPath } from "../bson/paths.ts";
import { isDoc, typeAlias } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";
import { encode } from "../bson/bson-writer.ts";
import { SCRATCH } from "../storage/catalog.ts";
import { newDocument, runUpdate } from "../update/update-execution.ts";

/** Writes the results of a pipeline. */
export type Output = (docs: Flow<Doc>) => Slices<void>;

const MERGE = new Set(["into", "on", "let", "whenMatched", "whenNotMatched"]);

function target(call: Call, v: Value | undefined, stage: string): [string, string] {
  if (typeof v === "string" && v !== "") return [call.db, v];
  if (isDoc(v)) {
    const { db = call.db, coll } = v;
    if (typeof db === "string" && typeof coll === "string") return [db, coll];
  }
  throw new StoreError(51178, `${stage} needs the name of a collection, or {db, coll}`);
}

/** $out: the results take the place of the collection's documents; its indexes stay, and a duplicate key leaves it as it was. */
export function outTarget(call: Call, arg: Value): Output {
  const [db, name] = target(call, arg, "$out");
  return function* out(docs) {
    const { catalog } = call.engine;
    const fresh = catalog.create(db, `${SCRATCH}${randomUUID()}`);
    let old = catalog.find(db, name);
    let done = false;
    try {
      for (const index of old?.indexes.slice(1) ?? []) yield* catalog.createIndex(fresh, index.definition, call.budget);
      for (const doc of docs) {
        if (doc === REST) {
          yield REST;
          continue;
        }
        const made = newDocument(doc, encode(doc));
        fresh.insert(made.doc, made.bytes);
      }
      done = true;
    } finally {
      // Also when the client is gone and nobody goes on with it.
      if (!done) catalog.drop(fresh);
    }
    old = catalog.find(db, name);
    if (old !== undefined) catalog.drop(old);
    call.engine.cursors.closeOn(`${db}.${name}`);
    catalog.rename(fresh, name);
  };
}

interface MergeRules {
  on: string[];
  matched: Value;
  unmatched: Value;
}

function rules(arg: Doc): MergeRules {
  const on = arg["on"] ?? "_id";
  const fields = (Array.isArray(on) ? on : [on]).map((f) => {
    if (typeof f !== "string" || f === "")
      throw new StoreError(51186, `$merge 'on' field must be a string or an array of strings, not ${typeAlias(f)}`);
    return f;
  });
  const matched = arg["whenMatched"] ?? "merge";
  if (!Array.isArray(matched) && !["replace", "keepExisting", "merge", "fail"].includes(String(matched)))
    throw new StoreError(
      "BadValue",
      `Enumeration value '${String(matched)}' for field 'whenMatched' is not a valid value.`,
    );
  const unmatched = arg["whenNotMatched"] ?? "insert";
  if (!["insert", "discard", "fail"].includes(String(unmatched)))
    throw new StoreError(
      "BadValue",
      `Enumeration value '${String(unmatched)}' for field 'whenNotMatched' is not a valid value.`,
    );
  return { on: fields, matched, unmatched };
}

function keyFilter(doc: Doc, on: string[]): Doc {
  const filter: Doc = {};
  for (const path of on) {
    visitPath(doc, path.split("."), (v) => {
      if (v === undefined || v === null || Array.isArray(v))
        throw new StoreError(
          51132,
          `$merge write error: 'on' field '${path}' cannot be missing, null, undefined or an array`,
        );
      filter[path] = { $eq: v };
      return true;
    });
  }
  return filter;
}

function updateFor(doc: Doc, matched: Value): Value {
  if (Array.isArray(matched)) return matched;
  if (matched === "keepExisting") return [];
  if (matched === "replace") return doc;
  // Set literally: a value that looks like an expression is data here.
  return [{ $replaceWith: { $mergeObjects: ["$$ROOT", { $literal: doc }] } }];
}

/** $merge: each result is merged into, replaces, or is kept out of the document with the same `on` fields. */
export function mergeTarget(call: Call, arg: Value): Output {
  const spec: Doc = isDoc(arg) ? arg : { into: arg };
  refuseUnknown(spec, "$merge", MERGE, false);
  const [db, name] = target(call, spec["into"], "$merge");
  const { on, matched, unmatched } = rules(spec);
  if (spec["let"] !== undefined)
    throw new StoreError("CommandNotSupported", "'let' in $merge is not supported by the embedded store: use $$new");
  return function* merge(docs) {
    const collection = call.engine.catalog.ensure(db, name);
    if (
      !collection.indexes.some(
        (i) => i.definition.unique && Object.keys(i.definition.key).sort().join() === [...on].sort().join(),
      )
    ) {
      throw new StoreError(51183, "Cannot find index to verify that join fields will be unique");
    }
    for (const doc of docs) {
      if (doc === REST) {
        yield REST;
        continue;
      }
      const withId = on.includes("_id") ? newDocument(doc).doc : doc;
      const filter = keyFilter(withId, on);
      const { matched: n } = yield* runUpdate(
        call,
        collection,
        {
          filter,
          u: matched === "fail" ? [] : updateFor(withId, matched),
          arrayFilters: [],
          multi: false,
          upsert: false,
        },
        { now: call.now, variables: { new: withId }, budget: call.budget },
      );
      if (n > 0 && matched === "fail")
        throw new StoreError(
          "DuplicateKey",
          "$merge failed: a document with the same key is there already, and whenMatched is 'fail'",
        );
      if (n > 0 || unmatched === "discard") continue;
      if (unmatched === "fail")
        throw new StoreError(
          13113,
          "$merge could not find a matching document in the target collection for at least one document in the source collection",
        );
      const made = newDocument(withId);
      collection.insert(made.doc, made.bytes);
    }
  };
}
