import { ALL, COST, PAGE, WRITERS, row, tagged, type Row } from "./row.ts";

/** Templates, configurations, and the secrets that both use. */
export const campaigns: readonly Row[] = [
  ...tagged("Templates", [
    row("POST", "/templates", "config.createTemplate", WRITERS, 201, {
      summary: "Create a template: the flow of a conversation",
      body: "template",
      errors: ["TEMPLATE_INVALID", "RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND"],
    }),
    row("GET", "/templates", "config.listTemplates", ALL, 200, {
      summary: "List the templates of your scope; `name` is the beginning of the name, as it is written",
      cost: COST.list,
      query: ["name", "reseller_id", "merchant_id", "is_active", ...PAGE],
    }),
    row("GET", "/templates/{id}", "config.getTemplate", ALL, 200, {
      summary: "Read a template in its newest version",
      errors: ["TEMPLATE_NOT_FOUND"],
    }),
    row("PUT", "/templates/{id}", "config.updateTemplate", WRITERS, 200, {
      summary: "Change a template: a new immutable version; a change of is_active alone makes none",
      body: "template",
      errors: ["TEMPLATE_NOT_FOUND", "TEMPLATE_INVALID", "BUSY"],
    }),
    row("DELETE", "/templates/{id}", "config.deleteTemplate", WRITERS, 204, {
      summary: "Delete a template and its configuration, once no lead of it is unfinished",
      errors: ["TEMPLATE_NOT_FOUND", "RESOURCE_IN_USE"],
    }),
    row("GET", "/templates/{id}/versions", "config.listVersions", ALL, 200, {
      summary: "List every version of a template, newest first",
      cost: COST.list,
      query: PAGE,
      errors: ["TEMPLATE_NOT_FOUND"],
    }),
  ]),

  ...tagged("Configurations", [
    row("POST", "/configurations", "config.createConfiguration", WRITERS, 201, {
      summary: "Create the call execution configuration of a template",
      body: "configuration",
      errors: ["TEMPLATE_NOT_FOUND", "CONFIGURATION_EXISTS", "WEBHOOK_ADDRESS_REFUSED"],
    }),
    row("GET", "/configurations", "config.listConfigurations", ALL, 200, {
      summary: "List the configurations of your scope",
      cost: COST.list,
      query: ["reseller_id", "template_id", "merchant_id", ...PAGE],
    }),
    row("GET", "/configurations/{config_id}", "config.getConfiguration", ALL, 200, {
      summary: "Read a configuration in full, defaults filled in",
      errors: ["CONFIGURATION_NOT_FOUND"],
    }),
    row("PUT", "/configurations/{config_id}", "config.updateConfiguration", WRITERS, 200, {
      summary: "Change a configuration; null gives a field its default back",
      body: "configuration",
      errors: ["CONFIGURATION_NOT_FOUND", "BUSY", "WEBHOOK_ADDRESS_REFUSED"],
    }),
    row("DELETE", "/configurations/{config_id}", "config.deleteConfiguration", WRITERS, 204, {
      summary: "Delete a configuration; the template's leads wait until it has one again",
      errors: ["CONFIGURATION_NOT_FOUND"],
    }),
  ]),

  ...tagged("Doors", [
    row("POST", "/doors", "config.createDoor", WRITERS, 201, {
      summary: "Make a door: visitors of its websites call by a button, and talk to its template",
      body: "door",
      errors: ["TEMPLATE_NOT_FOUND", "MERCHANT_NOT_FOUND", "RESOURCE_IN_USE"],
    }),
    row("GET", "/doors", "config.listDoors", ALL, 200, {
      summary: "List the doors of your scope",
      cost: COST.list,
      query: ["template_id", "reseller_id", "merchant_id", ...PAGE],
    }),
    row("DELETE", "/doors/{id}", "config.deleteDoor", WRITERS, 204, {
      summary: "Withdraw a door: its key works no more; sessions under way go on",
      errors: ["DOOR_NOT_FOUND"],
    }),
  ]),

  ...tagged("Secrets", [
    row("PUT", "/secrets/{name}", "config.putSecret", WRITERS, 200, {
      summary: "Write a secret of a merchant, or of a reseller, or replace it; its value is never shown",
      body: "*",
      errors: ["RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND", "RESOURCE_IN_USE", "NOT_AVAILABLE"],
    }),
    row("GET", "/secrets", "config.listSecrets", WRITERS, 200, {
      summary: "List the names of the secrets of your scope",
      query: ["name", "reseller_id", "merchant_id", ...PAGE],
    }),
    row("DELETE", "/secrets/{name}", "config.deleteSecret", WRITERS, 204, {
      summary: "Delete a secret; requests that use it fail from then on",
      query: ["reseller_id", "merchant_id"],
      errors: ["SECRET_NOT_FOUND"],
    }),
  ]),
];
