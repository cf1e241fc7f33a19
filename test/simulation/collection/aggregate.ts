import { evaluate } from "./expression.ts";
import { bySort, matches, type Filter } from "./match.ts";
import { compare, copy, isPlain, type Doc } from "./values.ts";

const accumulate = (accumulator: unknown, docs: readonly Doc[], now: Date): unknown => {
  const [name = ""] = Object.keys(accumulator as Doc);
  const expression = (accumulator as Doc)[name];
  const values = docs.map((root) => evaluate(expression, { root, now, variables: {} }));
  const known = values.filter((v) => v !== undefined && v !== null);
  switch (name) {
    case "$sum":
      return values.reduce<number>((t, v) => (typeof v === "number" ? t + v : t), 0);
    case "$first":
      return values[0] ?? null;
    case "$last":
      return values.at(-1) ?? null;
    case "$min":
      return known.reduce<unknown>((best, v) => (best === null || compare(v, best) < 0 ? v : best), null);
    case "$max":
      return known.reduce<unknown>((best, v) => (best === null || compare(v, best) > 0 ? v : best), null);
    case "$push":
      return values.filter((v) => v !== undefined);
    case "$count":
      return docs.length;
    default:
      throw new Error(`the simulated database does not know the accumulator ${name}`);
  }
};

function group(docs: readonly Doc[], spec: Doc, now: Date): Doc[] {
  const groups = new Map<string, { id: unknown; docs: Doc[] }>();
  for (const doc of docs) {
    const id = evaluate(spec["_id"], { root: doc, now, variables: {} }) ?? null;
    const key = JSON.stringify(id);
    const known = groups.get(key);
    if (known) known.docs.push(doc);
    else groups.set(key, { id, docs: [doc] });
  }
  return [...groups.values()].map((g) => ({
    _id: g.id,
    ...(Object.fromEntries(
      Object.entries(spec)
        .filter(([k]) => k !== "_id")
        .map(([k, a]) => [k, accumulate(a, g.docs, now)]),
    ) as Doc),
  }));
}

const project = (doc: Doc, spec: Doc, now: Date): Doc => {
  const out: Doc = spec["_id"] === 0 ? {} : { _id: doc["_id"] };
  for (const [key, value] of Object.entries(spec)) {
    if (value === 0) {
      if (key !== "_id") throw new Error("the simulated database does not leave single fields out in $project");
      continue;
    }
    const worth = value === 1 || value === true ? doc[key] : evaluate(value, { root: doc, now, variables: {} });
    if (worth !== undefined) out[key] = worth;
  }
  return out;
};

/** Runs the stages of a pipeline that the services use over documents. Stages that are not known throw. */
export function aggregate(docs: readonly Doc[], stages: readonly Doc[], now: Date): Doc[] {
  return stages.reduce<Doc[]>(
    (rows, stage) => {
      const [name = ""] = Object.keys(stage);
      const arg = stage[name];
      switch (name) {
        case "$match":
          return rows.filter((d) => matches(d, arg as Filter, now));
        case "$sort":
          return [...rows].sort(bySort(arg as Record<string, number>));
        case "$limit":
          return rows.slice(0, arg as number);
        case "$skip":
          return rows.slice(arg as number);
        case "$group":
          return group(rows, arg as Doc, now);
        case "$project":
          return rows.map((d) => project(d, arg as Doc, now));
        case "$count":
          return rows.length === 0 ? [] : [{ [arg as string]: rows.length }];
        case "$unwind": {
          const path = (isPlain(arg) ? arg["path"] : arg) as string;
          const field = path.slice(1);
          return rows.flatMap((d) =>
            Array.isArray(d[field])
              ? (d[field] as unknown[]).map((v) => ({ ...d, [field]: v }))
              : d[field] === undefined
                ? []
                : [d],
          );
        }
        case "$set":
        case "$addFields":
          return rows.map((d) => ({
            ...d,
            ...(Object.fromEntries(
              Object.entries(arg as Doc).map(([k, e]) => [k, evaluate(e, { root: d, now, variables: {} })]),
            ) as Doc),
          }));
        default:
          throw new Error(`the simulated database does not know the stage ${name}`);
      }
    },
    docs.map((d) => copy(d)),
  );
}
