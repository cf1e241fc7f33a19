import { credentialsRefused, failedDial, Refusal, retryAfter, tooMany, withoutNumbers } from "../carrier-errors.ts";
import type { DialAnswer } from "../carrier-port.ts";
import { listOf, recordOf, textOf } from "../json.ts";

/** Codes that mean the called number itself is no good (https://developers.telnyx.com/development/api-fundamentals/api-errors and the D codes of the network). */
const INVALID_NUMBER: readonly string[] = ["10002", "10016", "D11"];
/** Limits of the account, its outbound profile or its connection: calls at a time, calls a minute. */
const LIMITS: readonly string[] = ["10011", "D1", "D2", "D3", "D22", "D24"];
/** The account, the connection or its outbound profile is switched off or blocked: no number can be called. */
const SWITCHED_OFF: readonly string[] = ["D17", "D18", "D19", "D38"];
/** Codes that say with 403 that the key is unknown or may not do this; a 403 with another code is about this call. */
const BAD_CREDENTIALS: readonly (string | null)[] = [null, "10009", "10010"];
const FORBIDDEN_STATUS = 403;
const CALL_ENDED = "90018";
const INVALID_CALL_ID = "90015";
const NOT_FOUND_STATUS = 404;
const FIRST_ERROR_STATUS = 400;

/** A failed answer's status, body and headers as a Refusal; the first of its errors counts. */
export function refusalOf(status: number, body: unknown, retry_after: string | null, now: Date): Refusal {
  const first = recordOf(listOf(recordOf(body)["errors"])[0]);
  const code = typeof first["code"] === "number" ? String(first["code"]) : textOf(first["code"]);
  const sentence = textOf(first["detail"]) ?? textOf(first["title"]) ?? `HTTP ${status}`;
  return new Refusal(status, code, withoutNumbers(sentence), retryAfter(retry_after, now));
}

/** What a failed dial request means for the attempt. */
export const dialAnswerOf = (error: unknown): DialAnswer =>
  failedDial(error, (refusal) => {
    const { status, message: reason } = refusal;
    const code = refusal.code === null ? null : String(refusal.code);
    const notPlaced = (why: string): DialAnswer => ({
      kind: "not_placed",
      retry_after_seconds: refusal.retry_after_seconds,
      reason: why,
    });
    if (status < FIRST_ERROR_STATUS)
      return notPlaced(`the carrier sent us elsewhere (HTTP ${status}): check TELNYX_API_BASE`);
    if (code !== null && LIMITS.includes(code)) return tooMany(refusal);
    if (code !== null && SWITCHED_OFF.includes(code))
      return notPlaced(`the carrier's account or connection is switched off (${code}): ${reason}`);
    if (status === FORBIDDEN_STATUS && BAD_CREDENTIALS.includes(code)) return credentialsRefused(status);
    return {
      kind: "refused",
      invalid_number: code !== null && INVALID_NUMBER.includes(code),
      carrier_code: code ?? String(status),
      reason,
    };
  });

/** True when the carrier says that the call is over, or that it knows none of this id. */
export const isOver = (error: unknown): boolean =>
  error instanceof Refusal &&
  (error.status === NOT_FOUND_STATUS || error.code === CALL_ENDED || error.code === INVALID_CALL_ID);

/** True when the carrier knows nothing of this id. */
export const isUnknown = (error: unknown): boolean =>
  error instanceof Refusal && (error.status === NOT_FOUND_STATUS || error.code === INVALID_CALL_ID);
