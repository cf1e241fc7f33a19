import { Errors } from "moleculer";
import { isPassing, isRefused } from "./database/database-errors.ts";
import { isRecord, jsonBytes } from "./json.ts";

/**
 * The one catalogue of errors: code -> its meaning for a person, and whether the same request may succeed later.
 * The code travels over the bus as a string (`type`); compare strings, never `instanceof`, across the wire.
 */
export const CATALOGUE = {
  UNAUTHENTICATED: { title: "The bearer token is missing, expired or unknown", retryable: false },
  FORBIDDEN: { title: "The token's role or scope does not allow this", retryable: false },
  INVALID_CREDENTIALS: { title: "E-mail or password is missing, malformed or wrong", retryable: false },
  VALIDATION_FAILED: { title: "The request is not valid", retryable: false },
  PAYLOAD_INVALID: { title: "The payload does not fit the template", retryable: false },
  INVALID_PHONE_NUMBER: { title: "A value is not a valid phone number", retryable: false },
  MALFORMED_JSON: { title: "The body is not valid JSON", retryable: false },
  MALFORMED_REQUEST: { title: "What was sent is not a valid HTTP request", retryable: false },
  HEADERS_TOO_LARGE: { title: "The request's headers are larger than allowed", retryable: false },
  REQUEST_TOO_SLOW: { title: "The request did not arrive in time", retryable: true },
  EXPECTATION_FAILED: { title: "The Expect header asks for what the service does not do", retryable: false },
  UNSUPPORTED_MEDIA_TYPE: { title: "The body must be sent as application/json", retryable: false },
  BODY_TOO_LARGE: { title: "The body is larger than allowed", retryable: false },
  ROUTE_NOT_FOUND: { title: "There is no such endpoint", retryable: false },
  METHOD_NOT_ALLOWED: { title: "The endpoint does not support this method", retryable: false },
  TEMPLATE_UNKNOWN: { title: "No template has this id", retryable: false },
  TEMPLATE_NOT_FOUND: { title: "The template does not exist under this reseller or merchant", retryable: false },
  TEMPLATE_INVALID: { title: "The template can't work as it is", retryable: false },
  TEMPLATE_INACTIVE: { title: "The template is switched off", retryable: false },
  IDEMPOTENCY_KEY_REUSED: { title: "The Idempotency-Key was used for another request", retryable: false },
  DUPLICATE_REQUEST: { title: "The request_id was pushed before", retryable: false },
  LEAD_NOT_FOUND: { title: "No lead was found", retryable: false },
  RESELLER_NOT_FOUND: { title: "No such reseller", retryable: false },
  RESELLER_UNKNOWN: { title: "The reseller_id is unknown", retryable: false },
  USER_NOT_FOUND: { title: "No such user", retryable: false },
  TOKEN_NOT_FOUND: { title: "No such server-to-server token", retryable: false },
  EMAIL_EXISTS: { title: "A user with this e-mail exists already", retryable: false },
  MERCHANT_NOT_FOUND: { title: "No such merchant", retryable: false },
  NUMBER_NOT_FOUND: { title: "No such outbound number", retryable: false },
  SECRET_NOT_FOUND: { title: "No such secret", retryable: false },
  DOOR_NOT_FOUND: { title: "No such door", retryable: false },
  CONFIGURATION_NOT_FOUND: { title: "No such configuration", retryable: false },
  BLACKLIST_ENTRY_NOT_FOUND: { title: "None of the numbers is on the blacklist", retryable: false },
  ERASURE_NOT_FOUND: { title: "No such erasure", retryable: false },
  LEGAL_HOLD: { title: "A legal hold keeps this from being erased", retryable: false },
  LEGAL_HOLD_NOT_FOUND: { title: "No such legal hold", retryable: false },
  NUMBER_BLACKLISTED: { title: "The phone number is on the blacklist", retryable: false },
  NUMBER_EXISTS: { title: "The phone number already exists", retryable: false },
  NUMBER_NOT_HELD: { title: "The carrier account does not hold the phone number", retryable: false },
  CONFIGURATION_EXISTS: { title: "The template already has a configuration", retryable: false },
  RESOURCE_IN_USE: { title: "The thing is in use", retryable: true },
  WRONG_MODE: { title: "The lead's execution mode does not allow this", retryable: false },
  SESSION_NOT_LIVE: { title: "Nobody has joined the session yet", retryable: true },
  SESSION_TAKEN: { title: "Somebody has joined the session already", retryable: false },
  SESSION_OVER: { title: "The session is over", retryable: false },
  SESSION_HELD: { title: "The session may not begin at the moment", retryable: true },
  ENDPOINT_NOT_FOUND: { title: "No such webhook endpoint", retryable: false },
  DELIVERY_NOT_FOUND: { title: "There is no such webhook delivery", retryable: false },
  DELIVERY_PENDING: { title: "The webhook delivery is still on its way", retryable: true },
  RECORDING_NOT_FOUND: { title: "There is no recording of such a call", retryable: false },
  RECORDING_NOT_READY: { title: "The recording is still on its way", retryable: true },
  RANGE_NOT_SATISFIABLE: { title: "The thing has no such bytes", retryable: false },
  RECORDING_FAILED: { title: "The source of the recording fails", retryable: true },
  WEBHOOK_ADDRESS_REFUSED: { title: "The webhook address is not allowed", retryable: false },
  SIGNATURE_INVALID: { title: "The carrier's signature does not match", retryable: false },
  PROVIDER_UNCONFIGURED: { title: "The provider has no account in this deployment", retryable: false },
  CALL_REFUSED: { title: "The carrier refused the call", retryable: false },
  RATE_LIMITED: { title: "Too many requests", retryable: true },
  BUSY: { title: "The service has no room for more work at the moment", retryable: true },
  NOT_AVAILABLE: { title: "This part is not available in this deployment", retryable: false },
  STORE_UNAVAILABLE: { title: "The database did not take the request", retryable: true },
  DEPENDENCY_DOWN: { title: "A part of the service is not reachable", retryable: true },
  TIMEOUT: { title: "A part of the service did not answer in time", retryable: true },
  MESSAGE_TOO_LARGE: { title: "What a part of the service was to say is too large", retryable: false },
  INTERNAL: { title: "An unexpected fault", retryable: true },
} as const;

/** A code of the catalogue. */
export type ErrorCode = keyof typeof CATALOGUE;

/** One validation issue of an input: a JSON pointer or field name, and what is wrong with it. */
export interface ValidationIssue {
  path: string;
  message: string;
}

/** Most bytes of the issues of one failure, and of those of all rows of a batch, as JSON. */
const ISSUES_BYTES = 200_000;
const BATCH_ISSUES_BYTES = 250_000;

/** The first of the issues, as many as fit; the last of them says how many more there are. */
export function boundedIssues(issues: readonly ValidationIssue[], bytes: number = ISSUES_BYTES): ValidationIssue[] {
  let room = bytes;
  const fit = issues.findIndex((issue) => (room -= jsonBytes(issue) + 1) < 0);
  return fit < 0
    ? [...issues]
    : [...issues.slice(0, fit), { path: "errors", message: `${issues.length - fit} more are not listed` }];
}

const hasIssues = <Row extends object>(row: Row): row is Row & { errors: ValidationIssue[] } =>
  "errors" in row && Array.isArray(row.errors);

/** Rows of a batch whose issues (`errors`, where a row has some) fit into one message together: where they are too many, each row keeps its first ones. */
export function boundedRows<Row extends object>(rows: readonly Row[]): Row[] {
  const bytes = rows.reduce((sum, row) => sum + (hasIssues(row) ? jsonBytes(row.errors) : 0), 0);
  if (bytes <= BATCH_ISSUES_BYTES) return [...rows];
  const each = Math.floor(BATCH_ISSUES_BYTES / rows.length);
  return rows.map((row) => (hasIssues(row) ? { ...row, errors: boundedIssues(row.errors, each) } : row));
}

/** What a failure may carry to the caller; never secrets, never full phone numbers. */
export interface FailureData {
  errors?: ValidationIssue[];
  retry_after_seconds?: number;
  allow?: string[];
}

const NO_STATUS = 500;

/** A failure with a code of the catalogue. `message` is the sentence a person reads. */
export class Failure extends Errors.MoleculerError {
  constructor(code: ErrorCode, message: string, data?: FailureData) {
    super(message, NO_STATUS, code, data?.errors ? { ...data, errors: boundedIssues(data.errors) } : (data ?? {}));
    this.name = "Failure";
    this.retryable = CATALOGUE[code].retryable;
  }
}

/** Throws the failure; `detail` says what was wrong, where, and what to do. */
export function fail(code: ErrorCode, detail: string, data?: FailureData): never {
  throw new Failure(code, detail, data);
}

/** Refuses a change that changes nothing. */
export const failEmptyChange = (): never =>
  fail("VALIDATION_FAILED", "The body names no field to change.", {
    errors: [{ path: "", message: "names no field to change" }],
  });

/** Why an input is refused, as a value: for where many inputs are judged together. */
export interface Refusal {
  code: ErrorCode;
  message: string;
  errors: ValidationIssue[];
}

/** A refusal with a code of the catalogue; `message` says what was wrong, where, and what to do. */
export const refusal = (code: ErrorCode, message: string, errors: ValidationIssue[] = []): Refusal => ({
  code,
  message,
  errors,
});

/** Throws the failure that a refusal stands for. */
export const failAs = ({ code, message, errors }: Refusal): never =>
  fail(code, message, errors.length > 0 ? { errors } : {});

const BUS_CODES: Record<string, ErrorCode> = {
  SERVICE_NOT_FOUND: "DEPENDENCY_DOWN",
  SERVICE_NOT_AVAILABLE: "DEPENDENCY_DOWN",
  REQUEST_REJECTED: "DEPENDENCY_DOWN",
  REQUEST_TIMEOUT: "TIMEOUT",
  REQUEST_SKIPPED: "TIMEOUT",
  VALIDATION_ERROR: "VALIDATION_FAILED",
  QUEUE_FULL: "BUSY",
};

/** The catalogue code of anything thrown, whether it came over the bus or not; unknown things are INTERNAL. */
export function codeOf(error: unknown): ErrorCode {
  if (!isRecord(error)) return "INTERNAL";
  const type = error["type"];
  if (typeof type === "string") {
    if (type in CATALOGUE) return type as ErrorCode;
    const bus = BUS_CODES[type];
    if (bus) return bus;
  }
  const name = error["name"];
  if (typeof name === "string") {
    if (name === "ServiceNotFoundError" || name === "ServiceNotAvailableError" || name === "RequestRejectedError")
      return "DEPENDENCY_DOWN";
    if (name === "RequestTimeoutError" || name === "RequestSkippedError") return "TIMEOUT";
    if (isPassing(error) || isRefused(error)) return "STORE_UNAVAILABLE";
  }
  return "INTERNAL";
}

/** What a record may say of anything thrown: a failure's own words, else the catalogue's; those of drivers and frameworks stay in the log. */
export function messageOf(error: unknown): string {
  const code = codeOf(error);
  const own = isRecord(error) && error["type"] === code && code !== "INTERNAL" ? error["message"] : undefined;
  return typeof own === "string" ? own : `${CATALOGUE[code].title}.`;
}

const OUT_OF_REACH: ReadonlySet<ErrorCode> = new Set(["DEPENDENCY_DOWN", "TIMEOUT", "STORE_UNAVAILABLE", "BUSY"]);

/** True for a code that says nothing of what was asked for: whoever was asked was out of reach, or had no room. */
export const isOutOfReach = (code: ErrorCode): boolean => OUT_OF_REACH.has(code);

/** True when the thrown thing is a failure of this code. */
export const isFailure = (error: unknown, code: ErrorCode): boolean => codeOf(error) === code;
