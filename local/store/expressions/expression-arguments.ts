import { StoreError } from "../bson/errors.ts";
import { isDoc } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/*
 * mingo passes over arguments it does not know; MongoDB refuses them, and so does the store. The numbers are MongoDB's own
 * codes for an unknown argument where it has one of its own.
 */

const FAILED_TO_PARSE = 9;
const N = ["input", "n"];
const REGEX = ["input", "regex", "options"];
const TRIM = ["input", "chars"];
const REPLACE = ["input", "find", "replacement"];
const DATE_MATH = ["startDate", "unit", "amount", "timezone"];

const ARGUMENTS: Readonly<Record<string, { names: readonly string[]; code?: number }>> = {
  $map: { names: ["input", "as", "in"], code: 16879 },
  $filter: { names: ["input", "as", "cond", "limit"], code: 28647 },
  $reduce: { names: ["input", "initialValue", "in"], code: 40076 },
  $let: { names: ["vars", "in"], code: 16875 },
  $cond: { names: ["if", "then", "else"], code: 17083 },
  $switch: { names: ["branches", "default"], code: 40067 },
  $zip: { names: ["inputs", "useLongestLength", "defaults"], code: 34464 },
  $sortArray: { names: ["input", "sortBy"] },
  $maxN: { names: N },
  $minN: { names: N },
  $firstN: { names: N },
  $lastN: { names: N },
  $dateAdd: { names: DATE_MATH },
  $dateSubtract: { names: DATE_MATH },
  $dateDiff: { names: ["startDate", "endDate", "unit", "timezone", "startOfWeek"] },
  $dateTrunc: { names: ["date", "unit", "binSize", "timezone", "startOfWeek"] },
  $dateToString: { names: ["date", "format", "timezone", "onNull"], code: 18534 },
  $dateToParts: { names: ["date", "timezone", "iso8601"], code: 40520 },
  $dateFromString: { names: ["dateString", "format", "timezone", "onError", "onNull"], code: 40541 },
  $dateFromParts: {
    names: [
      "year",
      "month",
      "day",
      "hour",
      "minute",
      "second",
      "millisecond",
      "isoWeekYear",
      "isoWeek",
      "isoDayOfWeek",
      "timezone",
    ],
    code: 40518,
  },
  $trim: { names: TRIM, code: 50694 },
  $ltrim: { names: TRIM, code: 50694 },
  $rtrim: { names: TRIM, code: 50694 },
  $replaceOne: { names: REPLACE, code: 51750 },
  $replaceAll: { names: REPLACE, code: 51750 },
  $regexMatch: { names: REGEX, code: 31024 },
  $regexFind: { names: REGEX, code: 31024 },
  $regexFindAll: { names: REGEX, code: 31024 },
  $convert: { names: ["input", "to", "onError", "onNull"] },
  $getField: { names: ["field", "input"] },
  $setField: { names: ["field", "input", "value"] },
  $unsetField: { names: ["field", "input"] },
  $median: { names: ["input", "method"] },
  $percentile: { names: ["input", "p", "method"] },
};

/** Operators of mingo that take a time zone and then do not heed it. */
const UTC_ONLY: ReadonlySet<string> = new Set(["$dateAdd", "$dateSubtract", "$dateTrunc"]);
const UTC: ReadonlySet<Value> = new Set<Value>(["UTC", "GMT", "Z", "+00:00", "+0000", "+00", "Etc/UTC"]);

function isExpression(arg: Doc): boolean {
  return (Object.keys(arg)[0] ?? "").startsWith("$");
}

/** Refuses named arguments an expression operator does not have. Errors: MongoDB's code for it, CommandNotSupported for a time zone that would be passed over. */
export function checkArguments(operator: string, arg: Value | undefined): void {
  const known = ARGUMENTS[operator];
  if (known === undefined || !isDoc(arg) || isExpression(arg)) return;
  const unknown = Object.keys(arg).find((k) => !known.names.includes(k));
  if (unknown !== undefined)
    throw new StoreError(known.code ?? FAILED_TO_PARSE, `Unrecognized parameter to ${operator}: ${unknown}`);
  const zone = arg["timezone"];
  if (UTC_ONLY.has(operator) && zone !== undefined && zone !== null && !UTC.has(zone)) {
    throw new StoreError(
      "CommandNotSupported",
      `${operator} with a time zone other than UTC is not supported by the embedded store`,
    );
  }
}
