import { EVENT_NAMES, EVENTS } from "../../../shared/contracts/events/catalogue.ts";
import { EndpointEvent } from "../../../shared/contracts/events/event-type.ts";
import { contractOf } from "../../../shared/contracts/index.ts";
import { described, named, Nullable, Strict, Text, Type, valued } from "../../../shared/contracts/define.ts";
import { plain, type Schema } from "../../../services/gateway/api/action-schema.ts";
import { textOf } from "../../../services/gateway/docs/component-schemas.ts";
import {
  bodySchemaOf,
  bulkSchemasOf,
  parametersOf,
  responseSchemaOf,
} from "../../../services/gateway/docs/row-schemas.ts";
import { ROUTES } from "../../../services/gateway/routes/index.ts";
import type { Row } from "../../../services/gateway/routes/row.ts";
import { isRecord } from "../../../shared/json.ts";

const optionsOf = (schema: Schema): Schema[] =>
  Array.isArray(schema["anyOf"]) ? schema["anyOf"].filter(isRecord).filter((o) => o["type"] !== "null") : [];
const saysSomething = (schema: Schema): boolean =>
  [schema, ...optionsOf(schema)].some((s) => textOf(s) !== "" || "x-about" in s);

/** Closed sets of more than one value, of which some value is not explained; and fields that say nothing. */
function silent(schema: unknown, path: string): string[] {
  if (!isRecord(schema)) return [];
  const { enum: values, properties } = schema;
  const meanings = isRecord(schema["x-meanings"]) ? schema["x-meanings"] : {};
  return [
    ...(Array.isArray(values)
      ? values.filter((v) => !(String(v) in meanings)).map((v) => `${path}: the value ${String(v)}`)
      : []),
    ...(isRecord(properties)
      ? Object.entries(properties).flatMap(([name, inner]) => [
          ...(isRecord(inner) && saysSomething(inner) ? [] : [`${path}.${name}`]),
          ...silent(inner, `${path}.${name}`),
        ])
      : []),
    ...optionsOf(schema).flatMap((option) => silent(option, path)),
    ...silent(schema["items"], `${path}[]`),
    ...Object.values(isRecord(schema["patternProperties"]) ? schema["patternProperties"] : {}).flatMap((inner) =>
      silent(inner, `${path}.*`),
    ),
  ];
}

const silentOf = (row: Row): string[] => {
  const at = `${row.method} ${row.path}`;
  const bulk = bulkSchemasOf(row);
  return [
    ...parametersOf(row).flatMap(({ name, schema }) => [
      ...(saysSomething(schema) ? [] : [`${at} ?${name}`]),
      ...silent(schema, `${at} ?${name}`),
    ]),
    ...silent(bulk?.item ?? bodySchemaOf(row), `${at} <`),
    ...silent(bulk?.outcome ?? responseSchemaOf(row), `${at} >`),
  ];
};

test("every field, parameter and value of a closed set says what it means", () => {
  expect(ROUTES.flatMap(silentOf)).toEqual([]);
});

test("so does every field of an event", () => {
  expect(EVENT_NAMES.flatMap((name) => silent(plain(EVENTS[name].data), name))).toEqual([]);
  expect(silent(plain(EndpointEvent), "event")).toEqual([]);
});

test("a field and a value without meaning are found, inside lists and beside null too", () => {
  const schema = Strict({
    a: described("it", Type.Array(Strict({ b: Text(3) }))),
    c: Nullable(Type.Enum(["x"])),
    d: valued(["y"], { y: "it" }),
    e: Nullable(named("E", "it", Type.Object({}))),
  });
  expect(silent(plain(schema), "")).toEqual([".a[].b", ".c", ".c: the value x"]);
});

test("a name stands for one schema", () => {
  const bodies = new Map<string, Set<string>>();
  const collect = (schema: unknown): void => {
    if (Array.isArray(schema)) return schema.forEach(collect);
    if (!isRecord(schema)) return;
    const { title, description: _site, examples: _example, "x-default": _default, ...own } = schema;
    if (typeof title === "string" && "x-about" in schema)
      bodies.set(title, (bodies.get(title) ?? new Set()).add(JSON.stringify(own)));
    Object.values(schema).forEach(collect);
  };
  for (const { action } of ROUTES) collect(plain(contractOf(action)));
  expect([...bodies].filter(([, texts]) => texts.size > 1).map(([title]) => title)).toEqual([]);
  expect(bodies.size).toBeGreaterThan(20);
});
