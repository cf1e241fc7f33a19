import { DEFAULT_LISTENING } from "../../../shared/contracts/records/listening-settings.ts";

/** Ids and values of the examples; a resource has the same ones everywhere. */
export const SAMPLE = {
  reseller_id: "3f0d5c1e-8a47-4b7e-9d0a-6f2b1c9e4d10",
  merchant_id: "8c1f7a52-0b9d-4e36-a1c4-5d7e2f8b3a21",
  template_id: "7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00",
  configuration_id: "1d2e3f40-5a6b-4c7d-8e9f-a0b1c2d3e4f5",
  secret: "CRM_TOKEN",
  door_id: "d00e5a7c-41b2-4c9d-8e3f-7a6b5c4d3e2f",
  door_key: "Wm9Qc3RVdldYeVphYmNkZWZn",
  endpoint_id: "e9d0a1b2-5c3d-4e4f-8a6b-7c8d9e0f1a2b",
  endpoint_delivery_id: "msg_0c5a9e1d-3b7f-8d24-9a61-5e2f4c8b7d90",
  erasure_id: "e7a5e000-6b1c-4d2e-8f30-9a1b2c3d4e5f",
  legal_hold_id: "1e9a1401-d5c2-4b7e-a1f0-3c2b1a0f9e8d",
  number_id: "c0ffee00-1234-4abc-8def-0123456789ab",
  user_id: "5e4d3c2b-1a09-4f8e-b7d6-c5b4a3928170",
  s2s_token_id: "9a8b7c6d-5e4f-4a3b-82c1-d0e9f8a7b6c5",
  lead_id: "2b7e1516-28ae-4d2a-abf7-158809cf4f3c",
  finished_lead_id: "6bc1bee2-2e40-4f96-93d7-7e117393172a",
  stream_lead_id: "0b5e7c1a-9d24-4e83-b6f7-2a1c8d3e4f50",
  session_lead_id: "4c8d1f0e-77b2-4f5a-9a39-0d6e5b1c2f83",
  request_id: "order-1001",
  email: "ada@northwind.example",
  new_email: "grace@northwind.example",
  password: "correct horse battery",
  outbound: "+14155550100",
  customer: "+14155550123",
  listed: "+14155550177",
  unlisted: "+14155550178",
} as const;
/** The password that POST /password sets. */
export const SECOND_PASSWORD = "a long second password";
/** The call whose recording is asked for. */
export const CALL_ID = "CA00000000000000000000000000000000";

const { reseller_id, merchant_id, template_id } = SAMPLE;
/** Websites of a door. */
export const ORIGINS = ["https://shop.northwind.example"];
/** When everything in the examples was created. */
export const TIME = "2026-11-21T09:30:00.000Z";
/** Both times of a record. */
export const times = { created_at: TIME, updated_at: TIME };
/** The owner of every record. */
export const scope = { reseller_id, merchant_id };

/** What calls may take: started minutes, and money in COST_CURRENCY. */
export const CEILING = { per_day: { minutes: 50_000 }, per_month: { money: 20_000 } };
/** A reseller. */
export const RESELLER = { id: reseller_id, name: "Acme Voice", is_active: true, spend_ceiling: null, ...times };
/** A merchant. */
export const MERCHANT = {
  id: merchant_id,
  name: "Northwind Outfitters",
  reseller_id,
  contact_email: "calls@northwind.example",
  is_active: true,
  paused: null,
  test_numbers: [],
  max_calls_per_callee: null,
  spend_ceiling: null,
  webhook_phone_number: "masked",
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
  id: SAMPLE.s2s_token_id,
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
    { name: "goodbye", say: "Thank you, and goodbye.", on_enter: [{ type: "end_call" }] },
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
  do_not_call_function: true,
  do_not_call_key: null,
  voice: null,
  global_functions: [],
  retry_on: null,
  engine: null,
  models: {},
  summary: false,
  evaluation_wait_seconds: 2,
  ...FLOW,
  limits: { max_call_seconds: 600, idle_seconds: 8, max_age_seconds: 604_800 },
  listening: DEFAULT_LISTENING,
  speaks_first: "agent",
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
  weekdays: [1, 2, 3, 4, 5],
  holidays: ["--01-01", "--12-25", "2027-03-26"],
  respect_callee_timezone: null,
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
  duplicates: null,
  transfer_numbers: [],
  ...times,
};

/** A door. */
export const DOOR = {
  id: SAMPLE.door_id,
  key: SAMPLE.door_key,
  ...scope,
  template_id,
  origins: ORIGINS,
  calls_per_address_hour: 20,
  calls_per_origin_hour: 100,
  calls_per_day: 500,
  created_at: TIME,
};
/** A secret, without its value. */
export const SECRET = { name: SAMPLE.secret, ...scope, ...times };

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
