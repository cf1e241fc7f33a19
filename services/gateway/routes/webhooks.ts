import { ALL, COST, PAGE, WRITERS, row, tagged, type Row } from "./row.ts";

/** Reports of leads, and endpoints of tenants. */
export const webhooks: readonly Row[] = tagged("Webhooks", [
  row("GET", "/deliveries", "webhook.list", ALL, 200, {
    summary:
      "List the webhook deliveries of your scope with every try: those of one state (exhausted: given up after the last try), or all",
    cost: COST.list,
    query: ["state", "reseller_id", "merchant_id", ...PAGE],
  }),
  row("GET", "/webhook-secret", "webhook.secret", WRITERS, 200, {
    summary: "Read the secret that signs the webhooks of a merchant, or of a reseller",
    query: ["reseller_id", "merchant_id"],
    errors: ["RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND"],
  }),
  row("POST", "/webhook-secret/rotate", "webhook.rotateSecret", WRITERS, 200, {
    summary: "Make a new signing secret; the one before signs beside it for 24 hours",
    body: "*",
    errors: ["RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND"],
  }),
  row("POST", "/webhook-endpoints", "webhook.createEndpoint", WRITERS, 201, {
    summary:
      "Make an endpoint that hears of events of a merchant, or of a reseller and all its merchants; its secret is in this answer alone",
    body: "*",
    errors: ["RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND", "WEBHOOK_ADDRESS_REFUSED", "RESOURCE_IN_USE", "BUSY"],
  }),
  row("GET", "/webhook-endpoints", "webhook.listEndpoints", ALL, 200, {
    summary: "List the endpoints of your scope, newest first",
    cost: COST.list,
    query: ["reseller_id", "merchant_id", ...PAGE],
  }),
  row("GET", "/webhook-endpoints/{id}", "webhook.getEndpoint", ALL, 200, {
    summary: "Read an endpoint",
    errors: ["ENDPOINT_NOT_FOUND"],
  }),
  row("PUT", "/webhook-endpoints/{id}", "webhook.updateEndpoint", WRITERS, 200, {
    summary:
      "Change an endpoint's address or types, pause it, or go on: what it missed while it was paused is sent in order",
    body: "*",
    errors: ["ENDPOINT_NOT_FOUND", "WEBHOOK_ADDRESS_REFUSED"],
  }),
  row("DELETE", "/webhook-endpoints/{id}", "webhook.deleteEndpoint", WRITERS, 204, {
    summary: "Delete an endpoint, with what is on its way to it and the list of its deliveries",
    errors: ["ENDPOINT_NOT_FOUND"],
  }),
  row("POST", "/webhook-endpoints/{id}/secret/rotate", "webhook.rotateEndpointSecret", WRITERS, 200, {
    summary: "Make a new secret for an endpoint; the one before signs beside it for 24 hours",
    errors: ["ENDPOINT_NOT_FOUND", "BUSY"],
  }),
  row("POST", "/webhook-endpoints/{id}/test", "webhook.testEndpoint", WRITERS, 202, {
    summary: "Send an event of the type endpoint.test, once; its delivery says what came of it",
    cost: COST.replay,
    errors: ["ENDPOINT_NOT_FOUND"],
  }),
  row("GET", "/webhook-endpoints/{id}/deliveries", "webhook.endpointDeliveries", ALL, 200, {
    summary: "List what was sent to an endpoint in the last 30 days, with every try: of one state, or all",
    cost: COST.list,
    query: ["state", ...PAGE],
    errors: ["ENDPOINT_NOT_FOUND"],
  }),
  row(
    "POST",
    "/webhook-endpoints/{id}/deliveries/{delivery_id}/replay",
    "webhook.replayEndpointDelivery",
    WRITERS,
    200,
    {
      summary: "Send a delivery again: the same webhook-id and bytes, a new round of tries",
      cost: COST.replay,
      errors: ["ENDPOINT_NOT_FOUND", "DELIVERY_NOT_FOUND", "DELIVERY_PENDING"],
    },
  ),
]);
