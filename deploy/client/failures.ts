import { isRecord, textOf } from "../../shared/json.ts";

/** An answer of the API that was not a success, as its problem document says it (RFC 9457). */
export class ApiFailure extends Error {
  /** HTTP status. */
  readonly status: number;
  /** The stable name of what went wrong, such as `TEMPLATE_NOT_FOUND`; `?` where the answer is no problem document. */
  readonly code: string;
  /** The answer's Retry-After, seconds; null: it has none. */
  readonly retry_after_seconds: number | null;
  /** Names the request in the service's log. Empty where the answer names none. */
  readonly request_id: string;
  /** What is wrong with which part of the request. */
  readonly errors: readonly { path: string; message: string }[];
  constructor(
    status: number,
    code: string,
    detail: string,
    more: Partial<Pick<ApiFailure, "retry_after_seconds" | "request_id" | "errors">> = {},
  ) {
    super(`${status} ${code}: ${detail}`);
    this.name = "ApiFailure";
    this.status = status;
    this.code = code;
    this.retry_after_seconds = more.retry_after_seconds ?? null;
    this.request_id = more.request_id ?? "";
    this.errors = more.errors ?? [];
  }
}

/** No answer came: nothing listens there, the connection broke, the time was over, or what answered speaks another language. `cause`: what it was. */
export class NoAnswer extends Error {
  /** True: the request was not sent, so that it can't have done anything. */
  readonly unsent: boolean;
  /** True: something answered, but no callagent. */
  readonly answered: boolean;
  constructor(message: string, cause: unknown, { unsent = false, answered = false } = {}) {
    super(message, { cause });
    this.name = "NoAnswer";
    this.unsent = unsent;
    this.answered = answered;
  }
}

const SECONDS = /^\d{1,6}$/;
/** Seconds of a Retry-After header; null: none, or a date. */
export const retryAfterOf = (header: string | null): number | null =>
  header !== null && SECONDS.test(header) ? Number(header) : null;

/** Longest part of an answer that is no problem document which an error shows, characters. */
const MAX_SHOWN = 200;

/** A failed answer as an error. */
export function failureOf(status: number, text: string, parsed: unknown, headers: Headers): ApiFailure {
  const problem = isRecord(parsed) ? parsed : {};
  const listed: readonly unknown[] = Array.isArray(problem["errors"]) ? problem["errors"] : [];
  const errors = listed
    .filter((one) => isRecord(one))
    .map((one) => ({ path: textOf(one["path"]), message: textOf(one["message"]) }));
  const said = textOf(problem["detail"]) || textOf(problem["title"]) || text.slice(0, MAX_SHOWN);
  const faults = errors.map((e) => `${e.path} ${e.message}`).join("; ");
  return new ApiFailure(status, textOf(problem["code"]) || "?", [said, faults].filter(Boolean).join(" — "), {
    retry_after_seconds: retryAfterOf(headers.get("retry-after")),
    request_id: textOf(problem["request_id"]),
    errors,
  });
}

/** Codes of a request that was not sent. */
const UNSENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

interface Thrown {
  name: string;
  message: string;
  /** The system's word for it. */
  code: string;
  cause: unknown;
}

/** What was thrown, whichever realm it is of: instanceof can't tell. */
function thrownOf(thrown: unknown): Thrown {
  if (typeof thrown !== "object" || thrown === null)
    return { name: "", message: String(thrown), code: "", cause: null };
  return {
    name: "name" in thrown ? textOf(thrown.name) : "",
    message: "message" in thrown ? textOf(thrown.message) : "",
    code: "code" in thrown ? textOf(thrown.code) : "",
    cause: "cause" in thrown ? thrown.cause : null,
  };
}

/** What kept a request from an answer, as an error. `where`: the address without what is secret in it. */
export function noAnswerOf(error: unknown, where: string, timeout_ms: number): NoAnswer {
  const { name, message, cause } = thrownOf(error);
  const { code } = thrownOf(cause);
  const said = name === "TimeoutError" ? `no answer within ${timeout_ms / 1000} s` : code || message;
  return new NoAnswer(`${where}: ${said}`, error, { unsent: UNSENT.has(code) });
}
