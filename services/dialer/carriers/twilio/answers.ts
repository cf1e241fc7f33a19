import { maskPhone } from "../../../../shared/log.ts";
import type { DialAnswer } from "../port.ts";

/** An answer of Twilio's API with a status of 400 or more. */
export class Refusal extends Error {
  readonly status: number;
  /** Twilio's own code, null where the body is not Twilio's (a proxy's page). */
  readonly code: number | null;
  readonly retry_after_seconds: number | null;
  constructor(status: number, code: number | null, message: string, retry_after_seconds: number | null) {
    super(message);
    this.name = "Refusal";
    this.status = status;
    this.code = code;
    this.retry_after_seconds = retry_after_seconds;
  }
}

/** Codes that mean the called number itself is no good (https://www.twilio.com/docs/api/errors). */
const INVALID_NUMBER = new Set([21_211, 21_214, 21_217, 21_401, 13_223, 13_224]);
/** The account is over its limit; comes with 429, and with 400 in older accounts. */
const TOO_MANY = 20_429;
const TOO_MANY_STATUS = 429;
/** A proxy gave up waiting: the request may have reached Twilio. */
const REQUEST_TIMEOUT_STATUS = 408;
/** System calls that fail before a byte of the request is sent. */
const BEFORE_SENDING = new Set(["connect", "getaddrinfo"]);

/** Longest wait a Retry-After is believed, in seconds. */
const MAX_RETRY_AFTER_SECONDS = 3600;

const isRecord = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null;

/** Phone numbers in a carrier's sentence are masked: it travels into logs and records. */
export const withoutNumbers = (text: string): string => text.replace(/\+\d{7,15}/g, (number) => maskPhone(number)).slice(0, 500);

/** Retry-After as seconds from `now`, whether it is a number or a date; null when it is neither. */
export function retryAfter(header: unknown, now: Date): number | null {
  if (typeof header !== "string" || header.trim() === "") return null;
  const seconds = /^\d+$/.test(header.trim()) ? Number(header) : Math.ceil((Date.parse(header) - now.getTime()) / 1000);
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER_SECONDS);
}

/** A failed answer's status, headers and body as a Refusal. */
export function refusalOf(status: number, body: unknown, headers: unknown, now: Date): Refusal {
  const { code, message } = isRecord(body) ? body : {};
  const wait = retryAfter(isRecord(headers) ? headers["retry-after"] : undefined, now);
  return new Refusal(status, typeof code === "number" ? code : null, withoutNumbers(typeof message === "string" ? message : `HTTP ${status}`), wait);
}

/** The error itself, what caused it, and the parts of an aggregate (one per address tried). */
function* layers(error: unknown, depth = 0): Generator<Record<string, unknown>> {
  if (!isRecord(error) || depth > 4) return;
  yield error;
  yield* layers(error["cause"], depth + 1);
  if (Array.isArray(error["errors"])) for (const part of error["errors"]) yield* layers(part, depth + 1);
}

/** What failed, in a word fit for logs: a system error code, or the error's name. */
export function faultWord(error: unknown): string {
  for (const layer of layers(error)) if (typeof layer["code"] === "string") return layer["code"];
  return error instanceof Error ? error.name : "unknown";
}

/** True when the request provably never left: refused connection, no such host, no route. */
export function neverSent(error: unknown): boolean {
  for (const layer of layers(error)) if (typeof layer["syscall"] === "string") return BEFORE_SENDING.has(layer["syscall"]);
  return false;
}

/** What a failed dial request means for the attempt (reliability.md 3.1, step 8). Whatever is not certain is uncertain. */
export function dialAnswerOf(error: unknown): DialAnswer {
  if (!(error instanceof Refusal)) {
    if (neverSent(error)) return { kind: "not_placed", retry_after_seconds: null, reason: `the carrier can't be reached (${faultWord(error)})` };
    return { kind: "uncertain", reason: `the carrier's answer never came (${faultWord(error)})` };
  }
  if (error.status === TOO_MANY_STATUS || error.code === TOO_MANY) return { kind: "not_placed", retry_after_seconds: error.retry_after_seconds, reason: "the carrier takes no more calls at the moment" };
  if (error.status >= 500 || error.status === REQUEST_TIMEOUT_STATUS) return { kind: "uncertain", reason: `the carrier answered HTTP ${error.status}` };
  const invalid_number = error.code !== null && INVALID_NUMBER.has(error.code);
  return { kind: "refused", invalid_number, carrier_code: String(error.code ?? error.status), reason: error.message };
}
