import { REST } from "../budget.ts";
import { StoreError } from "../bson/errors.ts";
import { setField } from "../bson/paths.ts";
import { isDoc, type Doc, type Value } from "../bson/values.ts";
import { ACCUMULATORS, accumulatorOf, type Accumulated, type Accumulator } from "../expressions/accumulators.ts";
import { refusedAccumulator } from "../expressions/expression-table.ts";
import { keyText, measured } from "../expressions/expression-values.ts";
import { compileExpression, type Scope } from "../expressions/expressions.ts";
import type { Stage } from "./stage.ts";

/** What a group takes besides its `_id`, bytes. */
const GROUP_BYTES = 128;

interface Field {
  name: string;
  begin: Accumulator;
  value: (doc: Doc) => Value | undefined;
}

interface Group {
  id: Value;
  fields: Accumulated[];
}

function fieldOf(name: string, spec: Value, scope: Scope): Field {
  if (name.includes(".")) throw new StoreError(40235, `The field name '${name}' cannot contain '.'`);
  if (name.startsWith("$")) throw new StoreError(40236, `The field name '${name}' cannot be an operator name`);
  const [op, arg] = accumulatorOf(name, spec);
  const begin = ACCUMULATORS.get(op);
  if (begin === undefined) throw refusedAccumulator(op);
  if (Array.isArray(arg)) throw new StoreError(40237, `The ${op} accumulator is a unary operator`);
  if (op === "$count" && !(isDoc(arg) && Object.keys(arg).length === 0))
    throw new StoreError("TypeMismatch", "$count takes no arguments, i.e. $count:{}");
  return { name, begin, value: compileExpression(arg, scope) };
}

function finished({ id, fields }: Group, all: readonly Field[]): Doc {
  const out: Doc = { _id: id };
  for (const [i, { name }] of all.entries()) setField(out, name, fields[i]?.result() ?? null);
  return out;
}

/** Compiles $group. Groups come out in the order of their first document. */
export function compileGroup(arg: Value, scope: Scope): Stage {
  if (!isDoc(arg)) throw new StoreError(15947, "a group's fields must be specified in an object");
  if (arg["_id"] === undefined) throw new StoreError(15955, "a group specification must include an _id");
  const idOf = compileExpression(arg["_id"], scope);
  const fields = Object.entries(arg)
    .filter(([k]) => k !== "_id")
    .map(([k, spec]) => fieldOf(k, spec, scope));
  const { budget } = scope;
  return function* grouped(docs) {
    const groups = new Map<string, Group>();
    for (const doc of docs) {
      if (doc === REST) {
        yield REST;
        continue;
      }
      const id = idOf(doc);
      const key = keyText(id, budget);
      let group = groups.get(key);
      if (group === undefined) {
        budget.hold(measured(id, budget) + key.length + GROUP_BYTES);
        group = { id: id ?? null, fields: fields.map(({ begin }) => begin(budget)) };
        groups.set(key, group);
      }
      for (const [i, { value }] of fields.entries()) group.fields[i]?.take(value(doc));
    }
    for (const group of groups.values()) yield finished(group, fields);
  };
}
