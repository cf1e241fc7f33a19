/** Ids and words of the examples; the same thing has the same one everywhere. */
export const SAMPLE = {
  reseller_id: "3f0d5c1e-8a47-4b7e-9d0a-6f2b1c9e4d10",
  merchant_id: "8c1f7a52-0b9d-4e36-a1c4-5d7e2f8b3a21",
  template_id: "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00",
  configuration_id: "1d2e3f40-5a6b-4c7d-8e9f-a0b1c2d3e4f5",
  number_id: "c0ffee00-1234-4abc-8def-0123456789ab",
  user_id: "5e4d3c2b-1a09-4f8e-b7d6-c5b4a3928170",
  s2s_token_id: "9a8b7c6d-5e4f-4a3b-82c1-d0e9f8a7b6c5",
  lead_id: "2b7e1516-28ae-4d2a-abf7-158809cf4f3c",
  finished_lead_id: "6bc1bee2-2e40-4f96-93d7-7e117393172a",
  request_id: "order-1001",
  email: "ada@northwind.example",
  new_email: "grace@northwind.example",
  password: "correct horse battery",
  outbound: "+14155550100",
  customer: "+14155550123",
  listed: "+14155550177",
  unlisted: "+14155550178",
} as const;

const { reseller_id, merchant_id, template_id } = SAMPLE;
const TIME = "2026-11-21T09:30:00.000Z";
const times = { created_at: TIME, updated_at: TIME };
const scope = { reseller_id, merchant_id };

/** A reseller. */
export const RESELLER = { id: reseller_id, name: "Acme Voice", is_active: true, ...times };
/** A merchant. */
export const MERCHANT = {
  id: merchant_id,
  name: "Northwind Outfitters",
  reseller_id,
  contact_email: "calls@northwind.example",
  is_active: true,
  paused: null,
  ...times,
};
/** Who stopped calling, when and why. */
export const PAUSE = { at: TIME, by: `user:${SAMPLE.user_id}`, reason: "The line to our stock system is down." };
/** A user. */
export const USER = { id: SAMPLE.user_id, email: SAMPLE.email, role: "merchant", ...scope, is_active: true, ...times };
/** A log-in's answer. */
export const LOGIN = {
  access_token: "eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiJ1c2VyIn0.c2lnbmF0dXJl",
  token_type: "bearer",
  user: { id: SAMPLE.user_id, email: SAMPLE.email, role: "merchant", reseller_id },
};
/** A token as it is shown once. */
export const ISSUED = {
  token: "cag_s2s_Zm9yIHRoZSBkb2N1bWVudGF0aW9uIG9ubHksIHN0aWxs",
  name: "order system",
  role: "merchant",
  ...scope,
  created_at: TIME,
};
/** The same, listed. */
export const TOKEN = {
  id: SAMPLE.s2s_token_id,
  prefix: "cag_s2s_Zm9yIH",
  name: "order system",
  role: "merchant",
  ...scope,
  created_at: TIME,
  last_seen_at: "2026-11-21T10:02:11.000Z",
  expires_at: "2027-11-21T09:30:00.000Z",
  revoked_at: null,
};
/** An entry of the audit log. */
export const AUDIT_ENTRY = {
  id: "75510f6a-3cd1-4525-9858-860981d5a12f",
  actor: { kind: "user", id: SAMPLE.user_id, role: "reseller" },
  action: "token.issued",
  subject: SAMPLE.s2s_token_id,
  ...scope,
  details: { name: "order system", role: "merchant", prefix: "cag_s2s_Zm9yIH" },
  at: TIME,
};

/** A template as a client writes it, without its owner. */
export const FLOW = {
  name: "delivery reminder",
  language: "en-US",
  greeting: "Hello, this is Northwind Outfitters.",
  initial_node: "ask",
  payload_schema: {
    type: "object",
    required: ["customer_name"],
    properties: { customer_name: { type: "string" }, customer_mobile_number: { type: "string" } },
  },
  variables: ["new_day"],
  nodes: [
    {
      name: "ask",
      prompt: "Ask {{customer_name}} whether tomorrow suits for the delivery.",
      functions: [
        { name: "confirm", description: "The customer agrees.", outcome: "confirmed", next_node: "goodbye" },
        {
          name: "reschedule",
          description: "The customer names another day.",
          outcome: "rescheduled",
          next_node: "goodbye",
          set: { new_day: "day" },
          parameters: { type: "object", required: ["day"], properties: { day: { type: "string" } } },
        },
      ],
    },
    { name: "goodbye", say: "Thank you, and goodbye.", on_exit: [{ type: "end_call" }] },
  ],
  evaluators: [{ name: "politeness", question: "How polite was the agent?" }],
};
/** A template as it is kept. */
export const TEMPLATE = {
  id: template_id,
  version: 1,
  ...scope,
  is_active: true,
  voicemail_message: null,
  voice: null,
  global_functions: [],
  retry_on: null,
  engine: null,
  models: {},
  summary: false,
  evaluation_wait_seconds: 2,
  ...FLOW,
  limits: { max_call_seconds: 600, idle_seconds: 8, max_age_seconds: 604_800 },
  ...times,
};
/** A configuration in full. */
export const CONFIGURATION = {
  id: SAMPLE.configuration_id,
  ...scope,
  template_id,
  template: FLOW.name,
  initial_offset: 0,
  retry_offset: 900,
  call_start_time: "09:00",
  call_end_time: "18:00",
  timezone: "Europe/Berlin",
  max_retry: 2,
  calling_provider: "PROVIDER_ONE",
  enable_calling: true,
  enable_international_call: true,
  enable_inbound: false,
  inbound_call_start_time: null,
  inbound_call_end_time: null,
  inbound_call_timezone: "Europe/Berlin",
  inbound_block_action: "REJECT",
  inbound_redirect_number: null,
  inbound_block_message: null,
  inbound_webhook_url: null,
  inbound_max_calls_per_caller: 10,
  inbound_caller_window_seconds: 3600,
  record_calls: true,
  voicemail_action: "hangup",
  engine: null,
  enforce_blacklist: true,
  rate_limit_enabled: true,
  rate_limit_max_calls: 100,
  rate_limit_window_seconds: 3600,
  rate_limit_whitelist: [],
  pre_checks: [],
  ...times,
};

/** An outbound number. */
export const NUMBER = {
  id: SAMPLE.number_id,
  phone_number: SAMPLE.outbound,
  provider: "PROVIDER_ONE",
  status: "AVAILABLE",
  channel: "voice",
  max_concurrent_calls: 5,
  reseller_id,
  merchant_id: null,
  inbound_template_id: null,
  ...times,
};
/** What listing numbers answers. */
export const LISTING = { added: 1, already_listed: 0, phone_numbers: [SAMPLE.unlisted] };
/** A listed number. */
export const BLACKLIST_ENTRY = { phone_number: SAMPLE.listed, reseller_id: null, created_at: TIME };

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
    node_traversal: ["ask", "goodbye"],
    errors: [],
  },
};
/** A call to one of our numbers that was blocked. */
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
  attempts: 131,
  answered: 88,
  average_talk_seconds: 37.4,
  cost: 1.834,
  decided: 84,
  success_rate: 0.875,
};
const OUTCOMES = { confirmed: 71, rescheduled: 13, no_answer: 12 };
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
/** A signing secret that takes another's place. */
export const ROTATED_SECRET = { ...WEBHOOK_SECRET, previous_valid_until: "2026-11-22T09:30:00.000Z" };
