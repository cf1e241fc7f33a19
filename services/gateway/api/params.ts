import type { IncomingHttpHeaders } from "node:http";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { fail, failEmptyChange, type ValidationIssue } from "../../../shared/errors.ts";
import { propertiesOf, requiredOf, schemasOf, type Schema } from "./action-schema.ts";
import { nullFieldsOf, toldApart } from "./record-fields.ts";
import { besideBody, pathNames, type Row } from "../routes/row.ts";
import { isRecord } from "../../../shared/json.ts";
import { nearest } from "../../../shared/process/command-line.ts";
import { UNKNOWN_FIELD } from "../../../shared/validator.ts";

/** A header that says nothing is a client's mistake, wherever it stands: without it the request would not be what the client means. */
const refuseEmpty = (header: string, name: string): never =>
  fail("VALIDATION_FAILED", `The header ${header} is empty; leave it out or give it a value.`, {
    errors: [{ path: name, message: "must NOT have fewer than 1 characters" }],
  });

/** What came in with a request: the parsed body (undefined: none), the path's values, the query and the headers. */
export interface Given {
  body: unknown;
  path: Readonly<Record<string, string>>;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
}

/** Turns requests to one row into parameters of its action. Values are the callee's to judge; only shape and names are settled here. */
export interface ParamsReader {
  /** Throws VALIDATION_FAILED for a body that is no object and for names the row does not know. */
  read(given: Given, by: By | null): Record<string, unknown>;
  /** All but the body's. */
  withoutBody(given: Omit<Given, "body">, by: By | null): Record<string, unknown>;
  /** The parameters of the row's guard: who asks and the path. */
  forGuard(given: Omit<Given, "body">, by: By | null): Record<string, unknown>;
}

const INTEGER = /^-?[0-9]{1,15}$/;

/** A query's text as the schema wants it; what does not fit stays text, for the callee to refuse. */
export function coerce(text: string, schema: Schema): string | number | boolean {
  if (schema["type"] === "integer" && INTEGER.test(text)) return Number(text);
  if (schema["type"] === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

const invalid = (errors: ValidationIssue[]): never =>
  fail(
    "VALIDATION_FAILED",
    errors
      .map((e) => `${e.path === "" ? "The body" : e.path} ${e.message}`)
      .join("; ")
      .concat("."),
    { errors },
  );

/** Longest name for which the one that was meant is sought. */
const MAX_NAME_CHARS = 40;

/** What was probably meant by a name that is none of these: the nearest, or one that is a part of the other; else all of them. */
function meantIn(name: string, known: readonly string[]): string {
  const isPart = (other: string): boolean => name.startsWith(other) || other.startsWith(name);
  const meant = name.length > MAX_NAME_CHARS ? undefined : (nearest(name, known) ?? known.find(isPart));
  if (meant !== undefined) return `; did you mean ${meant}?`;
  return known.length === 0 ? "; there are none here" : `; there are ${known.join(", ")}`;
}

/** Query parameters by name, each once and only those the row knows. An empty value is refused: it would be no filter, where the client means one. */
function readQuery(
  query: URLSearchParams,
  known: readonly string[],
  properties: Record<string, Schema>,
): Record<string, unknown> {
  const values = new Map<string, unknown>();
  const issues: ValidationIssue[] = [];
  for (const [name, text] of query) {
    if (!known.includes(name))
      issues.push({ path: name, message: `is not a known query parameter${meantIn(name, known)}` });
    else if (values.has(name)) issues.push({ path: name, message: "is given more than once" });
    else if (text === "") issues.push({ path: name, message: "is empty; leave it out or give it a value" });
    else values.set(name, coerce(text, properties[name] ?? {}));
  }
  if (issues.length > 0) invalid(issues);
  return Object.fromEntries(values);
}

/** Whether a row's body may be left out: all its fields may. A row that changes a thing is no such; it needs one field at least. */
export function isBodyOptional(row: Row): boolean {
  if (row.body !== "*" || row.method !== "POST") return false;
  const beside = besideBody(row);
  return requiredOf(schemasOf(row.action).params).every((name) => beside.has(name));
}

/** The reader of one row; its action's schema is read once. */
export function paramsReader(row: Row): ParamsReader {
  const properties = propertiesOf(schemasOf(row.action).params);
  const guarded = row.guard ? propertiesOf(schemasOf(row.guard).params) : {};
  const fromPath = pathNames(row.path);
  const fromHeaders = Object.entries(row.headers ?? {});
  const notTheBodys = besideBody(row);
  const optional = isBodyOptional(row);
  const nullFields = nullFieldsOf(row);
  const leftOut = ([name, value]: [string, unknown]): boolean => value === null && nullFields.has(name);

  const placed = (body: Record<string, unknown>): Record<string, unknown> => {
    if (row.method === "PUT" && Object.keys(body).length === 0) return failEmptyChange();
    if (row.body !== undefined && row.body !== "*") return { [row.body]: body };
    const foreign = Object.keys(body).filter((name) => notTheBodys.has(name));
    return foreign.length > 0
      ? invalid(foreign.map((path) => toldApart(row.action, { path, message: UNKNOWN_FIELD })))
      : { ...body };
  };
  const readBody = (body: unknown): Record<string, unknown> => {
    if (row.body === undefined || (body === undefined && optional)) return {};
    if (!isRecord(body)) return invalid([{ path: "", message: "must be a JSON object" }]);
    return nullFields.size === 0
      ? placed(body)
      : placed(Object.fromEntries(Object.entries(body).filter((field) => !leftOut(field))));
  };
  const asker = (by: By | null, taken: Record<string, Schema>): Record<string, unknown> =>
    "by" in taken && by !== null ? { by } : {};
  const path = (given: Pick<Given, "path">): Record<string, unknown> =>
    Object.fromEntries(fromPath.map((name) => [name, given.path[name] ?? ""]));

  const headers = (given: Pick<Given, "headers">): Record<string, unknown> =>
    Object.fromEntries(
      fromHeaders.flatMap(([header, name]) => {
        const value = given.headers[header];
        if (value === "") refuseEmpty(header, name);
        return value === undefined ? [] : [[name, coerce(String(value), properties[name] ?? {})]];
      }),
    );

  const beside: ParamsReader["withoutBody"] = (given, by) => ({
    ...readQuery(given.query, row.query ?? [], properties),
    ...headers(given),
    ...path(given),
    ...asker(by, properties),
  });

  return {
    read: (given, by) => ({ ...readBody(given.body), ...beside(given, by) }),
    withoutBody: beside,
    forGuard: (given, by) => ({ ...path(given), ...asker(by, guarded) }),
  };
}
