import { ENDPOINTS } from "./example-endpoints.ts";
import { ERASURES } from "./example-erasures.ts";
import * as leads from "./example-leads.ts";
import * as records from "./example-records.ts";
import { SAMPLE } from "./example-records.ts";
import type { Row } from "../routes/row.ts";

/** One request and its answer. The test runs every example against the services, with its own ids in place of those of SAMPLE. */
export interface Example {
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean>>;
  headers?: Readonly<Record<string, string>>;
  request?: unknown;
  /** Resources that must exist in addition to those the request names. */
  needs?: readonly (keyof typeof SAMPLE)[];
  /** Absent: no body. For a bulk row: a list. */
  response?: unknown;
}

const listOf = (noun: string, ...items: unknown[]) => ({ count: items.length, [noun]: items, next_cursor: null });
const { reseller_id, merchant_id, template_id } = SAMPLE;
const scope = { reseller_id, merchant_id };
const window = {
  initial_offset: 0,
  retry_offset: 900,
  call_start_time: "09:00",
  call_end_time: "18:00",
  max_retry: 2,
  calling_provider: "PROVIDER_ONE",
};
const push = {
  request_id: SAMPLE.request_id,
  template_id,
  ...scope,
  reporting_webhook_url: "https://shop.example.com/webhooks/calls",
  payload: { customer_mobile_number: SAMPLE.customer, customer_name: "Ada Lovelace" },
};

const IDENTITY: Record<string, Example> = {
  "POST /login": { request: { email: SAMPLE.email, password: SAMPLE.password }, response: records.LOGIN },
  "POST /logout": {},
  "POST /password": {
    request: { current_password: SAMPLE.password, new_password: records.SECOND_PASSWORD },
    response: records.LOGIN,
  },
  "POST /s2s-token": { request: { name: "order system", role: "merchant", ...scope }, response: records.ISSUED },
  "GET /s2s-tokens": {
    needs: ["s2s_token_id"],
    query: { role: "merchant", limit: 20 },
    response: listOf("s2s_tokens", records.TOKEN),
  },
  "DELETE /s2s-tokens/{id}": { path: { id: SAMPLE.s2s_token_id } },
  "POST /users": {
    request: { email: SAMPLE.new_email, password: "a long first password", role: "merchant", ...scope },
    response: { ...records.USER, email: SAMPLE.new_email },
  },
  "GET /users": {
    needs: ["user_id"],
    query: { role: "merchant", is_active: true },
    response: listOf("users", records.USER),
  },
  "GET /users/{id}": { path: { id: SAMPLE.user_id }, response: records.USER },
  "PUT /users/{id}": {
    path: { id: SAMPLE.user_id },
    request: { is_active: false },
    response: { ...records.USER, is_active: false },
  },
  "DELETE /users/{id}": { path: { id: SAMPLE.user_id } },
  "GET /audit": {
    needs: ["s2s_token_id"],
    query: { action: "token.issued", limit: 20 },
    response: listOf("entries", records.AUDIT_ENTRY),
  },
};

const TENANTS: Record<string, Example> = {
  "POST /resellers": { request: { name: "Acme Voice" }, response: records.RESELLER },
  "GET /resellers": {
    needs: ["reseller_id"],
    query: { name: "acme" },
    response: listOf("resellers", records.RESELLER),
  },
  "GET /resellers/{id}": { path: { id: reseller_id }, response: records.RESELLER },
  "PUT /resellers/{id}": {
    path: { id: reseller_id },
    request: { name: "Acme Voice Ltd.", spend_ceiling: records.CEILING },
    response: { ...records.RESELLER, name: "Acme Voice Ltd.", spend_ceiling: records.CEILING },
  },
  "DELETE /resellers/{id}": { path: { id: reseller_id } },
  "POST /merchants": {
    request: { name: "Northwind Outfitters", reseller_id, contact_email: "calls@northwind.example" },
    response: records.MERCHANT,
  },
  "GET /merchants": { needs: ["merchant_id"], query: { reseller_id }, response: listOf("merchants", records.MERCHANT) },
  "GET /merchants/{id}": { path: { id: merchant_id }, response: records.MERCHANT },
  "PUT /merchants/{id}": {
    path: { id: merchant_id },
    request: { contact_email: "voice@northwind.example", max_calls_per_callee: { per_day: 2, per_week: 5 } },
    response: {
      ...records.MERCHANT,
      contact_email: "voice@northwind.example",
      max_calls_per_callee: { per_day: 2, per_week: 5 },
    },
  },
  "DELETE /merchants/{id}": { path: { id: merchant_id } },
  "POST /merchants/{id}/pause": {
    path: { id: merchant_id },
    request: { reason: records.PAUSE.reason },
    response: { ...records.MERCHANT, paused: records.PAUSE },
  },
  "POST /merchants/{id}/resume": { path: { id: merchant_id }, response: records.MERCHANT },
  "GET /deployment": { response: { paused: null } },
  "POST /deployment/pause": { request: { reason: records.PAUSE.reason }, response: { paused: records.PAUSE } },
  "POST /deployment/resume": { response: { paused: null } },
};

const FLOWS: Record<string, Example> = {
  "POST /templates": { request: { ...scope, ...records.FLOW }, response: records.TEMPLATE },
  "GET /templates": {
    needs: ["template_id"],
    query: { merchant_id, is_active: true },
    response: listOf("templates", records.TEMPLATE),
  },
  "GET /templates/{id}": { path: { id: template_id }, response: records.TEMPLATE },
  "PUT /templates/{id}": {
    path: { id: template_id },
    request: { greeting: "Good day!" },
    response: { ...records.TEMPLATE, version: 2, greeting: "Good day!" },
  },
  "DELETE /templates/{id}": { path: { id: template_id } },
  "GET /templates/{id}/versions": {
    path: { id: template_id },
    query: { limit: 10 },
    response: listOf("versions", records.TEMPLATE),
  },
  "POST /configurations": {
    request: { template_id, ...window, timezone: "Europe/Berlin", rate_limit_enabled: true, rate_limit_max_calls: 100 },
    response: records.CONFIGURATION,
  },
  "GET /configurations": {
    needs: ["configuration_id"],
    query: { template_id },
    response: listOf("configurations", records.CONFIGURATION),
  },
  "GET /configurations/{config_id}": { path: { config_id: SAMPLE.configuration_id }, response: records.CONFIGURATION },
  "PUT /configurations/{config_id}": {
    path: { config_id: SAMPLE.configuration_id },
    request: { call_end_time: "20:00", max_retry: 3, duplicates: { within_hours: 24, policy: "answer_first" } },
    response: {
      ...records.CONFIGURATION,
      call_end_time: "20:00",
      max_retry: 3,
      duplicates: { within_hours: 24, policy: "answer_first" },
    },
  },
  "POST /doors": {
    request: { template_id, origins: records.ORIGINS, calls_per_day: 500 },
    response: records.DOOR,
  },
  "GET /doors": { needs: ["door_id"], query: { template_id }, response: listOf("doors", records.DOOR) },
  "DELETE /doors/{id}": { path: { id: SAMPLE.door_id } },
  "PUT /secrets/{name}": {
    path: { name: SAMPLE.secret },
    request: { ...scope, value: "Bearer crm-4f6e1d" },
    response: records.SECRET,
  },
  "GET /secrets": { needs: ["secret"], query: { merchant_id }, response: listOf("secrets", records.SECRET) },
  "DELETE /secrets/{name}": { path: { name: SAMPLE.secret }, query: scope },
  "DELETE /configurations/{config_id}": { path: { config_id: SAMPLE.configuration_id } },
};

const NUMBERS: Record<string, Example> = {
  "POST /numbers": {
    request: {
      phone_number: SAMPLE.outbound,
      provider: "PROVIDER_ONE",
      status: "AVAILABLE",
      channel: "voice",
      max_concurrent_calls: 5,
      reseller_id,
    },
    response: records.NUMBER,
  },
  "GET /numbers": {
    needs: ["number_id"],
    query: { provider: "PROVIDER_ONE", status: "AVAILABLE" },
    response: listOf("numbers", records.NUMBER),
  },
  "GET /numbers/{number_id}": { path: { number_id: SAMPLE.number_id }, response: records.NUMBER },
  "PUT /numbers/{number_id}": {
    path: { number_id: SAMPLE.number_id },
    query: { force: true },
    request: { status: "DISABLED" },
    response: { ...records.NUMBER, status: "DISABLED" },
  },
  "DELETE /numbers/{number_id}": { path: { number_id: SAMPLE.number_id }, query: { force: true } },
  "POST /blacklist": { request: { phone_numbers: [SAMPLE.unlisted] }, response: records.LISTING },
  "GET /blacklist": { query: { phone_number: SAMPLE.listed }, response: listOf("entries", records.BLACKLIST_ENTRY) },
  "DELETE /blacklist": { request: { phone_numbers: [SAMPLE.listed] } },
};

const LEADS: Record<string, Example> = {
  "POST /leads": { headers: { "Idempotency-Key": "order-1001/first-call" }, request: push, response: leads.QUEUED },
  "POST /leads/bulk": {
    headers: { "Idempotency-Key": "orders-of-monday" },
    request: [push, { ...push, request_id: "order-1002", payload: { customer_mobile_number: SAMPLE.customer } }],
    response: leads.BULK_OUTCOMES,
  },
  "GET /leads": {
    needs: ["lead_id"],
    query: { template_id, status: "BACKLOG", limit: 20 },
    response: listOf("leads", leads.LEAD_SUMMARY),
  },
  "GET /leads/request/{request_id}": {
    needs: ["lead_id"],
    path: { request_id: SAMPLE.request_id },
    response: { request_id: SAMPLE.request_id, count: 1, leads: [leads.LEAD_SUMMARY] },
  },
  "GET /leads/{lead_id}": { path: { lead_id: SAMPLE.lead_id }, response: leads.LEAD },
  "GET /events": { query: { limit: "100" }, response: leads.EVENTS },
  "GET /leads/{lead_id}/events": {
    path: { lead_id: SAMPLE.finished_lead_id },
    response: { lead_id: SAMPLE.finished_lead_id, ...leads.EVENTS_OF_LEAD },
  },
  "GET /leads/{lead_id}/timeline": { path: { lead_id: SAMPLE.finished_lead_id }, response: leads.TIMELINE },
  "GET /leads/{lead_id}/explain": {
    path: { lead_id: SAMPLE.lead_id },
    query: { at: leads.EXPLANATION.at },
    response: leads.EXPLANATION,
  },
  "GET /leads/{lead_id}/deliveries": {
    path: { lead_id: SAMPLE.finished_lead_id },
    response: { deliveries: [leads.DELIVERY] },
  },
  "POST /leads/{lead_id}/deliveries/replay": { path: { lead_id: SAMPLE.finished_lead_id }, response: leads.DELIVERY },
  "POST /leads/{lead_id}/join": { path: { lead_id: SAMPLE.session_lead_id }, response: leads.JOINED },
  "POST /leads/{lead_id}/join-link": {
    path: { lead_id: SAMPLE.session_lead_id },
    response: { url: "https://voice.example.com/r/3q2-7wEBAgMEBQYHCAkKCwwN", expires_at: "2026-11-28T09:30:00.000Z" },
  },
  "POST /leads/{lead_id}/tts-speak": {
    path: { lead_id: SAMPLE.stream_lead_id },
    request: { text: "One moment, please.", utterance_id: "u-1" },
    response: { status: "queued", utterance_id: "u-1", at: "2026-11-21T09:31:00.000Z" },
  },
  "GET /leads/recording/{call_sid}": { path: { call_sid: records.CALL_ID } },
  "POST /leads/resume": {
    request: { template_id },
    response: { resumed: 2, more: false },
  },
  "POST /lead/abort": {
    request: { leads: [{ lead_id: SAMPLE.lead_id, cancellation_reason: "The customer called us." }] },
    response: {
      leads: [{ id: SAMPLE.lead_id, status: "success", message: "the lead is aborted; no call will be placed for it" }],
    },
  },
  "GET /inbound-calls": {
    query: { verdict: "REJECTED", from: "2026-11-01T00:00:00.000Z", limit: 20 },
    response: listOf("inbound_calls", leads.INBOUND_CALL),
  },
  "GET /analytics/summary": {
    needs: ["lead_id"],
    query: { template_id, from: "2026-11-01T00:00:00.000Z", to: "2026-12-01T00:00:00.000Z" },
    response: leads.SUMMARY,
  },
  "GET /deliveries": {
    needs: ["finished_lead_id"],
    query: { state: "delivered", limit: 20 },
    response: listOf("deliveries", { ...leads.DELIVERY, ...scope }),
  },
  "GET /webhook-secret": { query: { reseller_id, merchant_id }, response: leads.WEBHOOK_SECRET },
  "POST /webhook-secret/rotate": { request: { reseller_id, merchant_id }, response: leads.ROTATED_SECRET },
};

const EXAMPLES: Readonly<Record<string, Example>> = {
  ...IDENTITY,
  ...TENANTS,
  ...FLOWS,
  ...NUMBERS,
  ...LEADS,
  ...ENDPOINTS,
  ...ERASURES,
};

/** A row's example. */
export const exampleOf = (row: Pick<Row, "method" | "path">): Example | undefined =>
  EXAMPLES[`${row.method} ${row.path}`];
