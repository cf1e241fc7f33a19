import { StoreError } from "../bson/errors.ts";
import { evaluateLet } from "../expressions/expressions.ts";
import type { Call } from "./context.ts";
import type { Scope } from "../expressions/expressions.ts";
import { asNumber, isDoc, isNumeric, isTrue, typeAlias } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** What any command may carry besides its own fields. */
const GENERIC = new Set([
  "$db",
  "$clusterTime",
  "$readPreference",
  "lsid",
  "txnNumber",
  "autocommit",
  "startTransaction",
  "readConcern",
  "writeConcern",
  "comment",
  "maxTimeMS",
  "apiVersion",
  "apiStrict",
  "apiDeprecationErrors",
  "stmtId",
  "stmtIds",
]);
const MAX_INT32 = 2_147_483_647;
const READ_CONCERNS = new Set(["local", "available", "majority", "linearizable"]);

function wrongType(name: string, v: Value, wanted: string): StoreError {
  return new StoreError(
    "TypeMismatch",
    `BSON field '${name}' is the wrong type '${typeAlias(v)}', expected type '${wanted}'`,
  );
}

/** The error for a field that a command must have; `name` with the command's. */
export function missing(name: string): StoreError {
  return new StoreError("IDLFailedToParse", `BSON field '${name}' is missing but a required field`);
}

/** Refuses fields a command (or a statement of one) does not have. Errors: IDLUnknownField. */
export function refuseUnknown(doc: Doc, name: string, known: ReadonlySet<string>, generic = true): void {
  for (const k of Object.keys(doc)) {
    if (!known.has(k) && !(generic && GENERIC.has(k)))
      throw new StoreError("IDLUnknownField", `BSON field '${name}.${k}' is an unknown field.`);
  }
}

/** Refuses options that exist in MongoDB but not here, unless they are off. Errors: CommandNotSupported. */
export function refuseOptions(doc: Doc, names: readonly string[]): void {
  for (const k of names) {
    if (doc[k] !== undefined && isTrue(doc[k]))
      throw new StoreError("CommandNotSupported", `option '${k}' is not supported by the embedded store`);
  }
}

/** Refuses every collation but the simple one. Errors: CommandNotSupported. */
export function refuseCollation(doc: Doc): void {
  const v = doc["collation"];
  if (v === undefined || (isDoc(v) && (Object.keys(v).length === 0 || v["locale"] === "simple"))) return;
  throw new StoreError(
    "CommandNotSupported",
    "collation is not supported by the embedded store: strings compare by their bytes",
  );
}

/** An optional document argument. */
export function docArgument(doc: Doc, name: string): Doc | undefined {
  const v = doc[name];
  if (v === undefined || v === null) return undefined;
  if (!isDoc(v)) throw wrongType(name, v, "object");
  return v;
}

/** An array of documents; absent: empty, unless it is `required`. Errors: TypeMismatch, IDLFailedToParse. */
export function docsArgument(doc: Doc, name: string, required = false): Doc[] {
  const v = doc[name] ?? undefined;
  if (v === undefined && required) throw missing(`${Object.keys(doc)[0] ?? ""}.${name}`);
  if (v !== undefined && !Array.isArray(v)) throw wrongType(name, v, "array");
  return (v ?? []).map((item, i) => {
    if (!isDoc(item)) throw wrongType(`${name}.${i}`, item, "object");
    return item;
  });
}

/** A required string. */
export function stringArgument(doc: Doc, name: string): string {
  const v = doc[name] ?? null;
  if (typeof v !== "string") throw wrongType(name, v, "string");
  return v;
}

/** An optional number. */
export function numberArgument(doc: Doc, name: string): number | undefined {
  const v = doc[name] ?? undefined;
  const n = asNumber(v);
  if (v !== undefined && n === undefined) throw wrongType(name, v, "long");
  return n;
}

/** An optional whole number that is not negative. */
export function countArgument(doc: Doc, name: string): number | undefined {
  const n = numberArgument(doc, name);
  if (n === undefined) return undefined;
  if (n < 0) throw new StoreError(51024, `BSON field '${name}' value must be >= 0, actual value '${n}'`);
  return Math.trunc(n);
}

/** An optional truth: a boolean or a number. */
export function boolArgument(doc: Doc, name: string, otherwise = false): boolean {
  const v = doc[name];
  if (v === undefined || v === null) return otherwise;
  if (typeof v !== "boolean" && !isNumeric(v)) throw wrongType(name, v, "bool");
  return isTrue(v);
}

/** The hint of a statement, if any. */
export function hintArgument(doc: Doc): Value | undefined {
  const v = doc["hint"];
  if (v === undefined || v === null) return undefined;
  if (typeof v !== "string" && !isDoc(v)) throw new StoreError("FailedToParse", "Hint must be a string or an object");
  return v;
}

/** The command's time, its `let` variables and its budget. */
export function scopeOf({ command, now, budget }: Pick<Call, "command" | "now" | "budget">): Scope {
  const variables = docArgument(command, "let");
  return { now, budget, variables: variables === undefined ? {} : evaluateLet(variables, now, budget) };
}

/** The time a client gives a command (`maxTimeMS`), milliseconds; 0 for as long as it takes. Errors: BadValue, TypeMismatch. */
export function maxTimeOf(command: Doc): number {
  const v = command["maxTimeMS"] ?? 0;
  const ms = asNumber(v);
  if (ms === undefined) throw wrongType("maxTimeMS", v, "long");
  if (!Number.isInteger(ms) || ms < 0 || ms > MAX_INT32)
    throw new StoreError("BadValue", `${ms} value for maxTimeMS is out of range [0, ${MAX_INT32}]`);
  return ms;
}

/** Checks readConcern and writeConcern: one node keeps every promise that one node can. */
export function checkConcerns(command: Doc): void {
  refuseOptions(command, ["apiStrict"]);
  if (command["apiVersion"] !== undefined && command["apiVersion"] !== "1")
    throw new StoreError(322, "Provided apiVersion is not supported: only '1'");
  const read = docArgument(command, "readConcern")?.["level"];
  if (read !== undefined && !(typeof read === "string" && READ_CONCERNS.has(read)))
    throw new StoreError("InvalidOptions", `readConcern level ${String(read)} is not supported by the embedded store`);
  const write = docArgument(command, "writeConcern");
  if (write === undefined) return;
  refuseUnknown(write, "writeConcern", new Set(["w", "j", "wtimeout", "fsync", "provenance"]), false);
  const w = write["w"] ?? 1;
  const nodes = asNumber(w);
  if (nodes !== undefined ? nodes > 1 || nodes < 0 : w !== "majority")
    throw new StoreError(
      100,
      `Not enough data-bearing nodes for write concern w: ${String(w)}; this store is one node`,
    );
}
