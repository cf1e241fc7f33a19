import { MS_PER_SECOND } from "./clock.ts";

/** Seconds as servers write them: whole, as the standard wants it, or with a fraction, a sign or a unit. */
const SECONDS = /^([+-]?)(\d{1,9}(?:\.\d{1,9})?)\s*(?:s|secs?|seconds?)?$/i;
/** HTTP's dates begin with a day of the week, ISO's with a year; a parser of dates takes much that is none, such as 12.5. */
const DATE = /^[A-Z][a-z]{2,8},? .*\d:\d\d|^\d{4}-\d\d-\d\dT/;

/** Retry-After (RFC 9110, 10.2.3) in whole seconds from `now`, rounded up, never less than 0; null: it says nothing usable. A negative number and a date that has passed mean at once. */
export function retryAfterSeconds(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? "";
  const [, sign, seconds] = SECONDS.exec(text) ?? [];
  if (seconds !== undefined) return sign === "-" ? 0 : Math.ceil(Number(seconds));
  const at = DATE.test(text) ? Date.parse(text) : Number.NaN;
  const ahead = Math.ceil((at - now.getTime()) / MS_PER_SECOND);
  return Number.isNaN(ahead) ? null : Math.max(0, ahead);
}
