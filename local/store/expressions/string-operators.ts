import { BSONSymbol, Code } from "bson";
import type { Budget } from "../budget.ts";
import { StoreError } from "../bson/errors.ts";
import { asNumber, isNumeric, typeAlias } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";
import { between, int32Of } from "./array-operators.ts";
import { textOf } from "./conversion-operators.ts";
import { isDouble } from "./decimals.ts";
import { bounded, checkLength } from "./expression-values.ts";
import { isNil, named, one, optional, several, two } from "./operator.ts";
import type { Operator } from "./operator.ts";

/** What $trim takes off: MongoDB's list of white space. */
const BLANKS = new Set("\0 \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a");

/** A string, null for null and missing. Errors: `code` for anything else. */
function text(v: Value | undefined, code: number, what: string): string | null {
  if (isNil(v)) return null;
  if (typeof v !== "string") throw new StoreError(code, `${what} must be a string, but is ${typeAlias(v)}`);
  return v;
}

/** Code points of a text, without an array of them. */
function codePoints(v: string): number {
  let n = 0;
  for (const _ of v) n++;
  return n;
}

const $concat = several(0, Infinity, (values, budget, name) => {
  let out = "";
  for (const v of values) {
    const part = text(v, 16702, `each argument of ${name}`);
    if (part === null) return null;
    out += part;
  }
  return bounded(out, budget);
});

/** A double in the six digits that C's %g writes. */
function doubleText(n: number): string {
  if (!Number.isFinite(n)) return Number.isNaN(n) ? "nan" : n < 0 ? "-inf" : "inf";
  if (n === 0) return Object.is(n, -0) ? "-0" : "0";
  const [digits = "", power] = (Math.abs(n) < 1e-4 ? n.toExponential(5) : n.toPrecision(6)).split("e");
  const short = digits.includes(".") ? digits.replace(/\.?0+$/u, "") : digits;
  return power === undefined ? short : `${short}e${power.slice(0, 1)}${power.slice(1).padStart(2, "0")}`;
}

/** Numbers, dates and symbols are taken as text; null and missing as none. */
function coerced(v: Value | undefined): string {
  if (isNil(v)) return "";
  if (typeof v === "string") return v;
  if (v instanceof BSONSymbol) return v.value;
  if (v instanceof Code) return v.code;
  if (isNumeric(v) && isDouble(v)) return doubleText(asNumber(v) ?? 0);
  const made = isNumeric(v) || v instanceof Date ? textOf(v) : undefined;
  if (made === undefined) throw new StoreError(16007, `can't convert from BSON type ${typeAlias(v)} to String`);
  return made;
}

/** Only the letters of ASCII change, as in MongoDB. */
const cased = (range: RegExp, change: (letter: string) => string): Operator =>
  one((v, _name, budget) => bounded(coerced(v), budget).replaceAll(range, change));

const length = (code: number, of: (v: string) => number): Operator =>
  one((v, name, budget) => {
    if (typeof v !== "string") throw new StoreError(code, `${name} requires a string argument, found: ${typeAlias(v)}`);
    return of(bounded(v, budget));
  });

const $substrCP = several(3, 3, ([v, from, count], budget) => {
  const whole = coerced(v);
  const start = int32Of(from, [34450, 34451], "$substrCP: starting index");
  const taken = int32Of(count, [34452, 34453], "$substrCP: length");
  if (taken < 0) throw new StoreError(34454, "$substrCP: length must be a nonnegative integer.");
  if (start < 0) throw new StoreError(34455, "$substrCP: the starting index must be nonnegative integer.");
  return [...bounded(whole, budget)].slice(start, start + taken).join("");
});

const $indexOfCP = several(2, 4, ([v, wanted, ...bounds], budget, name) => {
  const whole = text(v, 40093, `${name}'s first argument`);
  if (whole === null) return null;
  if (typeof wanted !== "string")
    throw new StoreError(40094, `${name} requires a string as the second argument, found: ${typeAlias(wanted)}`);
  const [from, to] = between(bounds, codePoints(bounded(whole, budget)), [40096, 40097], name);
  // What is sought begins before the end; it may reach beyond.
  const at = whole.indexOf(wanted, [...whole].slice(0, from).join("").length);
  const found = at === -1 ? -1 : codePoints(whole.slice(0, at));
  return found < to ? found : -1;
});

const $split = two((v, separator, name, budget) => {
  if (isNil(v) || isNil(separator)) return null;
  const whole = text(v, 40085, `${name}'s first argument`) ?? "";
  const by = text(separator, 10503900, `${name}'s second argument`) ?? "";
  if (by === "") throw new StoreError(40087, "$split requires a non-empty separator");
  const parts = bounded(whole, budget).split(by);
  budget.spend(parts.length);
  return parts;
});

const TRIM = { object: 50696, unknown: 50694, fields: { input: 50695, chars: null } };

const trimming =
  (left: boolean, right: boolean): Operator =>
  (arg, at, name) => {
    const { input = null, chars } = named(arg, name, TRIM);
    const [value, set] = [at.compile(input), optional(at, chars)];
    return (env) => {
      const whole = text(value(env), 50699, `${name}'s input`);
      if (whole === null) return null;
      const wanted = text(set?.(env), 50700, `${name}'s chars`);
      if (set !== undefined && wanted === null) return null;
      const cut = wanted === null ? BLANKS : new Set(wanted);
      const all = [...bounded(whole, at.budget)];
      const first = left ? all.findIndex((c) => !cut.has(c)) : 0;
      const last = right ? all.findLastIndex((c) => !cut.has(c)) : all.length - 1;
      return first === -1 ? "" : all.slice(first, last + 1).join("");
    };
  };

const REPLACE = { object: 51751, unknown: 51750, fields: { input: 51749, find: 51748, replacement: 51747 } };

function replaced(whole: string, find: string, by: string, all: boolean, budget: Budget): string {
  if (!all)
    return bounded(
      whole.replace(find, () => by),
      budget,
    );
  const times = find === "" ? whole.length + 1 : whole.split(find).length - 1;
  // Counted before it is made: a short text can become a very long one.
  checkLength(whole.length + times * (by.length - find.length), budget);
  return whole.replaceAll(find, () => by);
}

const replacing =
  (all: boolean): Operator =>
  (arg, at, name) => {
    const { input = null, find = null, replacement = null } = named(arg, name, REPLACE);
    const [value, wanted, by] = [at.compile(input), at.compile(find), at.compile(replacement)];
    return (env) => {
      const whole = text(value(env), 10503904, `${name} requires that 'input'`);
      const what = text(wanted(env), 10503901, `${name} requires that 'find'`);
      const other = text(by(env), 10503902, `${name} requires that 'replacement'`);
      if (whole === null || what === null || other === null) return null;
      return replaced(whole, what, other, all, at.budget);
    };
  };

/** Strings. */
export const STRINGS: Readonly<Record<string, Operator>> = {
  $concat,
  $toLower: cased(/[A-Z]/gu, (c) => c.toLowerCase()),
  $toUpper: cased(/[a-z]/gu, (c) => c.toUpperCase()),
  $strLenCP: length(34471, codePoints),
  $strLenBytes: length(34473, (v) => Buffer.byteLength(v)),
  $substrCP,
  $indexOfCP,
  $split,
  $trim: trimming(true, true),
  $ltrim: trimming(true, false),
  $rtrim: trimming(false, true),
  $replaceOne: replacing(false),
  $replaceAll: replacing(true),
};
