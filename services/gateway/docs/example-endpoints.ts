import { SAMPLE, scope, TIME, times } from "./example-records.ts";

const ENDPOINT = {
  id: SAMPLE.endpoint_id,
  ...scope,
  url: "https://shop.example.com/webhooks/events",
  types: ["lead.answered", "lead.finished", "cost.known"],
  paused: false,
  secret_expires_at: null,
  ...times,
};
const NEW_ENDPOINT = { ...ENDPOINT, secret: "whsec_Zm9yIHRoZSBkb2N1bWVudGF0aW9uIG9ubHksIHN0aWxs" };
const ROTATED_ENDPOINT_SECRET = {
  secret: NEW_ENDPOINT.secret,
  previous_valid_until: "2026-11-22T09:30:00.000Z",
};
const TEST_DELIVERY = {
  id: SAMPLE.endpoint_delivery_id,
  endpoint_id: SAMPLE.endpoint_id,
  event_id: "test.0198c0de-7a39-4c53-9d0f-2a2b6a3a1c11",
  type: "endpoint.test",
  lead_id: null,
  seq: 1,
  state: "pending",
  next_try_at: TIME,
  tries: [],
  lost: [],
  created_at: TIME,
};
const DELIVERED_TEST = {
  ...TEST_DELIVERY,
  state: "delivered",
  next_try_at: null,
  tries: [{ at: TIME, status: 204, error: null, duration_ms: 52 }],
};
const endpoint = { id: SAMPLE.endpoint_id };
/** Requests about webhook endpoints, and their answers. */
export const ENDPOINTS = {
  "POST /webhook-endpoints": {
    request: { ...scope, url: ENDPOINT.url, types: ENDPOINT.types },
    response: NEW_ENDPOINT,
  },
  "GET /webhook-endpoints": {
    needs: ["endpoint_id"] as const,
    query: { merchant_id: SAMPLE.merchant_id, limit: 20 },
    response: { count: 1, endpoints: [ENDPOINT], next_cursor: null },
  },
  "GET /webhook-endpoints/{id}": { path: endpoint, response: ENDPOINT },
  "PUT /webhook-endpoints/{id}": {
    path: endpoint,
    request: { paused: true },
    response: { ...ENDPOINT, paused: true },
  },
  "DELETE /webhook-endpoints/{id}": { path: endpoint },
  "POST /webhook-endpoints/{id}/secret/rotate": { path: endpoint, response: ROTATED_ENDPOINT_SECRET },
  "POST /webhook-endpoints/{id}/test": { path: endpoint, response: TEST_DELIVERY },
  "GET /webhook-endpoints/{id}/deliveries": {
    path: endpoint,
    needs: ["endpoint_delivery_id"] as const,
    query: { state: "delivered", limit: 20 },
    response: { count: 1, deliveries: [DELIVERED_TEST], next_cursor: null },
  },
  "POST /webhook-endpoints/{id}/deliveries/{delivery_id}/replay": {
    path: { ...endpoint, delivery_id: SAMPLE.endpoint_delivery_id },
    response: { ...DELIVERED_TEST, state: "pending", next_try_at: TIME },
  },
};
