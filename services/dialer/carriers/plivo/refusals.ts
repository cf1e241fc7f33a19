import { isRecord } from "../../../../shared/json.ts";
import { credentialsRefused, failedDial, Refusal, retryAfter, withoutNumbers } from "../carrier-errors.ts";
import type { DialAnswer } from "../carrier-port.ts";

/** Plivo names no codes: its sentence says that the destination is no number that can be called. */
const INVALID_NUMBER =
  /\b(?:to|destination|dst)\b[^.]{0,60}\b(?:invalid|not valid|not a valid|malformed)\b|\b(?:invalid|malformed)\b[^.]{0,30}\b(?:'?to'?|destination)\b/i;
/** A 403 that is about the called country or number, not about the account. */
const BARRED = /geo|permission|barred|country|not enabled|destination|blocked/i;
const FORBIDDEN_STATUS = 403;

/** Plivo's own sentence about a failed request: `error`, or `message`, as text or one level deeper. */
function sentenceOf(body: unknown): string | null {
  if (typeof body === "string" && body.trim() !== "") return body;
  if (!isRecord(body)) return null;
  return sentenceOf(body["error"]) ?? (typeof body["message"] === "string" ? body["message"] : null);
}

/** Plivo writes numbers without the plus. */
const masked = (sentence: string): string =>
  withoutNumbers(sentence.replace(/(?<![\w+-])\d{8,15}(?![\w-])/g, (number) => `+${number}`));

/** A failed answer's status, headers and body as a Refusal. */
export const refusalOf = (status: number, body: unknown, retry_after: string | null, now: Date): Refusal =>
  new Refusal(
    status,
    null,
    masked(isRecord(body) ? (sentenceOf(body) ?? `HTTP ${status}`) : `HTTP ${status}`),
    retryAfter(retry_after, now),
  );

/** What a failed dial request means for the attempt. */
export const dialAnswerOf = (error: unknown): DialAnswer =>
  failedDial(error, ({ status, message: reason }) => {
    if (status === FORBIDDEN_STATUS && !BARRED.test(reason)) return credentialsRefused(status);
    return { kind: "refused", invalid_number: INVALID_NUMBER.test(reason), carrier_code: String(status), reason };
  });
