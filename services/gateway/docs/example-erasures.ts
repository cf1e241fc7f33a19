import { SAMPLE, scope, TIME } from "./example-records.ts";

/** An erasure that has just been asked for. */
export const ERASURE = {
  id: SAMPLE.erasure_id,
  ...scope,
  merchant_id: null,
  state: "running",
  waiting: 0,
  erased: {
    leads_aborted: 0,
    leads: 0,
    events: 0,
    calls: 0,
    recordings: 0,
    carrier_callbacks: 0,
    inbound_calls: 0,
    conversation_sessions: 0,
    deliveries: 0,
    blacklist_entries: 0,
  },
  requested_by: { kind: "user", id: SAMPLE.user_id, role: "admin" },
  created_at: TIME,
  finished_at: null,
};

/** Examples of erasures. */
export const ERASURES = {
  "POST /erasures": {
    request: { phone_number: SAMPLE.customer, reseller_id: SAMPLE.reseller_id },
    response: ERASURE,
  },
  "GET /erasures": {
    needs: ["erasure_id"],
    query: { state: "running", limit: 20 },
    response: { count: 1, erasures: [ERASURE], next_cursor: null },
  },
  "GET /erasures/{id}": { path: { id: SAMPLE.erasure_id }, response: ERASURE },
} as const;
