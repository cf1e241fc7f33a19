import { Binary } from "bson";
import type { Budget } from "../budget.ts";
import { MAX_DOCUMENT_BYTES } from "../bson/bson-writer.ts";
import { compareValues } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { setField } from "../bson/paths.ts";
import { isDoc } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";
import { encodeKey } from "../indexes/key-encoder.ts";

/** MongoDB's bound on nesting. */
const MAX_DEPTH = 200;
/** Bytes of a value that is neither text nor composite, and of an element's name in an array, more or less. */
const SCALAR_BYTES = 16;
/** Bytes that are handled in one step of the budget. */
const BYTES_PER_STEP = 256;

/** Deep copy of documents and arrays; leaves are immutable here and shared. */
export function copyValue<T extends Value>(v: T): T;
export function copyValue(v: Value): Value {
  if (Array.isArray(v)) return v.map((x) => copyValue(x));
  if (!isDoc(v)) return v;
  const out: Doc = {};
  for (const [k, x] of Object.entries(v)) setField(out, k, copyValue(x));
  return out;
}

/** Refuses a name that a variable may not have. `own`: bound by a client, so it must not look like a system variable. Errors: FailedToParse. */
export function checkVariableName(name: string, own: boolean): void {
  if (own && name === "CURRENT") return;
  if (!(own ? /^[a-z\u0080-\uffff][\w\u0080-\uffff]*$/u : /^[A-Za-z\u0080-\uffff][\w\u0080-\uffff]*$/u).test(name))
    throw new StoreError("FailedToParse", `'${name}' is not a valid variable name`);
}

/**
 * The size of a value, about its bytes as BSON. An expression can put one array into another many times over, so whatever walks
 * through a value that an expression made measures it first. Errors: BSONObjectTooLarge above 16 MB, Overflow for too deep a nesting.
 */
export function measured(v: Value | undefined, budget: Budget): number {
  if (typeof v !== "object" || v === null) return scalarSize(v);
  const size = sizeUpTo(v, MAX_DOCUMENT_BYTES, 1);
  budget.spend(size / BYTES_PER_STEP);
  return size;
}

function scalarSize(v: Value | undefined): number {
  return typeof v === "string" ? v.length + SCALAR_BYTES : SCALAR_BYTES;
}

function sizeUpTo(v: Value, most: number, depth: number): number {
  let size = SCALAR_BYTES;
  const add = (name: number, item: Value): void => {
    size +=
      name + (typeof item === "object" && item !== null ? sizeUpTo(item, most - size, depth + 1) : scalarSize(item));
    if (size > most)
      throw new StoreError("BSONObjectTooLarge", `an expression's value must not exceed ${MAX_DOCUMENT_BYTES} bytes`);
  };
  if (Array.isArray(v)) for (const item of v) add(0, item);
  else if (isDoc(v)) for (const [k, item] of Object.entries(v)) add(k.length, item);
  else return v instanceof Binary ? size + v.position : size;
  if (depth > MAX_DEPTH) throw new StoreError("Overflow", `nesting deeper than ${MAX_DEPTH} levels`);
  return size;
}

/** Order in expressions: as everywhere, but a missing field is below null. */
export function order(a: Value | undefined, b: Value | undefined, budget: Budget): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  if (typeof a === "object" && typeof b === "object") {
    measured(a, budget);
    measured(b, budget);
  }
  return compareValues(a, b);
}

/** A text that two values have in common exactly when they are equal; null and missing have the same. */
export function keyText(v: Value | undefined, budget: Budget): string {
  measured(v, budget);
  return Buffer.from(encodeKey([v], [false])).toString("latin1");
}

/** Refuses a text too long before it is made. Errors: BSONObjectTooLarge above 16 MB. */
export function checkLength(length: number, budget: Budget): void {
  budget.spend(length / BYTES_PER_STEP);
  if (length > MAX_DOCUMENT_BYTES)
    throw new StoreError("BSONObjectTooLarge", `an expression's text must not exceed ${MAX_DOCUMENT_BYTES} bytes`);
}

/** A text that an expression made. Errors: those of checkLength. */
export function bounded(text: string, budget: Budget): string {
  checkLength(text.length, budget);
  return text;
}
