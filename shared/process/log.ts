import { pino, type DestinationStream, type LoggerOptions } from "pino";
import type { Env } from "./env.ts";

/** Structured log of one service. `npm start` shows the lines with a field `event` as the path of a lead. */
export type Log = ReturnType<typeof pino>;

const REDACTED = [
  "password",
  "token",
  "authorization",
  "secret",
  "*.password",
  "*.token",
  "*.authorization",
  "*.secret",
  "headers.authorization",
];

/** Figures have this many decimals at most: a thousandth of a millisecond says nothing, and clocks give thirteen. */
const DECIMALS = 3;
const SCALE = 10 ** DECIMALS;
/** So deep lists and records in a line are looked into. */
const ROUNDED_DEPTH = 3;

const isPlain = (value: object): value is Record<string, unknown> =>
  [Object.prototype, null].includes(Object.getPrototypeOf(value));

const fraction = (value: number): boolean => Number.isFinite(value) && !Number.isInteger(value);

/** The value with its figures rounded; errors, dates and the like stay what they are. */
function rounded(value: unknown, depth: number): unknown {
  if (typeof value === "number") return fraction(value) ? Math.round(value * SCALE) / SCALE : value;
  if (typeof value !== "object" || value === null || depth === 0) return value;
  if (Array.isArray(value)) return value.map((item) => rounded(item, depth - 1));
  return isPlain(value) ? roundedFields(value, depth) : value;
}

const roundedFields = (fields: Record<string, unknown>, depth: number): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, rounded(value, depth - 1)]));

/** The process's root log: JSON lines on stdout, or in a test's stream. It never gets transcripts or full phone numbers. */
export function rootLog(env: Env, to?: DestinationStream): Log {
  const options: LoggerOptions<string> = {
    level: env.LOG_LEVEL,
    base: { node: env.NODE_ID ?? "one" },
    redact: { paths: REDACTED, censor: "[hidden]" },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }), log: (fields) => roundedFields(fields, ROUNDED_DEPTH) },
  };
  return to ? pino(options, to) : pino(options);
}

/** Moleculer's logger, whose lines have the shape of ours: `service` is `bus`, and `mod` the part of the broker. */
export const brokerLogger = (log: Log, level: "fatal" | "error" | "warn") => ({
  type: "Pino",
  options: {
    level,
    createLogger: (at: string, { mod }: { mod: string }): Log => log.child({ service: "bus", mod }, { level: at }),
  },
});

const KEPT_HEAD = 5;
const KEPT_TAIL = 4;

/** A phone number fit for logs: `+1415***0100`. */
export const maskPhone = (phone: string): string =>
  phone.length <= KEPT_HEAD + KEPT_TAIL ? "***" : `${phone.slice(0, KEPT_HEAD)}***${phone.slice(-KEPT_TAIL)}`;

/** Log form of a thrown value: name, code and message, and the stack where it is unexpected. */
export function errorForLog(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const type = "type" in error ? error.type : undefined;
  return { name: error.name, type, message: error.message, ...(type === undefined ? { stack: error.stack } : {}) };
}
