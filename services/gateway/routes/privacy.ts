import { COST, OWNERS, PAGE, WRITERS, row, tagged, type Row } from "./row.ts";

const erasures: readonly Row[] = tagged("Erasures", [
  row("POST", "/erasures", "leads.createErasure", WRITERS, 202, {
    summary:
      "Erase all that is known of a phone number in your scope: it is refused from the answer on, waiting leads are aborted, and the rest follows",
    cost: COST.heavy,
    body: "*",
    errors: ["INVALID_PHONE_NUMBER", "RESELLER_NOT_FOUND", "NOT_AVAILABLE"],
  }),
  row("GET", "/erasures", "leads.listErasures", WRITERS, 200, {
    summary: "List the erasures of your scope, newest first; none says which number it was",
    cost: COST.list,
    query: ["state", "reseller_id", ...PAGE],
  }),
  row("GET", "/erasures/{id}", "leads.getErasure", WRITERS, 200, {
    summary: "Read an erasure: how far it is, and what was erased",
    errors: ["ERASURE_NOT_FOUND"],
  }),
]);

const RESELLER = ["RESELLER_NOT_FOUND"] as const;
const retention: readonly Row[] = tagged("Retention", [
  row("GET", "/retention", "leads.getRetention", OWNERS, 200, {
    summary: "Read how long the records of a reseller are kept, and what its last run ended",
    query: ["reseller_id"],
    errors: RESELLER,
  }),
  row("PUT", "/retention", "leads.setRetention", OWNERS, 200, {
    summary: "Set how long the records of a reseller are kept, as a whole: what is older ends, from now on once a day",
    body: "*",
    errors: RESELLER,
  }),
  row("POST", "/retention/dry-run", "leads.dryRunRetention", OWNERS, 200, {
    summary: "Count what would end now, with the periods you send or else with those that are set; nothing ends",
    cost: COST.sum,
    body: "*",
    errors: RESELLER,
  }),
]);

/** What is kept of those whom calls were about, how long, and what they may ask for. */
export const privacy: readonly Row[] = [...erasures, ...retention];
