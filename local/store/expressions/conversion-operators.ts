import { Binary, Decimal128, Double, Long, ObjectId, Timestamp } from "bson";
import { isFiniteNumber, wholePart } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { field } from "../bson/paths.ts";
import {
  asNumber,
  doubleValue,
  integerValue,
  isDoc,
  isNumeric,
  isTrue,
  TYPE_ALIASES,
  typeAlias,
} from "../bson/values.ts";
import type { Value } from "../bson/values.ts";
import { asDecimal, isDouble } from "./decimals.ts";
import { elsewhere, isNil, named, one, optional } from "./operator.ts";
import type { Operator } from "./operator.ts";

/** The whole number in a number, its fraction cut off; undefined for NaN and infinities. */
function wholeOf(v: Value): bigint | undefined {
  if (typeof v === "string") return /^[+-]?\d+$/u.test(v) ? BigInt(v.replace("+", "")) : undefined;
  if (typeof v === "boolean") return v ? 1n : 0n;
  return wholePart(v, true);
}

function toInt(v: Value): Value | undefined {
  const n = wholeOf(v);
  const made = n === undefined ? undefined : integerValue(n);
  return typeof made === "number" ? made : undefined;
}

function toLong(v: Value): Value | undefined {
  const n = v instanceof Date ? BigInt(v.getTime()) : wholeOf(v);
  return n === undefined || integerValue(n) === undefined ? undefined : Long.fromBigInt(n);
}

const FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/iu;

const NOT_FINITE = /^([+-]?)(inf|infinity|nan)$/iu;

function toDouble(v: Value): Value | undefined {
  if (typeof v === "boolean") return doubleValue(Number(v));
  if (v instanceof Date) return doubleValue(v.getTime());
  if (typeof v === "string") {
    if (FLOAT.test(v)) return Number.isFinite(Number(v)) ? doubleValue(Number(v)) : undefined;
    const [, sign, special] = NOT_FINITE.exec(v) ?? [];
    if (special === undefined) return undefined;
    return doubleValue(/n$/iu.test(special) ? Number.NaN : sign === "-" ? -Infinity : Infinity);
  }
  const n = asNumber(v);
  if (n === undefined || (v instanceof Decimal128 && !Number.isFinite(n) && isFiniteNumber(v))) return undefined;
  return doubleValue(n);
}

function toDecimal(v: Value): Value | undefined {
  if (typeof v === "boolean") return asDecimal(Number(v));
  if (v instanceof Date) return asDecimal(Long.fromNumber(v.getTime()));
  if (typeof v !== "string") return isNumeric(v) ? asDecimal(v) : undefined;
  if (!FLOAT.test(v)) return undefined;
  try {
    return Decimal128.fromStringWithRounding(v);
  } catch {
    return undefined;
  }
}

/** A number, date, id or truth value as text; undefined for anything else. */
export function textOf(v: Value): string | undefined {
  if (v instanceof Date) return /^\d{4}-/u.test(v.toISOString()) ? v.toISOString() : undefined;
  if (v instanceof ObjectId) return v.toHexString();
  if (isNumeric(v)) return v instanceof Double ? String(v.value) : v.toString();
  return typeof v === "string" || typeof v === "boolean" ? String(v) : undefined;
}

const ISO_DATE =
  /^(?<day>\d{4}-\d{2}-\d{2})(?:[T ](?<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?) ?(?<zone>Z|[+-]\d{2}:?\d{2})?)?$/u;

/** A date of ISO 8601 with a day, or a day and a time; UTC unless it says otherwise. */
function dateOfText(v: string): Date | undefined {
  const { day, time = "00:00", zone = "Z" } = ISO_DATE.exec(v)?.groups ?? {};
  if (day === undefined) return undefined;
  const date = new Date(`${day}T${time}${zone.replace(/^([+-]\d{2})(\d{2})$/u, "$1:$2")}`);
  // The thirtieth of February would become a day of March.
  return Number.isNaN(date.getTime()) || new Date(`${day}T00:00Z`).toISOString().slice(0, 10) !== day
    ? undefined
    : date;
}

function toDate(v: Value): Value | undefined {
  if (v instanceof Date) return v;
  if (v instanceof ObjectId) return new Date(Buffer.from(v.id).readInt32BE(0) * 1000);
  if (v instanceof Timestamp) return new Date(v.getHighBitsUnsigned() * 1000);
  if (typeof v === "string") return dateOfText(v.trim());
  if (!isNumeric(v) || !(v instanceof Long || isDouble(v) || v instanceof Decimal128)) return undefined;
  const ms = wholeOf(v);
  const date = new Date(Number(ms ?? Number.NaN));
  return Number.isNaN(date.getTime()) ? undefined : date;
}

function toObjectId(v: Value): Value | undefined {
  if (v instanceof ObjectId) return v;
  return typeof v === "string" && /^[0-9a-f]{24}$/iu.test(v) ? new ObjectId(v) : undefined;
}

/** How a value becomes one of a type; undefined when it can't. */
const CONVERSIONS: ReadonlyMap<string, (v: Value) => Value | undefined> = new Map([
  ["int", toInt],
  ["long", toLong],
  ["double", toDouble],
  ["decimal", toDecimal],
  ["bool", isTrue],
  ["string", textOf],
  ["date", toDate],
  ["objectId", toObjectId],
]);

function failed(v: Value, type: string): StoreError {
  if (v instanceof Binary) return elsewhere("the conversion of binData");
  return new StoreError(
    "ConversionFailure",
    `Unsupported conversion from ${typeAlias(v)} to ${type} in $convert with no onError value: the value is not of that type`,
  );
}

const converting =
  (type: string): Operator =>
  (arg, at, name) => {
    if (Array.isArray(arg) && arg.length !== 1)
      throw new StoreError(50723, `${name} requires a single argument, got ${arg.length}`);
    return one((v) => {
      if (isNil(v)) return null;
      const made = CONVERSIONS.get(type)?.(v);
      if (made === undefined) throw failed(v, type);
      return made;
    })(arg, at, name);
  };

const CONVERT = { object: 9, unknown: 9, fields: { input: 9, to: 9, onError: null, onNull: null } };

function typeOf(v: Value): string {
  const to = isDoc(v) ? field(v, "type") : v;
  if (to === undefined) throw new StoreError("FailedToParse", "Missing 'type' in the 'to' of $convert");
  const number = asNumber(to);
  const name = number === undefined ? to : Object.keys(TYPE_ALIASES).find((k) => TYPE_ALIASES[k] === number);
  if (typeof name !== "string" || TYPE_ALIASES[name] === undefined)
    throw new StoreError("BadValue", "In $convert, 'to' must name a type, or be its number");
  if (name === "binData" || name === "array" || name === "object") throw elsewhere(`$convert to ${name}`);
  return name;
}

const $convert: Operator = (arg, at, name) => {
  const option = ["format", "byteOrder", "base"].find((k) => isDoc(arg) && arg[k] !== undefined);
  if (option !== undefined) throw elsewhere(`$convert with '${option}'`);
  const { input = null, to = null, onError, onNull } = named(arg, name, CONVERT);
  const [value, target] = [at.compile(input), at.compile(to)];
  const [error, nothing] = [optional(at, onError), optional(at, onNull)];
  return (env) => {
    const v = value(env);
    const wanted = target(env);
    const type = isNil(wanted) ? undefined : typeOf(wanted);
    if (isNil(v)) return nothing === undefined ? null : nothing(env);
    if (type === undefined) return null;
    const made = CONVERSIONS.get(type)?.(v);
    if (made !== undefined) return made;
    if (error === undefined) throw failed(v, type);
    return error(env);
  };
};

/** Conversions between types. */
export const CONVERTING: Readonly<Record<string, Operator>> = {
  $toInt: converting("int"),
  $toLong: converting("long"),
  $toDouble: converting("double"),
  $toDecimal: converting("decimal"),
  $toBool: converting("bool"),
  $toString: converting("string"),
  $toDate: converting("date"),
  $toObjectId: converting("objectId"),
  $convert,
};
