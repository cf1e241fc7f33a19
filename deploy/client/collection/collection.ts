import { SAMPLE } from "../../../services/gateway/docs/example-records.ts";
import { exampleOf } from "../../../services/gateway/docs/examples.ts";
import { descriptionOf } from "../../../services/gateway/docs/openapi.ts";
import { parametersOf } from "../../../services/gateway/docs/row-schemas.ts";
import { TAGS, type Row } from "../../../services/gateway/routes/row.ts";

/** The format, which Postman and Bruno import: https://schema.postman.com/collection/json/v2.1.0/draft-07/docs/index.html */
const FORMAT = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";

/** Variables that a person fills in once, or that a request fills in for the ones after it. */
export const VARIABLES = {
  base: "The address of the API, with /agent/voice/callagent",
  email: "Your e-mail, for POST /login",
  password: "Your password, for POST /login",
  token: "The access token; POST /login fills it in",
  reseller_id: "Whose the records are",
  merchant_id: "The merchant",
  template_id: "The template that leads are pushed with",
  lead_id: "The lead; POST /leads fills it in",
} as const;
type Variable = keyof typeof VARIABLES;
const isVariable = (name: string): name is Variable => Object.hasOwn(VARIABLES, name);
const use = (name: Variable): string => `{{${name}}}`;

/** A key with its value, as the format writes them. */
interface Pair {
  key: string;
  value: string;
  description?: string;
  disabled?: true;
}

interface Script {
  listen: "test";
  script: { type: "text/javascript"; exec: string[] };
}

/** One request of the collection. */
export interface CollectionRequest {
  name: string;
  event?: Script[];
  request: {
    method: string;
    description: string;
    auth?: { type: "noauth" };
    header: Pair[];
    url: { raw: string; host: string[]; path: string[]; query: Pair[]; variable: Pair[] };
    body?: { mode: "raw"; raw: string; options: { raw: { language: "json" } } };
  };
}

/** The collection as its file holds it. */
export interface Collection {
  info: { name: string; description: string; version: string; schema: string };
  auth: { type: "bearer"; bearer: { key: "token"; value: string; type: "string" }[] };
  variable: { key: string; value: string; description: string }[];
  item: { name: string; description: string; item: CollectionRequest[] }[];
}

/** What a request leaves for the ones after it: variable -> field of its answer. */
const LEAVES: Readonly<Record<string, Partial<Record<Variable, string>>>> = {
  "POST /login": { token: "access_token" },
  "POST /leads": { lead_id: "lead_call_tracker_id" },
};

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The documentation's own ids, which are the person's here. */
const OWN: ReadonlyMap<unknown, string> = new Map(
  (["reseller_id", "merchant_id", "template_id", "lead_id"] as const).map((name) => [SAMPLE[name], use(name)]),
);
/** A value of an example by its name: the person's own where it is one of theirs. */
const own = (name: string, value: unknown): unknown =>
  typeof value === "string" && isVariable(name) ? use(name) : (OWN.get(value) ?? value);

/** An example with the person's own values in place of those of the documentation. */
function withVariables(example: unknown): unknown {
  if (Array.isArray(example)) return example.map(withVariables);
  if (typeof example !== "object" || example === null) return OWN.get(example) ?? example;
  return Object.fromEntries(Object.entries(example).map(([name, value]) => [name, own(name, withVariables(value))]));
}

function pairsOf(row: Row, where: "query" | "path" | "header"): Pair[] {
  const given = exampleOf(row);
  const examples: Readonly<Record<string, unknown>> =
    (where === "query" ? given?.query : where === "path" ? given?.path : given?.headers) ?? {};
  return parametersOf(row)
    .filter((parameter) => parameter.in === where)
    .map((parameter) => {
      const { name } = parameter;
      // what need not be given is there to be switched on
      const optional = where === "path" || parameter.required ? {} : { disabled: true as const };
      return { key: name, value: textOf(own(name, examples[name] ?? "")), ...optional };
    });
}

function scriptOf(row: Row): Script[] {
  const leaves = Object.entries(LEAVES[`${row.method} ${row.path}`] ?? {});
  if (leaves.length === 0) return [];
  const exec = leaves.map(
    ([variable, field]) =>
      `if (pm.response.code < 300) pm.collectionVariables.set("${variable}", pm.response.json().${field});`,
  );
  return [{ listen: "test", script: { type: "text/javascript", exec } }];
}

function bodyOf(row: Row): Pick<CollectionRequest["request"], "body"> {
  const example = exampleOf(row)?.request;
  if (row.body === undefined || example === undefined) return {};
  return {
    body: {
      mode: "raw",
      raw: JSON.stringify(withVariables(example), null, 2),
      options: { raw: { language: "json" } },
    },
  };
}

function requestOf(row: Row): CollectionRequest {
  const path = row.path
    .split("/")
    .filter(Boolean)
    .map((part) => part.replace(/^\{(\w+)\}$/, ":$1"));
  const event = scriptOf(row);
  const body = bodyOf(row);
  return {
    name: `${row.method} ${row.path}`,
    ...(event.length === 0 ? {} : { event }),
    request: {
      method: row.method,
      description: `${row.summary}. ${descriptionOf(row)}`,
      ...(row.roles === "public" ? { auth: { type: "noauth" as const } } : {}),
      header: [
        ...(body.body === undefined ? [] : [{ key: "Content-Type", value: "application/json" }]),
        ...pairsOf(row, "header"),
      ],
      url: {
        raw: [use("base"), ...path].join("/"),
        host: [use("base")],
        path,
        query: pairsOf(row, "query"),
        variable: pairsOf(row, "path"),
      },
      ...body,
    },
  };
}

/** The table's rows as a collection for Postman and Bruno, a folder for each tag. */
export function collectionOf(rows: readonly Row[], version: string): Collection {
  return {
    info: {
      name: "callagent",
      description: "Fill in base, email and password among the variables, send POST /login, then POST /leads.",
      version,
      schema: FORMAT,
    },
    auth: { type: "bearer", bearer: [{ key: "token", value: use("token"), type: "string" }] },
    variable: Object.entries(VARIABLES).map(([key, description]) => ({ key, value: "", description })),
    item: Object.entries(TAGS)
      .map(([tag, description]) => ({
        name: tag,
        description,
        item: rows.filter((row) => row.tag === tag).map(requestOf),
      }))
      .filter(({ item }) => item.length > 0),
  };
}
