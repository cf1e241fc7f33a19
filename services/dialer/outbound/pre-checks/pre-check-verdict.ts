import { isDeepStrictEqual } from "node:util";
import { smallestFitting } from "../../../../shared/batching.ts";
import { PRE_CHECK_BYTES } from "../../../../shared/contracts/records/attempt.ts";
import { isTooDeep, jsonBytes, MAX_JSON_DEPTH } from "../../../../shared/json.ts";
import type { OnFailure, PassWhen, PreCheck } from "./pre-check.ts";

/** What came back: a status and, where one was asked for, the JSON of its body; or a sentence that says why there is none. */
export type Answer = { http_status: number | null } & ({ json: unknown } | { fault: string });

/** A pre-check's judgement. `detail`: why it did not pass, for people; never a secret. */
export interface Judgement {
  status: "passed" | "failed" | "error";
  http_status: number | null;
  exported: Record<string, unknown>;
  detail: string | null;
}

/** A pre-check's result as it is kept with the lead. */
export interface PreCheckResult extends Record<string, unknown> {
  name: string;
  status: Judgement["status"] | "skipped";
  http_status: number | null;
  duration_ms: number;
  exported: Record<string, unknown>;
  detail: string | null;
  at: string;
  /** The claim it belongs to. */
  attempt: number;
}

/** Names that variables may have, and the longest value that is taken, in characters of JSON. */
const VARIABLE = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const MAX_EXPORT_CHARS = 4000;
/** Of a client's words in a detail. */
const MAX_DETAIL_CHARS = 200;

const OK_FIRST = 200;
const OK_LAST = 299;

/** True for a 2xx. */
export const isSuccess = (http_status: number): boolean => http_status >= OK_FIRST && http_status <= OK_LAST;

/** The value at a path such as `data.items.0.id` or `$.data.items[0].id`; undefined where there is none. Inherited properties never count. */
export function valueAt(json: unknown, path: string): unknown {
  const steps = path
    .replace(/^\$\.?/, "")
    .replaceAll(/\[(\d+)\]/g, ".$1")
    .split(".")
    .filter((step) => step !== "");
  let value = json;
  for (const step of steps) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

const numberOf = (value: unknown): number => {
  if (typeof value === "number") return value;
  return typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
};

function contains(value: unknown, wanted: unknown): boolean {
  if (typeof value === "string") return typeof wanted === "string" && value.includes(wanted);
  return Array.isArray(value) && value.some((item) => isDeepStrictEqual(item, wanted));
}

/** Whether an answer's JSON is as it must be. `exists` with the value false means: it must not be there; null counts as not there. Numbers may be written as texts for gt and lt. */
export function holds(json: unknown, { path, operator, value: wanted }: PassWhen): boolean {
  const value = valueAt(json, path);
  switch (operator) {
    case "equals":
      return isDeepStrictEqual(value, wanted);
    case "not_equals":
      return !isDeepStrictEqual(value, wanted);
    case "contains":
      return contains(value, wanted);
    case "gt":
      return numberOf(value) > numberOf(wanted);
    case "lt":
      return numberOf(value) < numberOf(wanted);
    case "exists":
      return (value !== undefined && value !== null) === (wanted !== false);
  }
}

const isExportable = (variable: string, value: unknown): boolean =>
  VARIABLE.test(variable) && value !== undefined && JSON.stringify(value).length <= MAX_EXPORT_CHARS;

/** Judges an answer: a 2xx whose condition holds passes; one that does not hold fails; everything else is an error. */
export function judge(check: PreCheck, answer: Answer): Judgement {
  const { http_status } = answer;
  const error = (detail: string): Judgement => ({ status: "error", http_status, exported: {}, detail });
  if ("fault" in answer) return error(answer.fault);
  if (http_status === null || !isSuccess(http_status)) return error(`it was answered HTTP ${http_status}`);
  if (isTooDeep(answer.json)) return error(`the answer is nested deeper than ${MAX_JSON_DEPTH} levels`);
  if (check.pass_when !== null && !holds(answer.json, check.pass_when)) {
    const { path, operator } = check.pass_when;
    return {
      status: "failed",
      http_status,
      exported: {},
      detail: `the answer's "${path.slice(0, MAX_DETAIL_CHARS)}" is not as it must be (${operator})`,
    };
  }
  const wanted = check.exports.map(([variable, path]) => [variable, valueAt(answer.json, path)] as const);
  const exported = Object.fromEntries(wanted.filter(([variable, value]) => isExportable(variable, value)));
  return { status: "passed", http_status, exported, detail: null };
}

/** A judgement whose variables fit beside those that the checks before it gave: of too many the largest are left out, and named. */
export function withinBounds<J extends Judgement>(judged: J, before: Readonly<Record<string, unknown>>): J {
  const { kept, left } = smallestFitting(judged.exported, PRE_CHECK_BYTES.exported - jsonBytes(before));
  const names = left.join(", ").slice(0, MAX_DETAIL_CHARS);
  return left.length === 0
    ? judged
    : {
        ...judged,
        exported: kept,
        detail: `the variables of all pre-checks are too large together; left out: ${names}`,
      };
}

/** What a judged check means for the attempt: it goes on, ends without a call, or the lead is deferred. Deferrals are limited. */
export function whatNext(check: PreCheck, status: Judgement["status"], defers: number): "go_on" | "abort" | "defer" {
  if (status === "passed") return "go_on";
  if (status === "failed") return "abort";
  const next: Record<OnFailure, "go_on" | "abort" | "defer"> = {
    proceed: "go_on",
    abort: "abort",
    defer: defers < check.max_defers ? "defer" : "abort",
  };
  return next[check.on_failure];
}

/** True when the answer's body is of interest at all. */
export const readsJson = (check: PreCheck): boolean => check.pass_when !== null || check.exports.length > 0;
