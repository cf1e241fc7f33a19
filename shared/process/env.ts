import { MAX_READERS, streamReadersIn } from "../contracts/events/event-subjects.ts";
import { readFileSync } from "node:fs";
import { UsageError } from "./command-line.ts";
import { busServers } from "../bus/bus-address.ts";
import { busSigners } from "../bus/bus-signers.ts";
import { isPriceAmount, parseCallPrices } from "../call-prices.ts";
import { destinationVariableIssues } from "../numbering/destination.ts";
import { modelIssues } from "./model-endpoints.ts";
import { roomIssues } from "./room-variables.ts";
import { keyIssues } from "./key-variables.ts";
import { traceIssues } from "../tracing/trace-variables.ts";
import { VARIABLES, type Variable } from "./variables.ts";
import { isTimeZone, NO_TIME_ZONE } from "../time/time-zones.ts";

type ValueOf<V extends Variable> = V extends { kind: "integer" }
  ? number
  : V extends { kind: "boolean" }
    ? boolean
    : V extends { kind: "enum"; values: readonly (infer W)[] }
      ? W
      : string;

type Read<T extends Record<string, Variable>> = {
  readonly [K in keyof T as T[K] extends { default: unknown } ? K : never]: ValueOf<T[K]>;
} & { readonly [K in keyof T as T[K] extends { default: unknown } ? never : K]?: ValueOf<T[K]> };

/** The environment, typed, defaulted, cross-checked and frozen. */
export type Env = Read<typeof VARIABLES>;

/** Names every issue of the environment at once. */
export class EnvironmentError extends UsageError {
  constructor(issues: string[]) {
    super(`The environment is not usable:\n${issues.map((f) => `  - ${f}`).join("\n")}`);
    this.name = "EnvironmentError";
  }
}

const BOOLEAN_TEXTS: Record<string, boolean> = {
  true: true,
  "1": true,
  yes: true,
  false: false,
  "0": false,
  no: false,
};

function parse(name: string, text: string, v: Variable): string | number | boolean {
  const wrong = (what: string): never => {
    throw new Error(`${name} must be ${what}${v.secret ? "" : `, not "${text}"`}`);
  };
  if (v.kind === "integer") {
    const n = Number(text);
    if (!Number.isSafeInteger(n) || n < (v.min ?? -Infinity) || n > (v.max ?? Infinity))
      wrong(`a whole number from ${v.min} to ${v.max}`);
    return n;
  }
  if (v.kind === "boolean") return BOOLEAN_TEXTS[text.toLowerCase()] ?? wrong("true or false");
  if (v.kind === "enum" && !v.values?.includes(text)) wrong(`one of ${v.values?.join(", ")}`);
  if (v.kind === "url") {
    if (!URL.canParse(text)) wrong("a URL");
    return text.replace(/\/+$/, "");
  }
  return text;
}

function crossCheck(env: Env): string[] {
  const issues: string[] = [];
  if (!isTimeZone(env.DEFAULT_TIMEZONE)) issues.push(`DEFAULT_TIMEZONE "${env.DEFAULT_TIMEZONE}" ${NO_TIME_ZONE}`);
  for (const name of ["NAMESPACE", "NODE_ID"] as const)
    if (/[\s*>]/.test(env[name] ?? ""))
      issues.push(`${name} must not contain spaces, * or >: it is a part of the bus's subjects`);
  issues.push(
    ...busServers(env).issues,
    ...busSigners(env).issues,
    ...keyIssues(env),
    ...roomIssues(env),
    ...traceIssues(env),
  );
  for (const origin of (env.CORS_ORIGINS ?? "").split(",").map((o) => o.trim())) {
    if (origin !== "" && (!URL.canParse(origin) || new URL(origin).origin !== origin))
      issues.push(
        `CORS_ORIGINS holds "${origin}", which is no origin; write scheme, host and port only, like https://app.example.com`,
      );
  }
  if (env.CALLAGENT_EVENTS === "jetstream" && busServers(env).servers.length === 0)
    issues.push("CALLAGENT_EVENTS=jetstream needs TRANSPORTER, the NATS server with JetStream");
  if (streamReadersIn(env.EVENTS_READERS) === null)
    issues.push(
      `EVENTS_READERS is "${env.EVENTS_READERS}"; write up to ${MAX_READERS} different names of letters, digits and hyphens, by commas, like billing, acme=<reseller id>`,
    );
  if (env.EVENTS_READERS !== undefined && env.CALLAGENT_EVENTS !== "jetstream")
    issues.push("EVENTS_READERS needs CALLAGENT_EVENTS=jetstream, the stream that they read");
  if ((env.ADMIN_EMAIL === undefined) !== (env.ADMIN_PASSWORD === undefined))
    issues.push("ADMIN_EMAIL and ADMIN_PASSWORD go together: set both or none");
  issues.push(...parseCallPrices(env.CALL_PRICES).faults, ...modelIssues(env));
  if (env.SPEND_DEFAULT_PRICE !== undefined && !isPriceAmount(env.SPEND_DEFAULT_PRICE))
    issues.push(
      `SPEND_DEFAULT_PRICE is "${env.SPEND_DEFAULT_PRICE}"; write an amount per minute with a point and at most six decimals, like 0.014`,
    );
  issues.push(...destinationVariableIssues(env.CALL_COUNTRIES, env.CALL_SPECIAL_NUMBERS));
  if (env.UPLOAD_CALL_RECORDINGS_TO_CLOUD && env.S3_BUCKET === undefined)
    issues.push("UPLOAD_CALL_RECORDINGS_TO_CLOUD needs S3_BUCKET, the bucket recordings go to");
  if ((env.S3_ACCESS_KEY_ID === undefined) !== (env.S3_SECRET_ACCESS_KEY === undefined))
    issues.push("S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY go together: set both or none");
  if (env.NODE_ENV === "production" && env.CRASH_AT !== undefined)
    issues.push("CRASH_AT is a test switch and is refused when NODE_ENV is production");
  if (env.NODE_ENV === "production" && env.WEBHOOK_ALLOW_PRIVATE)
    issues.push("WEBHOOK_ALLOW_PRIVATE is refused when NODE_ENV is production");
  return issues;
}

type Source = Readonly<Record<string, string | undefined>>;

/** What a variable is set to. A secret may lie in a file that `<NAME>_FILE` names, as orchestrators mount them. */
function textOf(name: string, v: Variable, source: Source): string | undefined {
  const text = source[name]?.trim();
  const path = v.secret === true ? (source[`${name}_FILE`]?.trim() ?? "") : "";
  if (path === "") return text;
  if (text !== undefined && text !== "") throw new Error(`${name} and ${name}_FILE are set: set one of them`);
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new Error(`${name}_FILE names ${path}, which can't be read`, { cause: error });
  }
}

/** Reads the environment. Throws EnvironmentError with every issue. An empty variable counts as unset, and so does an empty file. */
export function readEnv(source: Source = process.env): Env {
  const issues: string[] = [];
  const values: Record<string, string | number | boolean> = {};
  for (const [name, v] of Object.entries<Variable>(VARIABLES)) {
    try {
      const text = textOf(name, v, source);
      const value = text === undefined || text === "" ? v.default : parse(name, text, v);
      if (value !== undefined) values[name] = value;
    } catch (error) {
      issues.push(error instanceof Error ? error.message : String(error));
    }
  }
  const env = Object.freeze(values) as Env;
  if (issues.length === 0) issues.push(...crossCheck(env));
  if (issues.length > 0) throw new EnvironmentError(issues);
  return env;
}

/** Moleculer's runner lets a variable with the name of an option override the configuration file; here the file decides. */
export function hideFromRunner(names: readonly (keyof typeof VARIABLES)[]): void {
  for (const name of names) delete process.env[name];
}
