import { SAMPLE, scope, TIME } from "./example-records.ts";

/** An erasure that has just been asked for. */
export const ERASURE = {
  id: SAMPLE.erasure_id,
  ...scope,
  merchant_id: null,
  state: "running",
  waiting: 0,
  held_by: null,
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
    archives: 0,
    blacklist_entries: 0,
  },
  requested_by: { kind: "user", id: SAMPLE.user_id, role: "admin" },
  created_at: TIME,
  finished_at: null,
};

const DAYS = { recordings_days: 30, transcripts_days: 90, deliveries_days: 30, leads_days: 365 };
const RETENTION = {
  reseller_id: SAMPLE.reseller_id,
  ...DAYS,
  archive: false,
  set_by: { kind: "user", id: SAMPLE.user_id, role: "admin" },
  updated_at: TIME,
  next_run_at: TIME,
  last_run: null,
};

const REASON = "case 2026-118, letter of 20 November";
const HOLD = {
  id: SAMPLE.legal_hold_id,
  reseller_id: SAMPLE.reseller_id,
  covers: "number",
  phone_number: SAMPLE.customer,
  state: "active",
  reason: REASON,
  put_by: { kind: "user", id: SAMPLE.user_id, role: "admin" },
  created_at: TIME,
  lifted_by: null,
  lift_reason: null,
  lifted_at: null,
};

/** Examples of erasures, of retention and of legal holds. */
export const ERASURES = {
  "GET /retention": {
    query: { reseller_id: SAMPLE.reseller_id },
    response: {
      ...RETENTION,
      recordings_days: null,
      transcripts_days: null,
      deliveries_days: null,
      leads_days: null,
      set_by: null,
      updated_at: null,
      next_run_at: null,
    },
  },
  "PUT /retention": { request: { reseller_id: SAMPLE.reseller_id, ...DAYS }, response: RETENTION },
  "POST /retention/dry-run": {
    request: { reseller_id: SAMPLE.reseller_id, recordings_days: 30 },
    response: {
      reseller_id: SAMPLE.reseller_id,
      archive: false,
      kinds: [{ kind: "recordings", days: 30, before: TIME, leads: 0, more: false }],
    },
  },
  "POST /legal-holds": {
    request: { reseller_id: SAMPLE.reseller_id, phone_number: SAMPLE.customer, reason: REASON },
    response: HOLD,
  },
  "GET /legal-holds": {
    needs: ["legal_hold_id"],
    query: { state: "active", limit: 20 },
    response: { count: 1, legal_holds: [HOLD], next_cursor: null },
  },
  "GET /legal-holds/{id}": { path: { id: SAMPLE.legal_hold_id }, response: HOLD },
  "POST /legal-holds/{id}/lift": {
    path: { id: SAMPLE.legal_hold_id },
    request: { reason: "case 2026-118 is closed" },
    response: {
      ...HOLD,
      phone_number: null,
      state: "lifted",
      lifted_by: HOLD.put_by,
      lift_reason: "case 2026-118 is closed",
      lifted_at: TIME,
    },
  },
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
