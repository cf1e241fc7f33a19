import { Label, Strict, Named, FieldName, Type } from "../../shared/contracts/define.ts";
import { contracts } from "../../shared/contracts/index.ts";
import { isRecord } from "../../shared/json.ts";

/** Patterns that every name matches: such a record takes any field, and means to. */
const ANY_NAME: readonly string[] = ["^.*$", "^(.*)$"];

/** Paths of records that check the fields whose names match, and take any other field unseen. */
function openRecords(schema: unknown, path: string): string[] {
  if (Array.isArray(schema)) return schema.flatMap((inner, i) => openRecords(inner, `${path}[${i}]`));
  if (!isRecord(schema)) return [];
  const names = isRecord(schema["patternProperties"]) ? Object.keys(schema["patternProperties"]) : [];
  const open = names.some((name) => !ANY_NAME.includes(name)) && schema["additionalProperties"] !== false;
  return [
    ...(open ? [path] : []),
    ...Object.entries(schema).flatMap(([word, inner]) => openRecords(inner, `${path}.${word}`)),
  ];
}

test("what comes in has no record that takes fields unseen whose names do not fit", () => {
  const found = Object.values(contracts).flatMap(({ name, actions }) =>
    Object.entries(actions).flatMap(([action, { params }]) => openRecords(params, `${name}.${action}`)),
  );
  expect(found).toEqual([]);
});

test("such a record is found", () => {
  const record = Type.Record(FieldName, Type.Integer());
  expect(openRecords(Strict({ a: Type.Array(record) }), "it")).toHaveLength(1);
  expect(openRecords(Strict({ a: Type.Array(Named(Type.Integer())), b: Label(3) }), "it")).toEqual([]);
});
