import { isRecord } from "../../../shared/json.ts";
import { propertiesOf, requiredOf, schemasOf, type Schema } from "../api/action-schema.ts";
import { nullFieldsOf } from "../api/record-fields.ts";
import { besideBody, pathNames, type Row } from "../routes/row.ts";

const withoutDefault = ({ "x-default": _default, ...schema }: Schema): Schema => ({
  ...schema,
  ...(Array.isArray(schema["anyOf"]) ? { anyOf: schema["anyOf"].filter(isRecord).map(withoutDefault) } : {}),
});
/** Fields of a change: what is left out stays as it is, so none of them has a default. */
const withoutDefaults = (fields: Record<string, Schema>): Record<string, Schema> =>
  Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, withoutDefault(schema)]));

/** The schema of a row's body; null when it takes none. What the gateway itself fills in is left out; a change names one field at least. */
export function bodySchemaOf(row: Row): Schema | null {
  const schema = fieldsOfBody(row);
  if (schema === null || row.method !== "PUT") return schema && withNulls(schema, nullFieldsOf(row));
  return { ...schema, properties: withoutDefaults(propertiesOf(schema)), minProperties: 1 };
}

/** A schema some of whose fields may be null. */
const withNulls = (schema: Schema, names: ReadonlySet<string>): Schema => ({
  ...schema,
  properties: Object.fromEntries(
    Object.entries(propertiesOf(schema)).map(([name, field]) => [
      name,
      names.has(name) ? { anyOf: [field, { type: "null" }] } : field,
    ]),
  ),
});

function fieldsOfBody(row: Row): Schema | null {
  if (row.body === undefined) return null;
  const { params } = schemasOf(row.action);
  const properties = propertiesOf(params);
  if (row.body !== "*") return properties[row.body] ?? null;
  const filled = besideBody(row);
  return {
    ...params,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !filled.has(name))),
    required: requiredOf(params).filter((name) => !filled.has(name)),
  };
}

/** The schema of what a row answers with; null when that is nothing. */
export function responseSchemaOf(row: Row): Schema | null {
  if (row.success === 204 || row.download) return null;
  const { result } = schemasOf(row.action);
  const kept = [...(row.wholeList === undefined ? [] : ["next_cursor"]), "replayed"];
  const properties = propertiesOf(result);
  return kept.some((name) => name in properties)
    ? {
        ...result,
        properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !kept.includes(name))),
        required: requiredOf(result).filter((name) => !kept.includes(name)),
      }
    : result;
}

/** True when an answer may be a replay, marked by the header Idempotency-Replayed. */
export const isReplayable = (row: Row): boolean => "replayed" in propertiesOf(schemasOf(row.action).result);

/** An outcome as the gateway sends it on: it adds the status of a refused row (bulk/push-endpoint.ts). */
function withHttpStatus(outcome: unknown): Schema {
  const schema = outcome as Schema;
  return {
    ...schema,
    properties: {
      ...propertiesOf(schema),
      http_status: {
        type: "integer",
        description: "Of a refused row: the status that a push of it alone would have had.",
        examples: [422],
      },
    },
  };
}

/** The schema of one row of a bulk body, and of what is answered to it; null for other rows. */
export function bulkSchemasOf(row: Row): { item: Schema; outcome: Schema } | null {
  if (row.bulk === undefined) return null;
  const results = propertiesOf(schemasOf(row.action).result)["results"];
  return {
    item: propertiesOf(schemasOf(row.bulk.action).params)[row.bulk.row] ?? {},
    outcome: withHttpStatus(results?.["items"]),
  };
}

/** A header's usual spelling: `idempotency-key` -> `Idempotency-Key`. */
const headerName = (name: string): string =>
  name
    .split("-")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("-");

/** A parameter outside the body. */
export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  schema: Schema;
}

const RANGE_HEADERS: readonly Parameter[] = [
  {
    name: "Range",
    in: "header",
    required: false,
    schema: {
      type: "string",
      description: "One range of bytes; several are answered with the whole file.",
      examples: ["bytes=0-65535"],
    },
  },
  {
    name: "If-Range",
    in: "header",
    required: false,
    schema: {
      type: "string",
      description: "The ETag of the file that the part is of; another file is sent whole.",
      examples: ['"5f0c8f0e7a39"'],
    },
  },
];

const LAST_EVENT: Parameter = {
  name: "Last-Event-ID",
  in: "header",
  required: false,
  schema: {
    type: "string",
    description: "The `id` of the last event that a stream gave; it goes on behind it, whatever `after` says.",
    examples: ["cDNtdg"],
  },
};

/** Parameters of a row outside its body, with their schemas. */
export function parametersOf(row: Row): Parameter[] {
  const { params } = schemasOf(row.action);
  const properties = propertiesOf(params);
  const required = requiredOf(params);
  return [
    ...pathNames(row.path).map((name): Parameter => ({
      name,
      in: "path",
      required: true,
      schema: properties[name] ?? { type: "string" },
    })),
    ...(row.query ?? []).map((name): Parameter => ({
      name,
      in: "query",
      required: required.includes(name),
      schema: properties[name] ?? { type: "string" },
    })),
    ...(row.download ? RANGE_HEADERS : []),
    ...(row.follows === true ? [LAST_EVENT] : []),
    ...Object.entries(row.headers ?? {}).map(([header, name]): Parameter => ({
      name: headerName(header),
      in: "header",
      required: required.includes(name),
      schema: properties[name] ?? { type: "string" },
    })),
  ];
}
