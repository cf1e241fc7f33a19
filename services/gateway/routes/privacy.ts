import { ADMIN, COST, OWNERS, PAGE, WRITERS, row, tagged, type Row } from "./row.ts";

const erasures: readonly Row[] = tagged("Erasures", [
  row("POST", "/erasures", "leads.createErasure", WRITERS, 202, {
    summary:
      "Erase all that is known of a phone number in your scope: it is refused from the answer on, waiting leads are aborted, and the rest follows",
    cost: COST.heavy,
    body: "*",
    errors: ["INVALID_PHONE_NUMBER", "RESELLER_NOT_FOUND", "LEGAL_HOLD", "NOT_AVAILABLE"],
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
    errors: [...RESELLER, "NOT_AVAILABLE"],
  }),
  row("POST", "/retention/dry-run", "leads.dryRunRetention", OWNERS, 200, {
    summary: "Count what would end now, with the periods you send or else with those that are set; nothing ends",
    cost: COST.sum,
    body: "*",
    errors: [...RESELLER, "NOT_AVAILABLE"],
  }),
]);

const holds: readonly Row[] = tagged("Legal holds", [
  row("POST", "/legal-holds", "leads.putLegalHold", ADMIN, 201, {
    summary:
      "Put a legal hold on a reseller, or on one phone number of it: while it is active nothing of it is ended by retention, and POST /erasures is refused",
    body: "*",
    errors: ["INVALID_PHONE_NUMBER", "RESELLER_NOT_FOUND"],
  }),
  row("GET", "/legal-holds", "leads.listLegalHolds", OWNERS, 200, {
    summary: "List the legal holds of your scope, active and lifted, newest first",
    cost: COST.list,
    query: ["state", "reseller_id", ...PAGE],
  }),
  row("GET", "/legal-holds/{id}", "leads.getLegalHold", OWNERS, 200, {
    summary: "Read a legal hold: who put it, when and why",
    errors: ["LEGAL_HOLD_NOT_FOUND"],
  }),
  row("POST", "/legal-holds/{id}/lift", "leads.liftLegalHold", ADMIN, 200, {
    summary: "Lift a legal hold: what it covered may end and be erased again; the hold forgets its number",
    body: "*",
    errors: ["LEGAL_HOLD_NOT_FOUND"],
  }),
]);

/** What is kept of those whom calls were about, how long, and what they may ask for. */
export const privacy: readonly Row[] = [...erasures, ...retention, ...holds];
