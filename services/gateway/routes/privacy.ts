import { COST, PAGE, WRITERS, row, tagged, type Row } from "./row.ts";

/** What people may ask for whom calls were about. */
export const privacy: readonly Row[] = tagged("Erasures", [
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
