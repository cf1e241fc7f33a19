import { ALL, COST, OWNERS, PAGE, row, tagged, type Row } from "./row.ts";

/** Outbound numbers and the blacklist. */
export const numbers: readonly Row[] = [
  ...tagged("Outbound numbers", [
    row("POST", "/numbers", "numbers.create", OWNERS, 201, {
      summary:
        "Add an outbound number that the provider's carrier account holds; for admins, and for resellers where NUMBERS_ADDED_BY=reseller",
      body: "*",
      errors: [
        "INVALID_PHONE_NUMBER",
        "NUMBER_EXISTS",
        "NUMBER_NOT_HELD",
        "PROVIDER_UNCONFIGURED",
        "RESELLER_NOT_FOUND",
        "MERCHANT_NOT_FOUND",
        "TEMPLATE_NOT_FOUND",
      ],
    }),
    row("GET", "/numbers", "numbers.list", ALL, 200, {
      summary: "List the outbound numbers of your scope",
      cost: COST.list,
      query: ["provider", "status", "phone_number", "reseller_id", "merchant_id", ...PAGE],
      errors: ["INVALID_PHONE_NUMBER"],
    }),
    row("GET", "/numbers/{number_id}", "numbers.get", ALL, 200, {
      summary: "Read an outbound number",
      errors: ["NUMBER_NOT_FOUND"],
    }),
    row("PUT", "/numbers/{number_id}", "numbers.update", OWNERS, 200, {
      summary:
        "Change an outbound number, or allot it to a reseller; disabling one in a call needs force=true, which lets live calls finish",
      body: "number",
      query: ["force"],
      errors: [
        "NUMBER_NOT_FOUND",
        "NUMBER_NOT_HELD",
        "PROVIDER_UNCONFIGURED",
        "RESOURCE_IN_USE",
        "RESELLER_NOT_FOUND",
        "MERCHANT_NOT_FOUND",
        "TEMPLATE_NOT_FOUND",
      ],
    }),
    row("DELETE", "/numbers/{number_id}", "numbers.remove", OWNERS, 204, {
      summary: "Delete an outbound number; one in a call needs force=true, which lets live calls finish",
      query: ["force"],
      errors: ["NUMBER_NOT_FOUND", "RESOURCE_IN_USE"],
    }),
  ]),

  ...tagged("Blacklist", [
    row("POST", "/blacklist", "blacklist.add", OWNERS, 201, {
      summary: "List phone numbers that must not be called",
      body: "*",
      errors: ["INVALID_PHONE_NUMBER", "NUMBER_EXISTS", "RESELLER_NOT_FOUND"],
    }),
    row("GET", "/blacklist", "blacklist.list", ALL, 200, {
      summary: "List the numbers that must not be called",
      cost: COST.list,
      query: ["phone_number", ...PAGE],
      errors: ["INVALID_PHONE_NUMBER"],
    }),
    row("DELETE", "/blacklist", "blacklist.remove", OWNERS, 204, {
      summary: "Take phone numbers off the blacklist; the body names them",
      body: "*",
      errors: ["INVALID_PHONE_NUMBER", "BLACKLIST_ENTRY_NOT_FOUND", "RESELLER_NOT_FOUND"],
    }),
  ]),
];
