import type { Explanation, Gate } from "../../../shared/contracts/explanation.ts";
import type { WaitingLead } from "../../../shared/contracts/lead.ts";
import { fold, judgeAll, type Judged } from "./admission.ts";
import type { Facts } from "./gates.ts";

/** Steps of the search for the next instant: windows, due times and rings push each other on a few times at most. */
const MAX_STEPS = 50;

/** When no gate holds the lead any more; null: never, or nobody can tell. `ends`: what ends it before that. */
export interface Next {
  at: Date | null;
  ends: Judged | null;
}

const latest = (dates: readonly Date[]): Date => new Date(Math.max(...dates.map((d) => d.getTime())));

/**
 * The first instant at or after `facts.at` at which, as things stand, no gate holds the lead: the latest of all untils, judged anew at that
 * instant (a window may be shut then), until nothing holds.
 */
export function nextEligible(facts: Facts): Next {
  let at = facts.at;
  for (let i = 0; i < MAX_STEPS; i++) {
    const gates = judgeAll({ ...facts, at });
    const ends = gates.find((g) => g.verdict === "drop");
    if (ends) return { at: null, ends };
    const untils: Date[] = [];
    for (const g of gates) {
      if (g.verdict !== "hold") continue;
      if (g.until === null || g.until <= at) return { at: null, ends: null };
      untils.push(g.until);
    }
    if (untils.length === 0) return { at, ends: null };
    at = latest(untils);
  }
  return { at: null, ends: null };
}

const toGate = ({ gate, verdict, detail, values, until }: Judged): Gate => ({
  gate,
  verdict,
  detail,
  values,
  until: until?.toISOString() ?? null,
});

function summaryOf(lead: WaitingLead, gates: readonly Judged[], next: Next): string {
  const verdict = fold(gates);
  if (lead.status === "FINISHED" || lead.status === "PROCESSING")
    return gates.find((g) => g.gate === "status")?.detail ?? "";
  if (verdict.verdict === "admit") return "Nothing holds the lead: the next pass of the scheduler calls it.";
  if (verdict.verdict === "drop") return `The lead will not be called: it ends ${verdict.outcome} (${verdict.reason}).`;
  const holding = gates.filter((g) => g.verdict === "hold");
  const others = holding.length === 1 ? "" : ` (and ${holding.length - 1} more)`;
  const why = `${verdict.reason}${others}`;
  if (next.at) return `${why} As things stand it is called at ${next.at.toISOString()}.`;
  if (next.ends?.gate === "expiry") return `${why} It will expire first, at ${String(next.ends.values["expires_at"])}.`;
  if (next.ends) return `${why} After that it ends: ${next.ends.detail}`;
  return `${why} It waits until that changes.`;
}

/** The explanation of a lead from all its facts. */
export function explain(lead: WaitingLead, facts: Facts): Explanation {
  const gates = judgeAll(facts);
  const next = nextEligible(facts);
  return {
    lead_id: lead.lead_id,
    at: facts.at.toISOString(),
    status: lead.status,
    eligible: fold(gates).verdict === "admit",
    next_eligible_at: next.at?.toISOString() ?? null,
    summary: summaryOf(lead, gates, next),
    gates: gates.map(toGate),
  };
}
