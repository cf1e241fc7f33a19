import type { Explanation, Gate } from "../../../shared/contracts/records/explanation.ts";
import type { WaitingLead } from "../../../shared/contracts/records/lead.ts";
import { admissionOf, judgeGates, type JudgedGate } from "./admission.ts";
import type { GateInputs } from "./gates.ts";

/** Steps of the search for the next instant: windows, due times and limits push each other on a few times at most. */
const MAX_STEPS = 50;

/** When every gate lets the lead pass; null: never, or unknown. `ends`: the gate that drops it before that. */
export interface NextEligible {
  at: Date | null;
  ends: JudgedGate | null;
}

const latest = (dates: readonly Date[]): Date => new Date(Math.max(...dates.map((d) => d.getTime())));

/**
 * The first instant at or after `inputs.at` at which, as things stand, every gate lets the lead pass: the latest of all
 * untils, judged anew at that instant (a window may be closed then), until none defers it.
 */
export function nextEligible(inputs: GateInputs): NextEligible {
  let at = inputs.at;
  for (let i = 0; i < MAX_STEPS; i++) {
    const gates = judgeGates({ ...inputs, at });
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

const toGate = ({ gate, verdict, detail, values, until }: JudgedGate): Gate => ({
  gate,
  verdict,
  detail,
  values,
  until: until?.toISOString() ?? null,
});

function summaryOf(lead: WaitingLead, gates: readonly JudgedGate[], next: NextEligible): string {
  const admission = admissionOf(gates);
  if (lead.status === "FINISHED" || lead.status === "PROCESSING")
    return gates.find((g) => g.gate === "status")?.detail ?? "";
  if (admission.verdict === "admitted") return "Nothing holds the lead: the next pass of the scheduler calls it.";
  if (admission.verdict === "dropped")
    return `The lead will not be called: it ends ${admission.outcome} (${admission.reason}).`;
  const holding = gates.filter((g) => g.verdict === "hold");
  const others = holding.length === 1 ? "" : ` (and ${holding.length - 1} more)`;
  const why = `${admission.reason}${others}`;
  if (next.at) return `${why} As things stand it is called at ${next.at.toISOString()}.`;
  if (next.ends?.gate === "expiry") return `${why} It will expire first, at ${String(next.ends.values["expires_at"])}.`;
  if (next.ends) return `${why} After that it ends: ${next.ends.detail}`;
  return `${why} It waits until that changes.`;
}

/** The explanation of a lead that waits because the scheduler can't do what it must; `summary` says why. */
export const explainFailure = (
  known: Pick<Explanation, "lead_id" | "at" | "status" | "gates">,
  summary: string,
): Explanation => ({ ...known, eligible: false, next_eligible_at: null, summary });

/** The explanation of a lead from all that the gates judge. */
export function explain(lead: WaitingLead, inputs: GateInputs): Explanation {
  const gates = judgeGates(inputs);
  const next = nextEligible(inputs);
  return {
    lead_id: lead.lead_id,
    at: inputs.at.toISOString(),
    status: lead.status,
    eligible: admissionOf(gates).verdict === "admitted",
    next_eligible_at: next.at?.toISOString() ?? null,
    summary: summaryOf(lead, gates, next),
    gates: gates.map(toGate),
  };
}
