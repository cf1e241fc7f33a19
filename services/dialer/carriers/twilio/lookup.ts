import type { Twilio } from "twilio";
import type { CallInstance } from "twilio/lib/rest/api/v2010/account/call.js";
import { plusSeconds } from "../../../../shared/time/clock.ts";
import { accountUnanswered, Refusal, unreachable } from "../carrier-errors.ts";
import { wholeOf } from "../json.ts";
import type { CallProgress, CarrierCall } from "../carrier-port.ts";
import { answeredBy, stepOf } from "./callbacks.ts";

/** Numbers read in a search: Twilio matches parts of numbers too, of which a whole one has few. */
const MAX_NUMBERS = 20;
/** Calls read in a search; the newest come first, and one pair of numbers makes few in two minutes. */
const MAX_FOUND = 50;
/** Twilio keeps whole seconds, by its own clock. */
const CLOCK_TOLERANCE_MS = 3000;
const NOT_FOUND_STATUS = 404;

const isoOf = (date: Date | null | undefined): string | null =>
  date instanceof Date && !Number.isNaN(date.getTime()) ? date.toISOString() : null;

/** Twilio's call resource in our words. The answer time is the end less the duration: the resource has no other. */
function callOf(c: CallInstance): CarrierCall {
  const seconds = wholeOf(c.duration);
  const step = stepOf(c.status, isoOf(c.endTime), c.sid, { sip: null, seconds });
  const progress: CallProgress[] = [];
  if (step?.type === "ended" && step.end === "completed") {
    const at = c.endTime instanceof Date && seconds !== null ? plusSeconds(c.endTime, -seconds).toISOString() : null;
    if (at !== null) progress.push({ call_id: c.sid, at, type: "answered" });
  }
  const verdict = answeredBy(c.answeredBy);
  if (verdict) progress.push({ call_id: c.sid, at: null, type: "machine", verdict });
  if (step) progress.push(step);
  const amount = Math.abs(Number(c.price));
  return {
    call_id: c.sid,
    created_at: c.dateCreated instanceof Date ? c.dateCreated : null,
    live: step?.type !== "ended",
    progress,
    cost: c.price !== null && Number.isFinite(amount) ? { amount, currency: c.priceUnit } : null,
  };
}

/** The call as Twilio shows it; null: it is unknown there. DEPENDENCY_DOWN. */
export async function fetchCall(client: Twilio, call_id: string): Promise<CarrierCall | null> {
  try {
    return callOf(await client.calls(call_id).fetch());
  } catch (error) {
    return error instanceof Refusal && error.status === NOT_FOUND_STATUS ? null : unreachable(error);
  }
}

/** The calls between two numbers that were created in a span. DEPENDENCY_DOWN. */
export async function findCalls(
  client: Twilio,
  { to, from, since, until }: { to: string; from: string; since: Date; until: Date },
): Promise<CarrierCall[]> {
  // no StartTime filter: a call still in Twilio's queue has none and would be missed
  const found = await client.calls.list({ to, from, limit: MAX_FOUND }).catch(unreachable);
  const [first, last] = [since.getTime() - CLOCK_TOLERANCE_MS, until.getTime() + CLOCK_TOLERANCE_MS];
  return found
    .map(callOf)
    .filter((c) => c.created_at !== null && c.created_at.getTime() >= first && c.created_at.getTime() <= last);
}

/** Whether the number is one of the account's; one of which it has only shown that it is reached there (a verified caller id) is not. CredentialsRefused, DEPENDENCY_DOWN. */
export async function holdsNumber(client: Twilio, phone_number: string): Promise<boolean> {
  const found = await client.incomingPhoneNumbers
    .list({ phoneNumber: phone_number, limit: MAX_NUMBERS })
    .catch(accountUnanswered);
  return found.some((n) => n.phoneNumber === phone_number);
}
