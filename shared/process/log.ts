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

/** The process's root log: JSON lines on stdout, or in a test's stream. It never gets transcripts or full phone numbers. */
export function rootLog(env: Env, to?: DestinationStream): Log {
  const options: LoggerOptions<string> = {
    level: env.LOG_LEVEL,
    base: { node: env.NODE_ID ?? "one" },
    redact: { paths: REDACTED, censor: "[hidden]" },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
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
