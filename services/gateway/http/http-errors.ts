import { CATALOGUE, codeOf, type ErrorCode, type ValidationIssue } from "../../../shared/errors.ts";
import { isRecord } from "../../../shared/json.ts";

/** HTTP statuses of the catalogue; the styles below override some. No other file defines error statuses. */
const STATUS: Record<ErrorCode, number> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  INVALID_CREDENTIALS: 422,
  VALIDATION_FAILED: 400,
  PAYLOAD_INVALID: 422,
  INVALID_PHONE_NUMBER: 400,
  MALFORMED_JSON: 400,
  MALFORMED_REQUEST: 400,
  HEADERS_TOO_LARGE: 431,
  REQUEST_TOO_SLOW: 408,
  EXPECTATION_FAILED: 417,
  UNSUPPORTED_MEDIA_TYPE: 415,
  BODY_TOO_LARGE: 413,
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  TEMPLATE_UNKNOWN: 400,
  TEMPLATE_NOT_FOUND: 404,
  TEMPLATE_INVALID: 400,
  TEMPLATE_INACTIVE: 409,
  LEAD_NOT_FOUND: 404,
  RESELLER_NOT_FOUND: 404,
  RESELLER_UNKNOWN: 400,
  MERCHANT_NOT_FOUND: 404,
  USER_NOT_FOUND: 404,
  TOKEN_NOT_FOUND: 404,
  EMAIL_EXISTS: 409,
  NUMBER_NOT_FOUND: 404,
  DOOR_NOT_FOUND: 404,
  ENDPOINT_NOT_FOUND: 404,
  CONFIGURATION_NOT_FOUND: 404,
  SECRET_NOT_FOUND: 404,
  BLACKLIST_ENTRY_NOT_FOUND: 404,
  ERASURE_NOT_FOUND: 404,
  LEGAL_HOLD: 409,
  LEGAL_HOLD_NOT_FOUND: 404,
  NUMBER_BLACKLISTED: 403,
  NUMBER_EXISTS: 409,
  NUMBER_NOT_HELD: 422,
  CONFIGURATION_EXISTS: 409,
  RESOURCE_IN_USE: 409,
  WEBHOOK_ADDRESS_REFUSED: 400,
  IDEMPOTENCY_KEY_REUSED: 409,
  DUPLICATE_REQUEST: 409,
  WRONG_MODE: 409,
  SESSION_NOT_LIVE: 409,
  SESSION_TAKEN: 409,
  SESSION_OVER: 409,
  SESSION_HELD: 409,
  DELIVERY_NOT_FOUND: 404,
  DELIVERY_PENDING: 409,
  RECORDING_NOT_FOUND: 404,
  RECORDING_NOT_READY: 404,
  RECORDING_FAILED: 502,
  RANGE_NOT_SATISFIABLE: 416,
  SIGNATURE_INVALID: 403,
  PROVIDER_UNCONFIGURED: 501,
  CALL_REFUSED: 502,
  RATE_LIMITED: 429,
  BUSY: 503,
  NOT_AVAILABLE: 501,
  STORE_UNAVAILABLE: 503,
  DEPENDENCY_DOWN: 503,
  TIMEOUT: 504,
  MESSAGE_TOO_LARGE: 500,
  INTERNAL: 500,
};

/**
 * How an endpoint answers: `plain` invalid input is 400; `unprocessable` it is 422 (log-in, token);
 * `push` 400 for missing or unknown fields and a wrong execution_mode, 422 for everything else about the input, 500 when the write failed;
 * `carrier` a request that no carrier would make is 404.
 */
export type Answering = "plain" | "unprocessable" | "push" | "carrier";

const IN_STYLE: Record<Answering, Partial<Record<ErrorCode, number>>> = {
  plain: {},
  unprocessable: { VALIDATION_FAILED: 422, RESELLER_UNKNOWN: 422 },
  push: { INVALID_PHONE_NUMBER: 422, WEBHOOK_ADDRESS_REFUSED: 422, STORE_UNAVAILABLE: 500 },
  carrier: { VALIDATION_FAILED: 404, PROVIDER_UNCONFIGURED: 404 },
};

/** Seconds after which a client may try again where the failure names none. */
const RETRY_AFTER_SECONDS: Partial<Record<ErrorCode, number>> = {
  RATE_LIMITED: 60,
  BUSY: 2,
  STORE_UNAVAILABLE: 2,
  DEPENDENCY_DOWN: 2,
  TIMEOUT: 2,
};

/** Details for errors that are not Failures: their own messages name nodes, drivers and frameworks. */
const PUBLIC_MESSAGES: Partial<Record<ErrorCode, string>> = {
  DEPENDENCY_DOWN: "A part of the service is not reachable at the moment. Try again in a few seconds.",
  TIMEOUT:
    "A part of the service did not answer in time; the request may or may not have taken effect. Look before you repeat it.",
  STORE_UNAVAILABLE: "The database did not take the request. Try again in a few seconds.",
  BUSY: "The service has no room for more work at the moment; try again in a few seconds.",
  INTERNAL: "An unexpected fault; it is in the service's log under this request_id.",
};

/** A refusal in HTTP's terms. `unexpected`: it belongs in the log with everything known. */
export interface Problem {
  status: number;
  code: ErrorCode;
  headers: Record<string, string>;
  body: {
    type: string;
    title: string;
    status: number;
    detail: string;
    code: ErrorCode;
    request_id: string;
    errors?: ValidationIssue[];
  };
  unexpected: boolean;
}

/** What a problem depends on beside the error. */
export interface ProblemContext {
  answers: Answering;
  request_id: string;
  /** Start of the `type` URI, a page that explains the codes. */ docs: string;
  /** The body's own name on the bus, left out of paths. */ body?: string | undefined;
  /** True when the client sent a token. */ token_sent?: boolean;
}

const isValidationIssue = (v: unknown): v is ValidationIssue =>
  isRecord(v) && typeof v["path"] === "string" && typeof v["message"] === "string";

/** Validation issues of a failure: our own carry them in `data.errors`, the validator of the bus as `data`, with the parameter's name before the body's path. */
function issuesIn(error: unknown, body: string | undefined): ValidationIssue[] {
  const data = isRecord(error) ? error["data"] : undefined;
  if (Array.isArray(data)) {
    return data.filter(isValidationIssue).map(({ path, message }) => {
      if (path === body) return { path: "", message };
      return { path: body !== undefined && path.startsWith(`${body}.`) ? path.slice(body.length + 1) : path, message };
    });
  }
  const errors = isRecord(data) ? data["errors"] : undefined;
  return Array.isArray(errors) ? errors.filter(isValidationIssue).map(({ path, message }) => ({ path, message })) : [];
}

/** Messages of the validator (shared/validator.ts) and of the services that push answers with 400 rather than 422. */
const BAD_REQUEST_MESSAGE = /^is (?:required|not a known )/;
/** Fields whose wrong value is 400; their wrong type is 422 like any other. */
const BAD_REQUEST_FIELDS = new Set(["execution_mode", "template_id"]);
const isBadRequest = ({ path, message }: ValidationIssue): boolean =>
  path === "" ||
  (BAD_REQUEST_FIELDS.has(path) && message !== "must be string") ||
  (!path.includes(".") && BAD_REQUEST_MESSAGE.test(message));

/** The status of a code for an endpoint that answers in this style. `issues` matter for push alone. */
export function statusOf(code: ErrorCode, answers: Answering, issues: readonly ValidationIssue[] = []): number {
  if (answers === "push" && code === "VALIDATION_FAILED")
    return issues.length === 0 || issues.some(isBadRequest) ? STATUS.VALIDATION_FAILED : STATUS.PAYLOAD_INVALID;
  return IN_STYLE[answers][code] ?? STATUS[code];
}

/** Codes whose failures speak to the operator, in the log: of code, or of variables of the environment. */
const OWN_WORDS_HIDDEN: ReadonlySet<ErrorCode> = new Set(["INTERNAL", "PROVIDER_UNCONFIGURED"]);
const SHOWN_ISSUES = 3;
const sentence = (issues: readonly ValidationIssue[]): string => {
  const shown = issues
    .slice(0, SHOWN_ISSUES)
    .map((f) => `${f.path === "" ? "the body" : f.path} ${f.message}`)
    .join("; ");
  return issues.length > SHOWN_ISSUES ? `${shown}; and ${issues.length - SHOWN_ISSUES} more.` : `${shown}.`;
};

function detailOf(error: unknown, code: ErrorCode, issues: readonly ValidationIssue[]): string {
  const own =
    isRecord(error) && error["type"] === code && !OWN_WORDS_HIDDEN.has(code) && typeof error["message"] === "string"
      ? error["message"]
      : null;
  if (own !== null) return own;
  if (issues.length > 0) return sentence(issues);
  return PUBLIC_MESSAGES[code] ?? `${CATALOGUE[code].title}.`;
}

function headersOf(error: unknown, code: ErrorCode, context: ProblemContext): Record<string, string> {
  const data = isRecord(error) && isRecord(error["data"]) ? error["data"] : {};
  const retry =
    typeof data["retry_after_seconds"] === "number"
      ? Math.max(1, Math.ceil(data["retry_after_seconds"]))
      : RETRY_AFTER_SECONDS[code];
  const allow = Array.isArray(data["allow"]) ? data["allow"].filter((m) => typeof m === "string") : null;
  return {
    "Content-Type": "application/problem+json",
    ...(retry === undefined ? {} : { "Retry-After": String(retry) }),
    ...(allow === null ? {} : { Allow: allow.join(", ") }),
    ...(code === "UNAUTHENTICATED"
      ? { "WWW-Authenticate": `Bearer realm="callagent"${context.token_sent ? ', error="invalid_token"' : ""}` }
      : {}),
  };
}

/** Anything thrown as an RFC 9457 problem. Only a Failure keeps its message; every other error gets a fixed one. */
export function problemOf(error: unknown, context: ProblemContext): Problem {
  const code = codeOf(error);
  const issues = issuesIn(error, context.body);
  const status = statusOf(code, context.answers, issues);
  return {
    status,
    code,
    headers: headersOf(error, code, context),
    unexpected: code === "INTERNAL",
    body: {
      type: `${context.docs}#${code}`,
      title: CATALOGUE[code].title,
      status,
      detail: detailOf(error, code, issues),
      code,
      request_id: context.request_id,
      ...(issues.length > 0 ? { errors: issues } : {}),
    },
  };
}
