import { ALL, COST, PAGE, row, tagged, type Row } from "./row.ts";

/** Recordings, inbound calls and sums. */
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
      summary:
        "Sum up the leads created in a period of at most 366 days, those that have ended by their age included, by whole days; playground and test leads are left out",
      cost: COST.sum,
      query: ["from", "to", "template_id", "merchant_id"],
    }),
  ]),
];
