import { ALL, COST, PAGE, WRITERS, row, tagged, type Row } from "./row.ts";

/** Recordings, inbound calls, sums and webhooks. */
export const results: readonly Row[] = [
  ...tagged("Recordings", [
    row("GET", "/leads/recording/{call_sid}", "leads.recording", ALL, 200, {
      summary: "Download the recording of a call by the call_id of its lead, whole or in part (Range)",
      cost: COST.heavy,
      download: ["audio/wav", "audio/mpeg"],
      errors: ["RECORDING_NOT_FOUND", "RECORDING_NOT_READY", "RANGE_NOT_SATISFIABLE", "RECORDING_FAILED", "BUSY"],
    }),
  ]),

  ...tagged("Inbound calls", [
    row("GET", "/inbound-calls", "dialer.inboundCalls", ALL, 200, {
      summary: "List the calls to your numbers, newest first; blocked ones with the reason, taken ones with their lead",
      cost: COST.list,
      query: ["merchant_id", "template_id", "verdict", "from", "to", ...PAGE],
    }),
  ]),

  ...tagged("Analytics", [
    row("GET", "/analytics/summary", "leads.summary", ALL, 200, {
      summary: "Sum up the leads created in a period of at most 366 days; playground and test leads are left out",
      cost: COST.sum,
      query: ["from", "to", "template_id", "merchant_id"],
    }),
  ]),

  ...tagged("Webhooks", [
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
  ]),
];
