import type { AttemptFacts, CarrierEnd } from "../../../shared/contracts/records/attempt.ts";

/** The closed list of outcomes besides a template's own, and whether each is retried by default. */
export const OUTCOMES = {
  no_answer: { retried: true },
  busy: { retried: true },
  failed: { retried: true },
  voicemail: { retried: true },
  customer_hangup: { retried: false },
  silence: { retried: false },
  no_outcome: { retried: false },
  call_timeout: { retried: false },
  call_error: { retried: false },
  PRECHECK_FAILED: { retried: false },
  BLACKLISTED: { retried: false },
  ABORTED: { retried: false },
  INVALID_NUMBER: { retried: false },
  INTERNATIONAL_BLOCKED: { retried: false },
  NUMBER_UNAVAILABLE: { retried: false },
  PLACEMENT_UNKNOWN: { retried: false },
  EXPIRED: { retried: false },
} as const;

/** An outcome of the closed list. */
export type ClosedOutcome = keyof typeof OUTCOMES;

/** A call that dropped this soon after the answer, with nothing said by the customer, counts as a connection error and is tried again. */
export const EARLY_DROP_SECONDS = 5;

const BY_CARRIER: Partial<Record<CarrierEnd, ClosedOutcome>> = {
  invalid_number: "INVALID_NUMBER",
  unknown: "PLACEMENT_UNKNOWN",
  no_answer: "no_answer",
  busy: "busy",
  rejected: "busy",
  failed: "failed",
  canceled: "failed",
  not_dialled: "failed",
};

/** The outcome of an attempt, from its facts: the template's own where the conversation reached a decision, else one of the closed list. */
export function outcomeOf(facts: AttemptFacts): string {
  const { talk } = facts;
  if (facts.dropped_as) return facts.dropped_as;
  if (talk?.decided) return talk.decided;
  const carrier = BY_CARRIER[facts.ended];
  if (carrier) return carrier;
  if (facts.machine || talk?.machine) return "voicemail";
  if (!talk) return facts.error ? "call_error" : facts.ended === "time_limit" ? "call_timeout" : "customer_hangup";
  if (talk.ended_by === "error") return "call_error";
  if (talk.idle_out) return "silence";
  if (talk.time_limit || talk.ended_by === "timeout" || facts.ended === "time_limit") return "call_timeout";
  return talk.ended_by === "customer" ? "customer_hangup" : "no_outcome";
}

/** True when the call dropped within 5 s of the answer, before a decision and before the customer said anything. */
export function droppedEarly(facts: AttemptFacts): boolean {
  if (facts.ended !== "completed" || facts.machine || facts.talk?.machine || facts.talk?.decided) return false;
  if ((facts.talk?.user_turns ?? 0) > 0 || facts.talk?.idle_out) return false;
  if (facts.talk && facts.talk.ended_by !== "customer" && facts.talk.ended_by !== "error") return false;
  if (!facts.answered_at || !facts.ended_at) return facts.talk === null;
  return Date.parse(facts.ended_at) - Date.parse(facts.answered_at) <= EARLY_DROP_SECONDS * 1000;
}

/** Whether an attempt with these facts is tried again, the budget aside. A template's `retry_on` list replaces the rule. */
export function isRetried(facts: AttemptFacts, retry_on: readonly string[] | null): boolean {
  const outcome = outcomeOf(facts);
  if (facts.ended === "not_dialled") return false; // an attempt that may be repeated and dialled nothing is released, not settled
  if (retry_on) return retry_on.includes(outcome);
  if (outcome === "voicemail") return !(facts.talk?.message_left ?? false);
  return (outcome in OUTCOMES && OUTCOMES[outcome as ClosedOutcome].retried) || droppedEarly(facts);
}
