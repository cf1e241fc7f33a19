import type { LedgerCall } from "./product.ts";

/** A finished lead, as far as its outcome is judged. `errors`: the codes in metaData.errors; `hangup_by`: metaData.hangup_source.by, null where it has none. */
export interface EndedLead {
  lead_id: string;
  outcome: string | null;
  errors: readonly string[];
  hangup_by: string | null;
}

/** Outcomes that say that nobody answered, and those that say that something of ours or of the carrier's went wrong. */
const UNANSWERED: readonly string[] = ["no_answer", "busy", "INVALID_NUMBER"];
const FAILURES: readonly string[] = ["failed", "call_error"];
/** Who the ledger names where the person ended the call: of an inbound one they are the caller. */
const PERSON: readonly string[] = ["callee", "caller"];

const claimOf = ({ reference }: LedgerCall): number => Number(reference?.split(".")[1] ?? 0);

/** True when agent and person both spoke, as the ledger heard it. */
const talked = ({ transcript = [] }: LedgerCall): boolean =>
  ["agent", "person"].every((who) => transcript.some((line) => line.who === who));

function judged({ outcome, errors, hangup_by }: EndedLead, last: LedgerCall): string[] {
  const byPerson = last.answered && PERSON.includes(last.ended_by ?? "");
  const answered = last.answered ? "answered" : "not answered";
  return [
    ...(outcome === "customer_hangup" && !byPerson ? ["the callee did not end an answered call"] : []),
    ...(last.answered && hangup_by === "callee" && !byPerson ? ["the callee is said to have ended it"] : []),
    ...(byPerson && talked(last) && FAILURES.includes(outcome ?? "") && errors.length === 0 && hangup_by !== "unknown"
      ? ["the callee hung up after a conversation, and neither is an error known nor the end unknown"]
      : []),
    ...(UNANSWERED.includes(outcome ?? "") && last.answered ? ["somebody answered"] : []),
  ].map(
    (why) => `${last.reference} is ${outcome} (by ${hangup_by}), but ${why}: ${answered}, ended by ${last.ended_by}`,
  );
}

/** Leads whose outcome does not agree with the carrier's ledger, one line each: the last call of each lead is compared. Pure. */
export function outcomeDisagreements(leads: readonly EndedLead[], calls: readonly LedgerCall[]): string[] {
  const placed = Map.groupBy(calls, ({ reference }) => reference?.split(".")[0] ?? "");
  return leads.flatMap((lead) => {
    const last = (placed.get(lead.lead_id) ?? []).toSorted((a, b) => claimOf(a) - claimOf(b)).at(-1);
    return last === undefined || last.ended_at === null ? [] : judged(lead, last);
  });
}
