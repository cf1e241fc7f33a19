import { isRecord } from "../../../../shared/json.ts";

/** How an answer's value is compared. */
export const OPERATORS = ["equals", "not_equals", "contains", "gt", "lt", "exists"] as const;
export type Operator = (typeof OPERATORS)[number];
/** What happens when the answer can't be had. */
export const ON_FAILURE = ["proceed", "abort", "defer"] as const;
export type OnFailure = (typeof ON_FAILURE)[number];

/** What an answer must hold for the check to pass. */
export interface PassWhen {
  path: string;
  operator: Operator;
  value: unknown;
}

/** A configuration's pre-check with its defaults filled in. Times in milliseconds, defer_seconds in seconds. */
export interface PreCheck {
  name: string;
  enabled: boolean;
  url: string | null;
  method: string;
  headers: Record<string, string>;
  /** Absent: none is sent. */
  body?: unknown;
  timeout_ms: number;
  /** Further tries after the first. */
  retries: number;
  /** null: any 2xx passes. */
  pass_when: PassWhen | null;
  /** Variable and the path of its value in the answer. */
  exports: [variable: string, path: string][];
  on_failure: OnFailure;
  defer_seconds: number;
  max_defers: number;
}

/** Defaults of a pre-check. Where nothing is said, a server that is away does not keep a lead from being called. */
export const DEFAULTS = {
  timeout_ms: 5000,
  retries: 1,
  on_failure: "proceed",
  defer_seconds: 600,
  max_defers: 6,
} as const;

type Free = Readonly<Record<string, unknown>>;

const numberOr = (value: unknown, otherwise: number): number =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : otherwise;
const wordOf = <W extends string>(words: readonly W[], value: unknown): W | undefined => words.find((w) => w === value);
const texts = (value: unknown): [string, string][] =>
  isRecord(value) ? Object.entries(value).filter((e): e is [string, string] => typeof e[1] === "string") : [];

function passWhen(value: unknown): PassWhen | null {
  if (!isRecord(value)) return null;
  const operator = wordOf(OPERATORS, value["operator"]);
  return operator === undefined || typeof value["path"] !== "string"
    ? null
    : { path: value["path"], operator, value: value["value"] };
}

/** Reads a pre-check as the config service let it in (it checked every field); anything else falls back to its default. */
export function preCheckOf(json: Free): PreCheck {
  const { name, url, method, body } = json;
  return {
    name: typeof name === "string" ? name : "pre-check",
    enabled: json["enabled"] !== false,
    url: typeof url === "string" ? url : null,
    method: typeof method === "string" ? method : body === undefined ? "GET" : "POST",
    headers: Object.fromEntries(texts(json["headers"])),
    ...(body === undefined ? {} : { body }),
    timeout_ms: numberOr(json["timeout_ms"], DEFAULTS.timeout_ms),
    retries: numberOr(json["retries"], DEFAULTS.retries),
    pass_when: passWhen(json["pass_when"]),
    exports: texts(json["export"]),
    on_failure: wordOf(ON_FAILURE, json["default_on_failure"]) ?? DEFAULTS.on_failure,
    defer_seconds: numberOr(json["defer_seconds"], DEFAULTS.defer_seconds),
    max_defers: numberOr(json["max_defers"], DEFAULTS.max_defers),
  };
}
