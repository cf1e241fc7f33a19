import type { LeadDoc } from "../leads.model.ts";
import type { CounterSum } from "./lead-counters.model.ts";
import type { LeadFold } from "./retentions.model.ts";

/** What of a lead that is about to go its figures are made of. */
export type FoldableLead = Pick<
  LeadDoc,
  | "_id"
  | "merchant_id"
  | "template_id"
  | "template"
  | "outcome"
  | "is_test"
  | "attempt_count"
  | "answered_count"
  | "talk_seconds"
  | "costs"
  | "created_at"
> & { meta?: { do_not_call?: boolean } };

const dayOf = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()));

const sumOf = (lead: FoldableLead): CounterSum => ({
  merchant_id: lead.merchant_id,
  template_id: lead.template_id,
  template: lead.template,
  day: dayOf(lead.created_at),
  outcome: lead.outcome,
  leads: 1,
  attempts: lead.attempt_count,
  called: lead.attempt_count > 0 ? 1 : 0,
  answered: lead.answered_count,
  talk_seconds: lead.talk_seconds,
  cost: Object.values(lead.costs).reduce((sum, cost) => sum + cost, 0),
  do_not_call: lead.meta?.do_not_call === true ? 1 : 0,
});

const plus = (a: CounterSum, b: CounterSum): CounterSum => ({
  ...a,
  leads: a.leads + b.leads,
  attempts: a.attempts + b.attempts,
  called: a.called + b.called,
  answered: a.answered + b.answered,
  talk_seconds: a.talk_seconds + b.talk_seconds,
  cost: a.cost + b.cost,
  do_not_call: a.do_not_call + b.do_not_call,
});

/** Leads that are to go, and what they add to the counters; tests are in no figures. */
export function foldOf(no: number, leads: readonly FoldableLead[]): LeadFold {
  const sums = new Map<string, CounterSum>();
  for (const sum of leads.filter(({ is_test }) => !is_test).map(sumOf)) {
    const key = JSON.stringify([sum.merchant_id, sum.template_id, sum.day, sum.outcome]);
    const known = sums.get(key);
    sums.set(key, known ? plus(known, sum) : sum);
  }
  return { no, lead_ids: leads.map(({ _id }) => _id), add: [...sums.values()] };
}
