import { fail, Failure } from "../../../shared/errors.ts";
import { isRecord } from "../../../shared/json.ts";
import { maskPhone } from "../../../shared/process/log.ts";
import { retryAfterSeconds } from "../../../shared/time/retry-after.ts";
import type { DialAnswer } from "./carrier-port.ts";

/** System calls that fail before a byte of the request is sent. */
const BEFORE_SENDING = new Set(["connect", "getaddrinfo"]);
/** The same in the words of fetch's client: no connection in time. */
const CONNECT_TIMEOUT = "UND_ERR_CONNECT_TIMEOUT";
/** The fetch standard keeps some ports for other protocols; nothing is ever sent there. */
const BAD_PORT = "bad port";
const TOO_MANY_STATUS = 429;
/** A 403 may be about one call; the carrier's own code decides (credentialsRefused is for its judge too). */
const UNAUTHORIZED_STATUS = 401;
const FORBIDDEN_STATUS = 403;
/** A proxy gave up waiting: the request may have reached the carrier. */
const REQUEST_TIMEOUT_STATUS = 408;
/** Longest wait a Retry-After is believed, in seconds. */
const MAX_RETRY_AFTER_SECONDS = 3600;
/** Longest sentence of a carrier that is passed on. */
const MAX_SENTENCE_CHARS = 500;
/** How deep the causes of an error are searched. */
const MAX_DEPTH = 4;

/** Phone numbers in a carrier's sentence are masked: it travels into logs and records. */
export const withoutNumbers = (text: string): string =>
  text.replace(/\+\d{7,15}/g, (number) => maskPhone(number)).slice(0, MAX_SENTENCE_CHARS);

/** When an answer was made, by its Date header and so by the same clock as a date in its Retry-After; without one no instant. */
export const answeredAt = (date: unknown): Date => new Date(typeof date === "string" ? date : Number.NaN);

/** Retry-After as seconds from `now`, whether it is a number or a date; null when it is neither. */
export function retryAfter(header: unknown, now: Date): number | null {
  const seconds = typeof header === "string" ? retryAfterSeconds(header, now) : null;
  return seconds === null ? null : Math.min(seconds, MAX_RETRY_AFTER_SECONDS);
}

/** The error itself, what caused it, and the parts of an aggregate (one per address tried). */
function* layers(error: unknown, depth = 0): Generator<Record<string, unknown>> {
  if (!isRecord(error) || depth > MAX_DEPTH) return;
  yield error;
  yield* layers(error["cause"], depth + 1);
  if (Array.isArray(error["errors"])) for (const part of error["errors"]) yield* layers(part, depth + 1);
}

/** What failed, in a word fit for logs: a system error code, or the error's name. */
export function errorCodeOf(error: unknown): string {
  for (const layer of layers(error)) if (typeof layer["code"] === "string") return layer["code"];
  return isRecord(error) && typeof error["name"] === "string" ? error["name"] : "unknown";
}

/** True when the request provably never left: refused connection, no such host, no route. */
export function neverSent(error: unknown): boolean {
  for (const layer of layers(error)) {
    if (typeof layer["syscall"] === "string") return BEFORE_SENDING.has(layer["syscall"]);
    if (layer["code"] === CONNECT_TIMEOUT || layer["message"] === BAD_PORT) return true;
  }
  return false;
}

/** An answer of a carrier's API with a status of 400 or more. */
export class Refusal extends Error {
  readonly status: number;
  /** The carrier's own code, null where the body is not the carrier's (a proxy's page). */
  readonly code: string | number | null;
  readonly retry_after_seconds: number | null;
  constructor(status: number, code: string | number | null, message: string, retry_after_seconds: number | null) {
    super(message);
    this.name = "Refusal";
    this.status = status;
    this.code = code;
    this.retry_after_seconds = retry_after_seconds;
  }
}

/** The carrier takes no more calls at the moment. */
export const tooMany = ({ retry_after_seconds }: Refusal): DialAnswer => ({
  kind: "not_placed",
  retry_after_seconds,
  reason: "the carrier takes no more calls at the moment",
});

/** The carrier refuses our account for every request: nothing rang, and nothing will until a person corrects the credentials. */
export const credentialsRefused = (status: number): Extract<DialAnswer, { kind: "not_placed" }> => ({
  kind: "not_placed",
  retry_after_seconds: null,
  reason: `the carrier refuses the credentials (HTTP ${status})`,
  credentials_refused: true,
});

/** Throws DEPENDENCY_DOWN for a carrier that could not be asked. */
export function unreachable(error: unknown): never {
  const code = error instanceof Refusal && error.code !== null ? `, code ${error.code}` : "";
  const why = error instanceof Refusal ? `HTTP ${error.status}${code}` : errorCodeOf(error);
  return fail("DEPENDENCY_DOWN", `The carrier does not answer (${why}); it will be asked again.`);
}

/** The carrier refuses our account; for whoever does not ask why, it could not be asked. */
export class CredentialsRefused extends Failure {
  readonly status: number;
  constructor(status: number) {
    super("DEPENDENCY_DOWN", `The carrier refuses the account's credentials (HTTP ${status}).`);
    this.status = status;
  }
}

/** Throws for a question about the account itself that got no answer, where a 401 and a 403 are about nothing but its credentials: CredentialsRefused, else DEPENDENCY_DOWN. */
export function accountUnanswered(error: unknown): never {
  if (error instanceof Refusal && [UNAUTHORIZED_STATUS, FORBIDDEN_STATUS].includes(error.status))
    throw new CredentialsRefused(error.status);
  return unreachable(error);
}

/** A command about a call that the carrier refused (CALL_REFUSED), or that never reached it, or when it was too busy (DEPENDENCY_DOWN). */
export function refusedCommand(what: string, error: unknown): never {
  if (!(error instanceof Refusal) || error.status >= 500 || error.status === TOO_MANY_STATUS) return unreachable(error);
  const code = error.code === null ? `HTTP ${error.status}` : `code ${error.code}`;
  return fail("CALL_REFUSED", `The carrier refused ${what} (${code}): ${error.message}`);
}

/** A request was held back before its first byte left. */
export class HeldBack extends Error {
  constructor() {
    super("the request was held back: it may not leave any more");
    this.name = "HeldBack";
  }
}

const wasHeldBack = (error: unknown): boolean => [...layers(error)].some((layer) => layer instanceof HeldBack);

/** What a failed dial request means for the attempt. Whatever is not certain is uncertain; `judge` reads the carrier's own no. */
export function failedDial(error: unknown, judge: (refusal: Refusal) => DialAnswer): DialAnswer {
  if (!(error instanceof Refusal)) {
    if (wasHeldBack(error)) return { kind: "not_sent" };
    if (neverSent(error))
      return {
        kind: "not_placed",
        retry_after_seconds: null,
        reason: `the carrier can't be reached (${errorCodeOf(error)})`,
      };
    return { kind: "uncertain", reason: `the carrier's answer never came (${errorCodeOf(error)})` };
  }
  if (error.status === TOO_MANY_STATUS) return tooMany(error);
  if (error.status === UNAUTHORIZED_STATUS) return credentialsRefused(error.status);
  if (error.status >= 500 || error.status === REQUEST_TIMEOUT_STATUS)
    return { kind: "uncertain", reason: `the carrier answered HTTP ${error.status}` };
  return judge(error);
}
