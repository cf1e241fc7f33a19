import { ADMIN, ALL, COST, OWNERS, PAGE, WRITERS, row, tagged, type Row } from "./row.ts";

/** Resellers, merchants and the deployment's pause. */
export const tenants: readonly Row[] = [
  ...tagged("Resellers and merchants", [
    row("POST", "/resellers", "merchants.createReseller", ADMIN, 201, {
      summary: "Create a reseller",
      body: "*",
    }),
    row("GET", "/resellers", "merchants.listResellers", OWNERS, 200, {
      summary: "List resellers, by the start of their name where one is given; a reseller sees itself",
      cost: COST.list,
      query: ["name", "is_active", ...PAGE],
    }),
    row("GET", "/resellers/{id}", "merchants.getReseller", OWNERS, 200, {
      summary: "Read a reseller",
      errors: ["RESELLER_NOT_FOUND"],
    }),
    row("PUT", "/resellers/{id}", "merchants.updateReseller", ADMIN, 200, {
      summary:
        "Change a reseller; switched off, its users and tokens and those of its merchants stop working; spend_ceiling is what its calls and those of its merchants may take per day and month (UTC) in calls, started minutes and money",
      body: "*",
      errors: ["RESELLER_NOT_FOUND"],
    }),
    row("DELETE", "/resellers/{id}", "merchants.deleteReseller", ADMIN, 204, {
      summary: "Delete a reseller that has no merchants, templates or unfinished leads",
      errors: ["RESELLER_NOT_FOUND", "RESOURCE_IN_USE"],
    }),
    row("POST", "/merchants", "merchants.create", OWNERS, 201, {
      summary: "Create a merchant under a reseller",
      body: "*",
      errors: ["RESELLER_NOT_FOUND", "INVALID_PHONE_NUMBER"],
    }),
    row("GET", "/merchants", "merchants.list", ALL, 200, {
      summary: "List the merchants of your scope, by the start of their name where one is given",
      cost: COST.list,
      query: ["reseller_id", "name", "is_active", ...PAGE],
    }),
    row("GET", "/merchants/{id}", "merchants.get", ALL, 200, {
      summary: "Read a merchant",
      errors: ["MERCHANT_NOT_FOUND"],
    }),
    row("PUT", "/merchants/{id}", "merchants.update", OWNERS, 200, {
      summary:
        "Change a merchant; switched off, its users and tokens stop working; test_numbers are those that playground runs may call at any hour, max_calls_per_callee is how often one person is called at most in any 24 hours and any 7 days, spend_ceiling what its calls may take per day and month (UTC) in calls, started minutes and money, webhook_phone_number whether webhook events show phone numbers masked or full",
      body: "*",
      errors: ["MERCHANT_NOT_FOUND", "INVALID_PHONE_NUMBER"],
    }),
    row("DELETE", "/merchants/{id}", "merchants.remove", OWNERS, 204, {
      summary: "Delete a merchant that owns no templates and has no unfinished leads",
      errors: ["MERCHANT_NOT_FOUND", "RESOURCE_IN_USE"],
    }),
    row("POST", "/merchants/{id}/pause", "merchants.pause", WRITERS, 200, {
      summary: "Stop calling for a merchant: its leads wait, calls under way go on; a second pause keeps the first",
      body: "*",
      errors: ["MERCHANT_NOT_FOUND"],
    }),
    row("POST", "/merchants/{id}/resume", "merchants.resume", WRITERS, 200, {
      summary: "Call for a merchant again",
      errors: ["MERCHANT_NOT_FOUND"],
    }),
  ]),

  ...tagged("Deployment", [
    row("GET", "/deployment", "merchants.deployment", ADMIN, 200, {
      summary: "Read whether all calling is paused, since when, by whom and why",
    }),
    row("POST", "/deployment/pause", "merchants.pauseDeployment", ADMIN, 200, {
      summary: "Stop all calling: every lead waits, calls under way go on; a second pause keeps the first",
      body: "*",
    }),
    row("POST", "/deployment/resume", "merchants.resumeDeployment", ADMIN, 200, {
      summary: "Call again; merchants that are paused themselves stay so",
    }),
  ]),
];
