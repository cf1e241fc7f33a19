import { CATALOGUE, type ErrorCode } from "../../../shared/errors.ts";
import { isRecord } from "../../../shared/json.ts";
import { plain, type Schema } from "../api/action-schema.ts";
import { statusOf } from "../http/http-errors.ts";
import { outward, shareExamples, showIn, type Components } from "./component-schemas.ts";
import { linksOf } from "./operation-links.ts";
import { EVENTS_TAG, webhookSection } from "./webhook-section.ts";
import { exampleOf } from "./examples.ts";
import {
  bodySchemaOf,
  bulkSchemasOf,
  isReplayable,
  parametersOf,
  responseSchemaOf,
  type Parameter,
} from "./row-schemas.ts";
import { isBodyOptional } from "../api/params.ts";
import { BASE_PATH } from "../../../shared/base-path.ts";
import { IssueView } from "../../../shared/contracts/records/lead-views.ts";
import { TAGS, type Row } from "../routes/row.ts";

const EVERYWHERE: readonly ErrorCode[] = ["STORE_UNAVAILABLE", "DEPENDENCY_DOWN", "TIMEOUT", "INTERNAL"];
const WITH_TOKEN: readonly ErrorCode[] = ["UNAUTHENTICATED", "FORBIDDEN", "RATE_LIMITED"];
const WITH_BODY: readonly ErrorCode[] = ["MALFORMED_JSON", "UNSUPPORTED_MEDIA_TYPE", "BODY_TOO_LARGE"];

/** Every way a row fails: status -> codes, lowest status first. */
export function failuresOf(row: Row): [number, ErrorCode[]][] {
  const codes: ErrorCode[] = [
    "VALIDATION_FAILED", // where nothing else can be wrong: a query that the operation does not know
    ...(row.body === undefined ? [] : WITH_BODY),
    ...(row.roles === "public" ? [] : WITH_TOKEN),
    ...(row.errors ?? []),
    ...EVERYWHERE,
  ];
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes)
    byStatus.set(statusOf(code, row.answers), [...(byStatus.get(statusOf(code, row.answers)) ?? []), code]);
  if (row.answers === "push") {
    // what is refused beside the lead itself, such as an empty header, is 422 as well
    const unprocessable = statusOf("PAYLOAD_INVALID", row.answers);
    byStatus.set(unprocessable, ["VALIDATION_FAILED", ...(byStatus.get(unprocessable) ?? [])]);
  }
  return [...byStatus].sort(([a], [b]) => a - b);
}

const PROBLEM: Schema = {
  type: "object",
  title: "Problem",
  "x-about": "RFC 9457 problem. `code` is stable; branch on it, not on the texts.",
  required: ["type", "title", "status", "detail", "code", "request_id"],
  properties: {
    type: {
      type: "string",
      format: "uri",
      description: "A page about the code.",
      examples: ["https://calls.example/docs#PAYLOAD_INVALID"],
    },
    title: { type: "string", description: "What the code means.", examples: [CATALOGUE.PAYLOAD_INVALID.title] },
    status: { type: "integer", description: "The HTTP status.", examples: [422] },
    detail: {
      type: "string",
      description: "What is wrong here, and what to do, for a person.",
      examples: ["The payload lacks customer_name."],
    },
    code: {
      type: "string",
      enum: Object.keys(CATALOGUE),
      description: "What is wrong, for programs.",
      "x-meanings": Object.fromEntries(Object.entries(CATALOGUE).map(([code, { title }]) => [code, `${title}.`])),
    },
    request_id: {
      type: "string",
      description: "Also in the X-Request-Id header; name it when you ask for help.",
      examples: ["0198c0de-7a39-7c53-9d0f-2a2b6a3a1c11"],
    },
    errors: {
      type: "array",
      items: plain(IssueView),
      description: "What is wrong with the input, by path.",
    },
  },
};

const operationId = (row: Row): string => row.action;
const componentName = (row: Row, suffix: string): string =>
  operationId(row)
    .split(".")
    .map((w) => w.charAt(0).toUpperCase() + w.slice(1))
    .join("") + suffix;
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const STREAM: Schema = {
  "text/event-stream": {
    schema: {
      type: "string",
      description:
        "Server-sent events: `id` is the cursor of an event, `data` the event; `event: end` says in `data.reason` why the stream ends.",
    },
  },
};
const json = (schema: Schema, example: unknown): Schema => ({
  "application/json": { schema, ...(example === undefined ? {} : { example }) },
});
const manyOf = (schema: Schema, items: readonly unknown[]): Schema => ({
  "application/x-ndjson": {
    schema: { type: "string", description: "One JSON object per line." },
    example: items.map((item) => `${JSON.stringify(item)}\n`).join(""),
  },
  "application/json": { schema: { type: "array", items: schema }, example: items },
});
const listed = (example: unknown): unknown[] => (Array.isArray(example) ? example : []);
const REPLAYED: Schema = {
  "Idempotency-Replayed": {
    description: "`true`: this is the answer that the same Idempotency-Key got before.",
    schema: { type: "string", enum: ["true"] },
  },
};
const doneOf = (row: Row, rows: readonly Row[], into: Components): Schema => ({
  description: row.success === 204 ? "Done; no body" : "Done",
  ...(isReplayable(row) ? { headers: REPLAYED } : {}),
  ...(row.success === 204 ? {} : { content: contentOf(row, "Response", exampleOf(row)?.response, into) }),
  ...linksOf(row, rows),
});
const FILE: Schema = { type: "string", format: "binary" };
const filesOf = (types: readonly string[]): Schema => Object.fromEntries(types.map((type) => [type, { schema: FILE }]));
const LENGTH: Schema = {
  "Accept-Ranges": { description: "Parts can be asked for.", schema: { type: "string", enum: ["bytes"] } },
  ETag: { description: "For If-Range.", schema: { type: "string" } },
};
const PART: Schema = {
  ...LENGTH,
  "Content-Range": { description: "Which bytes these are, and of how many.", schema: { type: "string" } },
};
/** The answers of a download: all of the file, or the part that Range asked for. */
const downloadsOf = (types: readonly string[]): Record<string, Schema> => ({
  200: { description: "The file", headers: LENGTH, content: filesOf(types) },
  206: { description: "The part of the file that Range asked for", headers: PART, content: filesOf(types) },
});
/** A named schema of its own for each body that has no other name. */
function componentOf(row: Row, side: "Request" | "Response", into: Components): Schema {
  const bulk = bulkSchemasOf(row);
  const schema =
    (side === "Request" ? (bulk?.item ?? bodySchemaOf(row)) : (bulk?.outcome ?? responseSchemaOf(row))) ?? {};
  if ("title" in schema) return outward(schema, into);
  const name = componentName(row, side);
  into[name] = outward(schema, into);
  return ref(name);
}
function contentOf(row: Row, side: "Request" | "Response", example: unknown, into: Components): Schema {
  const schema = componentOf(row, side, into);
  if (row.bulk) return manyOf(schema, listed(example));
  return row.follows === true ? { ...json(schema, example), ...STREAM } : json(schema, example);
}
const roleText = (row: Row): string =>
  row.roles === "public" ? "No token is needed." : `Roles: ${row.roles.join(", ")}.`;
/** What is said of a row beside its summary. */
export const descriptionOf = (row: Row): string =>
  [
    roleText(row),
    ...(row.cost === undefined ? [] : [`Costs ${row.cost} units of the allowance of a minute.`]),
    ...(row.bulk
      ? [
          "One answer per row in the order of the body, sent while the body is still being read; a row that is refused stops no other. At most 10,000 rows and 8 MiB.",
        ]
      : []),
    ...(row.wholeList === undefined
      ? []
      : [
          "All of them, however many: they are sent while they are being read. An answer that ends before its JSON does was cut off by a fault; ask again.",
        ]),
    ...(row.follows === true
      ? [
          "With Accept: text/event-stream the answer is a stream that goes on with what happens; it begins behind `after`, or behind Last-Event-ID, and ends with its reason. 10 streams a tenant at one gateway process.",
        ]
      : []),
    ...(row.errors?.includes("NOT_AVAILABLE")
      ? ["Not available in every deployment: it answers 501 NOT_AVAILABLE where it is not."]
      : []),
  ].join(" ");
/** A parameter with the value it has in the row's example. */
function withExample(row: Row, parameter: Parameter, into: Components): Schema {
  const given = exampleOf(row);
  const value =
    parameter.in === "path"
      ? given?.path?.[parameter.name]
      : parameter.in === "query"
        ? given?.query?.[parameter.name]
        : given?.headers?.[parameter.name];
  const { description, ...schema } = outward(parameter.schema, into);
  return { ...parameter, description, schema, ...(value === undefined ? {} : { example: value }) };
}

function operationOf(row: Row, rows: readonly Row[], into: Components): Schema {
  const parameters = parametersOf(row);
  return {
    operationId: operationId(row),
    tags: [row.tag],
    summary: row.summary,
    description: descriptionOf(row),
    security: row.roles === "public" ? [] : row.roles.map((role) => ({ bearer: [role] })),
    ...(parameters.length > 0 ? { parameters: parameters.map((p) => withExample(row, p, into)) } : {}),
    ...(row.body === undefined
      ? {}
      : {
          requestBody: {
            required: !isBodyOptional(row),
            content: contentOf(row, "Request", exampleOf(row)?.request, into),
          },
        }),
    responses: {
      ...(row.download ? downloadsOf(row.download) : { [row.success]: doneOf(row, rows, into) }),
      ...Object.fromEntries(
        failuresOf(row).map(([status, codes]) => [
          status,
          {
            description: codes.map((code) => `${code}: ${CATALOGUE[code].title}`).join(". "),
            content: { "application/problem+json": { schema: ref("Problem") } },
          },
        ]),
      ),
    },
  };
}

/** Fields show the values of the examples in which they stand, wherever in `part` a schema has one beside it. */
function showFields(part: unknown, schemas: Components): void {
  if (Array.isArray(part)) for (const one of part) showFields(one, schemas);
  if (!isRecord(part)) return;
  if ("schema" in part && "example" in part) showIn(part["schema"], part["example"], schemas);
  else for (const one of Object.values(part)) showFields(one, schemas);
}

/** The API as an OpenAPI 3.1 document: the table's rows with the contracts' schemas. */
export function openApi(rows: readonly Row[], version: string): Schema {
  const paths: Record<string, Record<string, Schema>> = {};
  const schemas: Components = {};
  outward(PROBLEM, schemas);
  for (const row of rows) (paths[row.path] ??= {})[row.method.toLowerCase()] = operationOf(row, rows, schemas);
  const webhooks = webhookSection(schemas);
  showFields([paths, webhooks], schemas);
  shareExamples([schemas, paths, webhooks]);
  return {
    openapi: "3.1.0",
    info: {
      title: "callagent",
      version,
      description: "Outbound voice calls: push a lead, the phone rings, they talk, a webhook reports.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: BASE_PATH }],
    security: [{ bearer: [] }],
    tags: [
      ...Object.entries(TAGS)
        .filter(([tag]) => rows.some((row) => row.tag === tag))
        .map(([name, description]) => ({ name, description })),
      EVENTS_TAG,
    ],
    paths,
    webhooks,
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description:
            "Access token of POST /login, or a server-to-server token. The names beside an operation are the roles that may ask it; a token has one.",
        },
      },
      schemas,
    },
  };
}
