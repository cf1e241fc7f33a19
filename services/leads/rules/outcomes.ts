import type {
  AttemptFacts,
  CarrierEnd,
  EndedBy,
  HangupSource,
  OUTCOME_WORDS,
} from "../../../shared/contracts/records/attempt.ts";
import { CALL_ENDED_BY, endRowOf, hangupSourceOf } from "../../../shared/hangup-source.ts";

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
} as const satisfies Record<(typeof OUTCOME_WORDS)[number], { retried: boolean }>;

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

/** The outcome that follows from who ended an answered call where nothing else decides it, before and after the first word. */
export interface EndRow {
  before: ClosedOutcome;
  after: ClosedOutcome;
}

/** The one table of docs/reliability.md, with CALL_ENDED_BY; a test compares them. */
export const END_TABLE = {
  callee: { before: "customer_hangup", after: "customer_hangup" },
  agent: { before: "no_outcome", after: "no_outcome" },
  timeout: { before: "call_timeout", after: "call_timeout" },
  "we, in the normal course": { before: "failed", after: "no_outcome" },
  "we, for another reason": { before: "call_error", after: "call_error" },
  carrier: { before: "failed", after: "call_error" },
  unknown: { before: "failed", after: "call_error" },
} as const satisfies Record<keyof typeof CALL_ENDED_BY, EndRow>;

const rowOf = (source: HangupSource): EndRow => END_TABLE[endRowOf(source)];

/** Who ended the call. Facts of a version before 0.3.0 don't say: there the conversation's own view is taken, and without a conversation it is unknown. */
export const sourceOf = ({ hangup_source, ended, answered_at, talk }: AttemptFacts): HangupSource =>
  hangup_source ??
  hangupSourceOf({
    answered: answered_at !== null || talk !== null,
    end: ended,
    carrier: null,
    asked: null,
    media: talk?.ended_by === "customer" ? "closed" : null,
    talk: talk?.ended_by ?? null,
  });

/** The contract's word for who ended an attempt's call; null: nobody answered it. */
export const callEndedBy = (facts: AttemptFacts): EndedBy | null =>
  facts.answered_at === null && facts.talk === null ? null : CALL_ENDED_BY[endRowOf(sourceOf(facts))];

/** True once a conversation said or heard anything. */
const wordsWereSaid = (talk: AttemptFacts["talk"]): boolean =>
  talk !== null && (talk.user_turns > 0 || talk.transcription.length > 0);

/** True where a conversation came to be of which the other side heard nothing of ours: a fault, and no call, to them. */
const heardNothing = (talk: AttemptFacts["talk"]): boolean =>
  talk !== null && !talk.transcription.some(({ role }) => role === "assistant");

/** The outcome of an attempt, from its facts: the template's own where the conversation reached a decision, else one of the closed list. */
export function outcomeOf(facts: AttemptFacts): string {
  const { talk } = facts;
  if (facts.dropped_as) return facts.dropped_as;
  if (talk?.decided) return talk.decided;
  const carrier = BY_CARRIER[facts.ended];
  if (carrier) return carrier;
  if (facts.machine || talk?.machine) return "voicemail";
  if (talk ? talk.ended_by === "error" : facts.error !== null) return heardNothing(talk) ? "failed" : "call_error";
  if (talk?.idle_out) return "silence";
  if (talk?.time_limit || facts.ended === "time_limit") return "call_timeout";
  const row = rowOf(sourceOf(facts));
  return wordsWereSaid(talk) ? row.after : row.before;
}

/** True when the call dropped within 5 s of the answer, before a decision and before the customer said anything. */
export function droppedEarly(facts: AttemptFacts): boolean {
  if (facts.ended !== "completed" || facts.machine || facts.talk?.machine || facts.talk?.decided) return false;
  if ((facts.talk?.user_turns ?? 0) > 0 || facts.talk?.idle_out) return false;
  if (facts.talk && facts.talk.ended_by !== "customer") return false;
  if (!facts.answered_at || !facts.ended_at) return facts.talk === null;
  return Date.parse(facts.ended_at) - Date.parse(facts.answered_at) <= EARLY_DROP_SECONDS * 1000;
}

/** Whether an attempt with these facts is tried again, the budget aside; what the conversation decided never is. A template's `retry_on` list replaces the rule. */
export function isRetried(facts: AttemptFacts, retry_on: readonly string[] | null): boolean {
  const outcome = outcomeOf(facts);
  if (facts.talk?.do_not_call === true) return false; // whatever `retry_on` names
  if (facts.ended === "not_dialled") return false; // an attempt that may be repeated and dialled nothing is released, not settled
  if (retry_on) return retry_on.includes(outcome);
  if (facts.talk?.decided) return false; // whatever the word: templates saved before 0.3.0 may decide with one of ours
  if (outcome === "voicemail") return !(facts.talk?.message_left ?? false);
  return (outcome in OUTCOMES && OUTCOMES[outcome as ClosedOutcome].retried) || droppedEarly(facts);
}

/** Words of templates that say that the conversation was decided against us, or with somebody else; `Wrong-Person` and the like count as them. */
const REFUSALS: ReadonlySet<string> = new Set([
  "declined",
  "refused",
  "rejected",
  "not_interested",
  "wrong_person",
  "wrong_number",
  "not_identified",
  "do_not_call",
  "opted_out",
]);

/** Whether an outcome is a template's own word. */
export const isDecided = (outcome: string | null): boolean => outcome !== null && !Object.hasOwn(OUTCOMES, outcome);

/** Whether an outcome counts as a success: a decision that is no refusal. */
export const isSuccess = (outcome: string | null): boolean =>
  outcome !== null && isDecided(outcome) && !REFUSALS.has(outcome.toLowerCase().replaceAll(/[- ]/g, "_"));
