import { evaluate } from "./expression.ts";
import { matches } from "./match.ts";
import { compare, copy, equal, isPlain, type Doc } from "./values.ts";

/** An update as the driver takes it: operators, or a pipeline. */
export type Update = Record<string, unknown> | readonly Record<string, unknown>[];

const INDEX = /^\d+$/;

/** The container a dotted path ends in, and its last part; null where it is not there and not to be made. */
function place(doc: Doc, path: string, make: boolean): { holder: Doc; last: string } | null {
  const parts = path.split(".");
  const last = parts.pop() ?? "";
  let holder: Doc = doc;
  for (const part of parts) {
    let inner = holder[part];
    if (inner === undefined) {
      if (!make) return null;
      inner = holder[part] = {};
    }
    if (typeof inner !== "object" || inner === null || inner instanceof Date) {
      if (!make) return null;
      throw new Error(`Cannot create field '${last}' in element {${part}: ${JSON.stringify(inner)}}`);
    }
    if (Array.isArray(inner) && !INDEX.test(last) && parts.at(-1) === part)
      throw new Error(`Cannot create field '${last}' in an array`);
    holder = inner as Doc;
  }
  return { holder, last };
}

function write(doc: Doc, path: string, change: (old: unknown) => unknown): void {
  const { holder, last } = place(doc, path, true) ?? { holder: doc, last: path };
  holder[last] = change(holder[last]);
}

function pushed(old: unknown, arg: unknown): unknown[] {
  if (old !== undefined && !Array.isArray(old)) throw new Error("$push needs an array");
  const list = [...((old ?? []) as unknown[])];
  if (!isPlain(arg) || !("$each" in arg)) return [...list, copy(arg)];
  for (const key in arg)
    if (key !== "$each" && key !== "$slice") throw new Error(`the simulated database does not know ${key} of $push`);
  list.push(...copy(arg["$each"] as unknown[]));
  const slice = arg["$slice"];
  return slice === undefined
    ? list
    : (slice as number) < 0
      ? list.slice(slice as number)
      : list.slice(0, slice as number);
}

function pulled(old: unknown, arg: unknown, now: Date): unknown {
  if (!Array.isArray(old)) return old;
  const goes = (e: unknown): boolean =>
    isPlain(arg) && !Object.keys(arg).some((k) => k.startsWith("$"))
      ? isPlain(e) && matches(e, arg, now)
      : isPlain(arg)
        ? matches({ e }, { e: arg }, now)
        : equal(e, arg);
  return old.filter((e) => !goes(e));
}

const count = (v: unknown): number => {
  if (typeof v !== "number") throw new Error(`$inc needs a number, not ${JSON.stringify(v)}`);
  return v;
};

type Apply = (doc: Doc, path: string, arg: unknown, now: Date, inserting: boolean) => void;

const OPERATORS: Record<string, Apply> = {
  $set: (doc, path, arg) => write(doc, path, () => copy(arg)),
  $setOnInsert: (doc, path, arg, _now, inserting) => {
    if (inserting) write(doc, path, () => copy(arg));
  },
  $unset: (doc, path) => {
    const found = place(doc, path, false);
    if (found) delete found.holder[found.last];
  },
  $inc: (doc, path, arg) => write(doc, path, (old) => (old === undefined ? 0 : count(old)) + count(arg)),
  $min: (doc, path, arg) => write(doc, path, (old) => (old === undefined || compare(arg, old) < 0 ? copy(arg) : old)),
  $max: (doc, path, arg) => write(doc, path, (old) => (old === undefined || compare(arg, old) > 0 ? copy(arg) : old)),
  $push: (doc, path, arg) => write(doc, path, (old) => pushed(old, arg)),
  $addToSet: (doc, path, arg) =>
    write(doc, path, (old) => (Array.isArray(old) && old.some((e) => equal(e, arg)) ? old : pushed(old, arg))),
  $pull: (doc, path, arg, now) => {
    const found = place(doc, path, false);
    if (found && found.last in found.holder) found.holder[found.last] = pulled(found.holder[found.last], arg, now);
  },
};

/** Two operators may not touch one path, nor one a part of what another touches; refused whether or not a document fits. */
export function refuseConflicts(update: Update): void {
  if (Array.isArray(update)) return;
  const paths: string[] = [];
  for (const fields of Object.values(update)) for (const path in fields as Doc) paths.push(path);
  if (paths.length < 2) return;
  paths.sort();
  for (let i = 1; i < paths.length; i++) {
    const [before = "", path = ""] = [paths[i - 1], paths[i]];
    if (path === before || path.startsWith(`${before}.`))
      throw new Error(`Updating the path '${path}' would create a conflict at '${before}'`);
  }
}

function byOperators(doc: Doc, update: Doc, now: Date, inserting: boolean): Doc {
  const out = copy(doc);
  for (const name in update) {
    const apply = OPERATORS[name];
    if (!apply) throw new Error(`the simulated database does not know the update ${name}`);
    const fields = update[name] as Doc;
    for (const path in fields) {
      const arg = fields[path];
      if (arg === undefined) throw new Error(`${name} of ${path} to undefined, which the driver writes as null`);
      apply(out, path, arg, now, inserting);
    }
  }
  return out;
}

function byStage(doc: Doc, stage: Doc, now: Date): Doc {
  const [name = ""] = Object.keys(stage);
  const arg = stage[name];
  const out = copy(doc);
  if (name === "$set" || name === "$addFields") {
    const scope = { root: doc, now, variables: {} };
    for (const [path, expression] of Object.entries(arg as Doc)) {
      const value = evaluate(expression, scope);
      if (value === undefined) {
        const found = place(out, path, false);
        if (found) delete found.holder[found.last];
      } else write(out, path, () => copy(value));
    }
    return out;
  }
  if (name === "$unset") {
    for (const path of Array.isArray(arg) ? (arg as string[]) : [arg as string]) {
      const found = place(out, path, false);
      if (found) delete found.holder[found.last];
    }
    return out;
  }
  throw new Error(`the simulated database does not know the update stage ${name}`);
}

/** The document after an update; the one given stays as it is. */
export const updated = (doc: Doc, update: Update, now: Date, inserting = false): Doc =>
  Array.isArray(update)
    ? (update as Doc[]).reduce((d, stage) => byStage(d, stage, now), doc)
    : byOperators(doc, update as Doc, now, inserting);
