import { FLOW, SAMPLE, scope, TIME, times } from "./example-records.ts";

const { template_id } = SAMPLE;

/** A push's answer. */
export const QUEUED = {
  status: "queued",
  lead_call_tracker_id: SAMPLE.lead_id,
  order_id: SAMPLE.request_id,
  message: "The lead is queued.",
};
/** A bulk push's answers. */
export const BULK_OUTCOMES = [
  { index: 0, ...QUEUED },
  {
    index: 1,
    status: "refused",
    code: "PAYLOAD_INVALID",
    http_status: 422,
    message: "payload.customer_name is required.",
    errors: [{ path: "payload.customer_name", message: "is required" }],
  },
];
/** A lead as lists show it. */
export const LEAD_SUMMARY = {
  id: SAMPLE.lead_id,
  ...scope,
  template: FLOW.name,
  request_id: SAMPLE.request_id,
  status: "BACKLOG",
  outcome: null,
  attempt_count: 0,
  ...times,
};
/** A finished lead in full. */
export const LEAD = {
  ...LEAD_SUMMARY,
  template_id,
  status: "FINISHED",
  outcome: "confirmed",
  attempt_count: 1,
  call_id: "CA0123456789abcdef0123456789abcdef",
  call_initiated_time: "2026-11-21T09:30:02.000Z",
  call_end_time: "2026-11-21T09:30:41.000Z",
  recording_url: null,
  cost: 0.014,
  execution_mode: "TELEPHONY",
  call_direction: "OUTBOUND",
  outbound_number_id: SAMPLE.number_id,
  trace_scores: {},
  payload: {
    customer_mobile_number: SAMPLE.customer,
    customer_name: "Ada Lovelace",
    reporting_webhook_url: "https://shop.example.com/webhooks/calls",
  },
  metaData: {
    transcription: [
      { role: "assistant", content: "Hello, this is Northwind Outfitters. Does tomorrow suit for the delivery?" },
      { role: "user", content: "Yes, that is fine." },
      { role: "assistant", content: "Thank you, and goodbye." },
    ],
    call_ended_by: "agent",
    hangup_source: { by: "agent", reason: null },
    node_traversal: ["ask", "goodbye"],
    errors: [],
  },
};
/** A blocked inbound call. */
export const INBOUND_CALL = {
  id: "1f0e9d8c-7b6a-8594-8372-615f4e3d2c1b",
  provider: "PROVIDER_ONE",
  call_id: "CA89abcdef0123456789abcdef01234567",
  caller_number: SAMPLE.customer,
  called_number: SAMPLE.outbound,
  number_id: SAMPLE.number_id,
  ...scope,
  template_id,
  verdict: "REJECTED",
  reason: "outside_window",
  lead_id: null,
  created_at: TIME,
};
/** A webhook delivery. */
export const DELIVERY = {
  id: `msg_${SAMPLE.finished_lead_id}`,
  lead_id: SAMPLE.finished_lead_id,
  url: "https://shop.example.com/webhooks/calls",
  state: "delivered",
  next_try_at: null,
  tries: [{ at: "2026-11-21T09:30:42.000Z", status: 204, error: null, duration_ms: 52 }],
  created_at: "2026-11-21T09:30:41.500Z",
};
/** What was recorded of a lead. */
export const TIMELINE = {
  lead_id: SAMPLE.finished_lead_id,
  count: 2,
  events: [
    { at: TIME, source: "leads", event: "queued", details: { due_at: TIME, execution_mode: "TELEPHONY" } },
    {
      at: "2026-11-21T09:31:00.000Z",
      source: "leads",
      event: "aborted",
      details: { reason: "The customer called us.", by: `user:${SAMPLE.user_id}` },
    },
  ],
};
const SESSION_REF = `${SAMPLE.session_lead_id}.1`;
/** How a client joins a session. */
export const JOINED = {
  transport: "websocket",
  url: "wss://voice.example.com/media/browser",
  token: "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJjYWxsYWdlbnQifQ.c2lnbmF0dXJl",
  room_name: `rtc-${SESSION_REF}`,
  expires_at: "2026-11-21T09:32:00.000Z",
};
const gate = (
  name: string,
  verdict: "pass" | "hold",
  detail: string,
  values: object = {},
  until: string | null = null,
) => ({ gate: name, verdict, detail, values, until });
const OPENS = "2026-11-23T08:00:00.000Z";
/** Why a lead waits. */
export const EXPLANATION = {
  lead_id: SAMPLE.lead_id,
  at: "2026-11-22T12:00:00.000Z",
  status: "BACKLOG",
  eligible: false,
  next_eligible_at: OPENS,
  summary: `The calling window 09:00-18:00 Europe/Berlin is closed; it opens at ${OPENS}. As things stand it is called at ${OPENS}.`,
  gates: [
    gate("status", "pass", "The lead waits in BACKLOG.", { status: "BACKLOG" }),
    gate("phone_number", "pass", "The number to call is +1415***0123."),
    gate("template", "pass", "The template exists."),
    gate("expiry", "pass", "The lead may be called until it expires at 2026-11-28T09:30:00.000Z.", {
      max_age_seconds: 604_800,
      expires_at: "2026-11-28T09:30:00.000Z",
    }),
    gate("due", "pass", `The lead is due since ${TIME}.`, { due_at: TIME }),
    gate("deployment", "pass", "Calling is not paused for the whole deployment."),
    gate("merchant", "pass", "Calling is not paused for the merchant."),
    gate("template_active", "pass", "The template is switched on."),
    gate("configuration", "pass", "The template has a configuration."),
    gate("calling_enabled", "pass", "Calling is enabled."),
    gate(
      "window",
      "hold",
      `The calling window 09:00-18:00 Europe/Berlin is closed; it opens at ${OPENS}.`,
      { call_start_time: "09:00", call_end_time: "18:00", timezone: "Europe/Berlin" },
      OPENS,
    ),
    gate("blacklist", "pass", "The number is not on the blacklist."),
    gate("international", "pass", "International calls are allowed."),
    gate("line", "pass", "5 line(s) of 1 usable number(s) of PROVIDER_ONE are free.", {
      provider: "PROVIDER_ONE",
      numbers: 1,
      free_lines: 5,
    }),
    gate("rate_limit", "pass", "The configuration has no rate limit."),
    gate("carrier_limit", "pass", "The account of PROVIDER_ONE has room."),
  ],
};
const FIGURES = {
  leads: 120,
  finished: 96,
  called: 92,
  attempts: 131,
  answered: 88,
  average_talk_seconds: 37.4,
  cost: 1.834,
  do_not_call: 2,
  decided: 84,
  success_rate: 0.924,
};
const OUTCOMES = { confirmed: 71, rescheduled: 13, no_answer: 12 };
/** A lead that begins to wait, as an event. */
const FIRST_EVENT = {
  specversion: "1.0",
  id: `${SAMPLE.finished_lead_id}.1`,
  source: "/callagent/leads",
  type: "lead.queued",
  subject: SAMPLE.finished_lead_id,
  time: TIME,
  datacontenttype: "application/json",
  reseller: scope.reseller_id,
  merchant: scope.merchant_id,
  template: template_id,
  seq: 1,
  data: {
    request_id: SAMPLE.request_id,
    execution_mode: "TELEPHONY",
    call_direction: "OUTBOUND",
    is_test: false,
    phone_number: "+1415***0123",
    because: "pushed",
    due_at: TIME,
    reason: null,
  },
};
const READ = { more: false, expired: false };
/** A page of events. */
export const EVENTS = { events: [{ cursor: "cDNtdg", event: FIRST_EVENT }], next_cursor: "cDNtdg", ...READ };
/** A page of a lead's events. */
export const EVENTS_OF_LEAD = { events: [{ cursor: "czE", event: FIRST_EVENT }], next_cursor: "czE", ...READ };
/** Figures of a period. */
export const SUMMARY = {
  from: "2026-11-01T00:00:00.000Z",
  to: "2026-12-01T00:00:00.000Z",
  cost_currency: "USD",
  ...FIGURES,
  by_status: { BACKLOG: 20, RETRY: 4, FINISHED: 96 },
  by_outcome: OUTCOMES,
  templates: [{ template_id, template: FLOW.name, ...FIGURES, by_outcome: OUTCOMES }],
};
/** A signing secret. */
export const WEBHOOK_SECRET = { secret: "whsec_Zm9yIHRoZSBkb2N1bWVudGF0aW9uIG9ubHksIHN0aWxs" };
/** A signing secret that replaces another. */
export const ROTATED_SECRET = { ...WEBHOOK_SECRET, previous_valid_until: "2026-11-22T09:30:00.000Z" };
