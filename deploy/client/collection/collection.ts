import { exampleOf } from "../../../services/gateway/docs/examples.ts";
import { descriptionOf } from "../../../services/gateway/docs/openapi.ts";
import { parametersOf } from "../../../services/gateway/docs/row-schemas.ts";
import { TAGS, type Row } from "../../../services/gateway/routes/row.ts";
import { isRecord, recordIn } from "../../../shared/json.ts";
import { isOn, LEAVES, use, valuesOf, VARIABLES } from "./values.ts";

/** The format, which Postman and Bruno import: https://schema.postman.com/collection/json/v2.1.0/draft-07/docs/index.html */
const FORMAT = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";

/** The folder of what takes away. */
export const CLEAN_UP = "Clean up";
/** A second push, for what takes a lead that a browser joins. */
export const SESSION_PUSH = "POST /leads, for a browser";

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

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** An example with the person's own values in place of those of the documentation. */
function withVariables(example: unknown, values: ReadonlyMap<unknown, string>): unknown {
  if (Array.isArray(example)) return example.map((item) => withVariables(item, values));
  if (typeof example !== "object" || example === null) return values.get(example) ?? example;
  return Object.fromEntries(Object.entries(example).map(([name, value]) => [name, withVariables(value, values)]));
}

function pairsOf(row: Row, where: "query" | "path" | "header"): Pair[] {
  const given = exampleOf(row);
  const examples: Readonly<Record<string, unknown>> =
    (where === "query" ? given?.query : where === "path" ? given?.path : given?.headers) ?? {};
  return parametersOf(row)
    .filter((parameter) => parameter.in === where)
    .map(({ name, required }) => {
      // what need not be given is there to be switched on
      const on = where === "path" || required || isOn(row, name);
      const value = textOf(withVariables(examples[name] ?? "", valuesOf(row)));
      return { key: name, value, ...(on ? {} : { disabled: true as const }) };
    });
}

/** Keeps what an answer leaves, where it was given one. */
function scriptOf(leaves: Readonly<Record<string, string>>): Script[] {
  if (Object.keys(leaves).length === 0) return [];
  const exec = Object.entries(leaves).map(
    ([variable, field]) =>
      `if (pm.response.code < 300 && pm.response.json().${field}) pm.collectionVariables.set("${variable}", pm.response.json().${field});`,
  );
  return [{ listen: "test", script: { type: "text/javascript", exec } }];
}

const inJson = (value: unknown): Required<CollectionRequest["request"]>["body"] => ({
  mode: "raw",
  raw: JSON.stringify(value, null, 2),
  options: { raw: { language: "json" } },
});

/** Whom a lead calls, with all that the templates of `npm start` want. */
const PAYLOAD = { order_id: "A-17", amount: "42.00", delivery_date: "Monday, June 9" };
/** The example's pushes, with a payload that fits. */
function fitting(pushed: unknown): unknown {
  if (Array.isArray(pushed)) return pushed.map(fitting);
  return isRecord(pushed)
    ? { ...pushed, payload: { ...(isRecord(pushed["payload"]) ? pushed["payload"] : {}), ...PAYLOAD } }
    : pushed;
}

function bodyOf(row: Row): Pick<CollectionRequest["request"], "body"> {
  const example = exampleOf(row)?.request;
  if (row.body === undefined || example === undefined) return {};
  const value = withVariables(example, valuesOf(row));
  return { body: inJson(row.action.startsWith("leads.push") ? fitting(value) : value) };
}

function requestOf(row: Row): CollectionRequest {
  const path = row.path
    .split("/")
    .filter(Boolean)
    .map((part) => part.replace(/^\{(\w+)\}$/, ":$1"));
  const query = pairsOf(row, "query");
  // Postman reads the list, Bruno the address
  const asked = query.filter(({ disabled }) => !disabled).map(({ key, value }) => `${key}=${value}`);
  const event = scriptOf(LEAVES[`${row.method} ${row.path}`] ?? {});
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
        raw: `${[use("base"), ...path].join("/")}${asked.length === 0 ? "" : `?${asked.join("&")}`}`,
        host: [use("base")],
        path,
        query,
        variable: pairsOf(row, "path"),
      },
      ...body,
    },
  };
}

/** A lead that nobody dials: it is joined from a browser, and says what its client has it say. */
function sessionPush(push: CollectionRequest): CollectionRequest {
  const {
    request_id,
    payload,
    reporting_webhook_url: _report,
    ...pushed
  } = recordIn(push.request.body?.raw ?? "") ?? {};
  const lead = { request_id: `${String(request_id)}-browser`, execution_mode: "RTC_STREAM", ...pushed, payload };
  return {
    ...push,
    name: SESSION_PUSH,
    event: scriptOf({ session_lead_id: "lead_call_tracker_id" }),
    request: { ...push.request, body: inJson(lead) },
  };
}

/** What deletes, and what ends the log-in, in the order in which it can be done. */
const isCleanUp = ({ method, path }: Row): boolean => method === "DELETE" || path === "/logout";
const requestsOf = (rows: readonly Row[]): CollectionRequest[] =>
  rows.map(requestOf).flatMap((one) => (one.name === "POST /leads" ? [one, sessionPush(one)] : [one]));

/**
 * The table's rows as a collection for Postman and Bruno: a folder for each tag, and a last one for what takes away, so that the
 * whole can be run from top to bottom.
 */
export function collectionOf(rows: readonly Row[], version: string): Collection {
  const folders = Object.entries(TAGS).map(([tag, description]) => ({
    name: tag,
    description,
    item: requestsOf(rows.filter((row) => row.tag === tag && !isCleanUp(row))),
  }));
  return {
    info: {
      name: "callagent",
      description:
        "Fill in base, email, password and your ids among the variables, send POST /login, then POST /leads. " +
        "Run as a whole, it pushes leads for template_id, and changes and deletes only what it made itself.",
      version,
      schema: FORMAT,
    },
    auth: { type: "bearer", bearer: [{ key: "token", value: use("token"), type: "string" }] },
    variable: Object.entries(VARIABLES).map(([key, description]) => ({ key, value: "", description })),
    item: [
      ...folders.filter(({ item }) => item.length > 0),
      {
        name: CLEAN_UP,
        description: "Deletes what the requests above made, and ends the log-in.",
        item: requestsOf(rows.filter(isCleanUp).reverse()),
      },
    ],
  };
}
