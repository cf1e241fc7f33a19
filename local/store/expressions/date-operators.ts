import { Long, ObjectId, Timestamp } from "bson";
import { IANAZone } from "luxon";
import { StoreError } from "../bson/errors.ts";
import { isDoc, typeAlias } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";
import { isNil, named, optional } from "./operator.ts";
import type { Operator } from "./operator.ts";

const MS_PER_MINUTE = 60_000;
const MS_PER_DAY = 86_400_000;
const UTC: ReadonlySet<Value | undefined> = new Set<Value | undefined>(["UTC", "GMT", "Z"]);
const OFFSET = /^(?<sign>[+-])(?<hours>\d{2}):?(?<minutes>\d{2})?$/u;

/** The instant of a date, timestamp or id. Errors: 16006 for anything else. */
function instantOf(v: Value): number {
  if (v instanceof Date) return v.getTime();
  // MongoDB reads the seconds of an id as a signed number.
  if (v instanceof ObjectId) return Buffer.from(v.id).readInt32BE(0) * 1000;
  if (v instanceof Timestamp) return v.getHighBitsUnsigned() * 1000;
  throw new StoreError(16006, `can't convert from BSON type ${typeAlias(v)} to Date`);
}

/** Minutes that a time zone is ahead of UTC at an instant. Errors: 40485, 40517. */
function minutesAhead(zone: Value, at: number): number {
  if (typeof zone !== "string")
    throw new StoreError(40517, `timezone must evaluate to a string, found ${typeAlias(zone)}`);
  if (UTC.has(zone)) return 0;
  const { sign, hours = "0", minutes = "0" } = OFFSET.exec(zone)?.groups ?? {};
  if (sign !== undefined) return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  if (!IANAZone.isValidZone(zone)) throw new StoreError(40485, `unrecognized time zone identifier: "${zone}"`);
  return IANAZone.create(zone).offset(at);
}

/** A date whose parts in UTC are those of the instant in a time zone. */
const localDate = (at: number, ahead: number): Date => new Date(at + ahead * MS_PER_MINUTE);

const dayOfYear = (d: Date): number => Math.floor((d.getTime() - Date.UTC(d.getUTCFullYear(), 0, 1)) / MS_PER_DAY) + 1;

/** The week of the year; its first Sunday begins week 1. */
const sundayWeek = (d: Date): number => Math.floor((dayOfYear(d) + 6 - d.getUTCDay()) / 7);

/** ISO 8601's week and the year it belongs to: that of its Thursday. */
function isoWeek(d: Date): { year: number; week: number } {
  const thursday = new Date(d.getTime() + (3 - ((d.getUTCDay() + 6) % 7)) * MS_PER_DAY);
  return { year: thursday.getUTCFullYear(), week: Math.ceil(dayOfYear(thursday) / 7) };
}

const PART = { object: 40535, unknown: 40535, fields: { date: 40539, timezone: null } };

const part =
  (of: (d: Date) => number | Long): Operator =>
  (arg, at, name) => {
    const args = isDoc(arg) && !(Object.keys(arg)[0] ?? "").startsWith("$") ? named(arg, name, PART) : undefined;
    if (Array.isArray(arg) && arg.length !== 1)
      throw new StoreError(
        40536,
        `${name} accepts exactly one argument if given an array, but was given ${arg.length}`,
      );
    const date = at.compile(
      args === undefined ? (Array.isArray(arg) ? (arg[0] ?? null) : arg) : (args["date"] ?? null),
    );
    const zone = optional(at, args?.["timezone"]);
    return (env) => {
      const v = date(env);
      const where = zone === undefined ? "UTC" : zone(env);
      if (isNil(v) || isNil(where)) return null;
      const instant = instantOf(v);
      return of(localDate(instant, minutesAhead(where, instant)));
    };
  };

const padded = (n: number, width: number): string => String(n).padStart(width, "0");

function offsetText(ahead: number): string {
  const minutes = Math.abs(ahead);
  return `${ahead < 0 ? "-" : "+"}${padded(Math.floor(minutes / 60), 2)}${padded(minutes % 60, 2)}`;
}

const MONTHS = "January February March April May June July August September October November December".split(" ");

const FORMATS: ReadonlyMap<string, (d: Date, ahead: number) => string> = new Map<
  string,
  (d: Date, ahead: number) => string
>([
  ["%", () => "%"],
  ["Y", (d) => padded(d.getUTCFullYear(), 4)],
  ["m", (d) => padded(d.getUTCMonth() + 1, 2)],
  ["d", (d) => padded(d.getUTCDate(), 2)],
  ["H", (d) => padded(d.getUTCHours(), 2)],
  ["M", (d) => padded(d.getUTCMinutes(), 2)],
  ["S", (d) => padded(d.getUTCSeconds(), 2)],
  ["L", (d) => padded(d.getUTCMilliseconds(), 3)],
  ["j", (d) => padded(dayOfYear(d), 3)],
  ["w", (d) => String(d.getUTCDay() + 1)],
  ["u", (d) => String(d.getUTCDay() || 7)],
  ["U", (d) => padded(sundayWeek(d), 2)],
  ["G", (d) => padded(isoWeek(d).year, 4)],
  ["V", (d) => padded(isoWeek(d).week, 2)],
  ["b", (d) => (MONTHS[d.getUTCMonth()] ?? "").slice(0, 3)],
  ["B", (d) => MONTHS[d.getUTCMonth()] ?? ""],
  ["z", (_d, ahead) => offsetText(ahead)],
  ["Z", (_d, ahead) => String(ahead)],
]);

function formatted(format: Value, d: Date, ahead: number): string {
  if (typeof format !== "string")
    throw new StoreError(18533, `$dateToString requires that 'format' be a string, found: ${typeAlias(format)}`);
  if (/^(?:[^%]|%.)*%$/su.test(format)) throw new StoreError(18535, "Unmatched '%' at end of format string");
  if (d.getUTCFullYear() < 0 || d.getUTCFullYear() > 9999)
    throw new StoreError(18537, "$dateToString is only defined on year 0-9999");
  return format.replaceAll(/%(.)/gsu, (_all, letter: string) => {
    const write = FORMATS.get(letter);
    if (write === undefined) throw new StoreError(18536, `Invalid format character '%${letter}' in format string`);
    return write(d, ahead);
  });
}

const TO_STRING = {
  object: 18629,
  unknown: 18534,
  fields: { date: 18628, format: null, timezone: null, onNull: null },
};

const $dateToString: Operator = (arg, at, name) => {
  const args = named(arg, name, TO_STRING);
  const date = at.compile(args["date"] ?? null);
  const [format, zone, onNull] = ["format", "timezone", "onNull"].map((k) => optional(at, args[k]));
  return (env) => {
    const v = date(env);
    const where = zone === undefined ? "UTC" : zone(env);
    const usual = UTC.has(where) ? "%Y-%m-%dT%H:%M:%S.%LZ" : "%Y-%m-%dT%H:%M:%S.%L";
    const how = format === undefined ? usual : format(env);
    if (isNil(v)) return onNull === undefined ? null : onNull(env);
    if (isNil(how) || isNil(where)) return null;
    const instant = instantOf(v);
    const ahead = minutesAhead(where, instant);
    return formatted(how, localDate(instant, ahead), ahead);
  };
};

/** Parts of dates, and dates as text. */
export const DATES: Readonly<Record<string, Operator>> = {
  $year: part((d) => d.getUTCFullYear()),
  $month: part((d) => d.getUTCMonth() + 1),
  $dayOfMonth: part((d) => d.getUTCDate()),
  $hour: part((d) => d.getUTCHours()),
  $minute: part((d) => d.getUTCMinutes()),
  $second: part((d) => d.getUTCSeconds()),
  $millisecond: part((d) => d.getUTCMilliseconds()),
  $dayOfYear: part(dayOfYear),
  $dayOfWeek: part((d) => d.getUTCDay() + 1),
  $isoDayOfWeek: part((d) => d.getUTCDay() || 7),
  $isoWeek: part((d) => isoWeek(d).week),
  $isoWeekYear: part((d) => Long.fromNumber(isoWeek(d).year)),
  $week: part(sundayWeek),
  $dateToString,
};
