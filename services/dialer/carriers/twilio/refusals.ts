import { isRecord } from "../../../../shared/json.ts";
import {
  answeredAt,
  credentialsRefused,
  failedDial,
  Refusal,
  retryAfter,
  tooMany,
  withoutNumbers,
} from "../carrier-errors.ts";
import type { DialAnswer } from "../carrier-port.ts";

/** Codes that say with 403 that the account or its token is unknown, suspended or not allowed in; a 403 with another code is about this call. */
const BAD_CREDENTIALS = new Set<string | number | null>([null, 20_003, 20_005, 20_006, 20_008]);
/** Codes that mean the called number itself is no good (https://www.twilio.com/docs/api/errors). */
const INVALID_NUMBER = new Set<string | number | null>([21_211, 21_214, 21_217, 21_401, 13_223, 13_224]);
/** The account is over its limit; comes with 429, and with 400 in older accounts. */
const TOO_MANY = 20_429;

/** A failed answer's status, headers and body as a Refusal. */
export function refusalOf(status: number, body: unknown, headers: unknown): Refusal {
  const { code, message } = isRecord(body) ? body : {};
  const { "retry-after": after, date } = isRecord(headers) ? headers : {};
  const wait = retryAfter(after, answeredAt(date));
  return new Refusal(
    status,
    typeof code === "number" ? code : null,
    withoutNumbers(typeof message === "string" ? message : `HTTP ${status}`),
    wait,
  );
}

/** What a failed dial request means for the attempt. */
export const dialAnswerOf = (error: unknown): DialAnswer =>
  failedDial(error, (refusal) => {
    const { code, status, message: reason } = refusal;
    if (status === 403 && BAD_CREDENTIALS.has(code)) return credentialsRefused(status);
    return code === TOO_MANY
      ? tooMany(refusal)
      : { kind: "refused", invalid_number: INVALID_NUMBER.has(code), carrier_code: String(code ?? status), reason };
  });
