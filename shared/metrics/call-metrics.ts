import { OUTCOME_WORDS } from "../contracts/records/attempt.ts";
import { PROVIDERS } from "../contracts/records/configuration.ts";
import { ENDED_KINDS } from "../contracts/requests/retention.ts";
import { GATES } from "../contracts/records/explanation.ts";
import { CATALOGUE } from "../errors.ts";
import type { Metric } from "./metric.ts";

/** From a second to a day. */
const AGE_SECONDS = [1, 2, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400];
/** What a person on the telephone hears as a pause. */
const PAUSE_SECONDS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10];
const PROVIDER = [...PROVIDERS];
/** Statuses of HTTP that the gateway answers with. */
const STATUSES = [200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 408, 409, 410, 411, 413, 415, 416, 422, 428, 429, 431, 500, 501, 502, 503, 504].map(String); // prettier-ignore

/** Metrics of leads, calls and conversations (catalogue.ts has all). */
export const CALL_METRICS = {
  callagent_leads: {
    kind: "gauge",
    unit: "leads",
    about:
      "Leads that are not finished, by state; restored: those of the parked that wait since a restore. Read every 15 s at most, counted to 100,000. Every process of the service tells the same",
    by: ["leads"],
    labels: { state: ["BACKLOG", "RETRY", "PROCESSING", "parked", "restored"] },
  },
  callagent_leads_finished_total: {
    kind: "counter",
    unit: "leads",
    about: "Leads that reached FINISHED, by outcome; other: a word of a template",
    by: ["leads"],
    labels: { outcome: OUTCOME_WORDS },
  },
  callagent_retention_ended_total: {
    kind: "counter",
    unit: "records",
    about: "Records that ended because they were older than their reseller keeps them, by kind",
    by: ["leads"],
    labels: { kind: ENDED_KINDS },
  },
  callagent_erasure_age_seconds: {
    kind: "gauge",
    unit: "seconds",
    about:
      "For how long the oldest erasure that is not done has been under way; 0: there is none. held: a legal hold keeps it. Read every 15 s at most. Every process of the service tells the same",
    by: ["leads"],
    labels: { state: ["running", "held"] },
  },
  callagent_leases_lapsed_total: {
    kind: "counter",
    unit: "leads",
    about: "Leads whose owner went silent, by what was found of their call",
    by: ["leads"],
    labels: { verdict: ["never_dialled", "live", "ended"] },
  },
  callagent_queues: {
    kind: "gauge",
    unit: "queues",
    about:
      "Queues with a due lead, by the gate that holds them; open: none does, failed: it could not be served. Every scheduler tells the same",
    by: ["scheduler"],
    labels: { gate: [...GATES, "open", "failed"] },
  },
  callagent_oldest_due_seconds: {
    kind: "gauge",
    unit: "seconds",
    about: "For how long the longest waiting lead of those queues has been due, by the gate that holds its queue",
    by: ["scheduler"],
    labels: { gate: [...GATES, "open", "failed"] },
  },
  callagent_permits_total: {
    kind: "counter",
    unit: "permits",
    about: "Answers to who asks for the permits of a call: granted, or the limit that has no room",
    by: ["scheduler"],
    labels: { provider: PROVIDER, answer: ["granted", "rate_limit", "carrier_limit"] },
  },
  callagent_permits_returned_total: {
    kind: "counter",
    unit: "permits",
    about: "Permits given back, as nothing was sent with them",
    by: ["scheduler"],
    labels: {},
  },
  callagent_due_to_dial_seconds: {
    kind: "histogram",
    unit: "seconds",
    about: "From the instant a lead was due to its request to the carrier, gates and limits included",
    by: ["dialer"],
    labels: { provider: PROVIDER },
    buckets: AGE_SECONDS,
  },
  callagent_dials_total: {
    kind: "counter",
    unit: "calls",
    about:
      "What came of attempts that had written their intent: placed, not taken by the carrier now, refused for good, not known, or not sent as it was too late",
    by: ["dialer"],
    labels: { provider: PROVIDER, answer: ["placed", "not_placed", "refused", "uncertain", "not_sent"] },
  },
  callagent_dial_faults_total: {
    kind: "counter",
    unit: "calls",
    about: "Attempts that stopped at a technical fault before their intent",
    by: ["dialer"],
    labels: { code: Object.keys(CATALOGUE) },
  },
  callagent_calls_total: {
    kind: "counter",
    unit: "calls",
    about: "Events of calls: one that came in, one that was dialled, one that rings",
    by: ["dialer"],
    labels: { provider: PROVIDER, event: ["inbound", "dialling", "ringing"] },
  },
  callagent_calls_ended_total: {
    kind: "counter",
    unit: "calls",
    about: "Calls that ended, by whether somebody or something had answered: the answer rate",
    by: ["dialer"],
    labels: { provider: PROVIDER, answered: ["yes", "no"] },
  },
  callagent_carrier_closed: {
    kind: "gauge",
    unit: "events",
    about: "1 while this process asks a carrier's account for no calls, after errors; else 0",
    by: ["dialer"],
    labels: { provider: PROVIDER },
  },
  callagent_number_slots: {
    kind: "gauge",
    unit: "slots",
    about:
      "Slots of the numbers that can be called with; read every 15 s at most. Every process of the service tells the same",
    by: ["numbers"],
    labels: { provider: PROVIDER, state: ["free", "taken"] },
  },
  callagent_conversations: {
    kind: "gauge",
    unit: "calls",
    about: "Calls that this process leads, and how many more it would take",
    by: ["conversation"],
    labels: { state: ["live", "free"] },
  },
  callagent_recordings_waiting: {
    kind: "gauge",
    unit: "records",
    about: "Recordings of our own that are complete and could not be handed over at the last try",
    by: ["conversation"],
    labels: {},
  },
  callagent_turn_seconds: {
    kind: "histogram",
    unit: "seconds",
    about: "From the end of the callee's speech to the first frame of the answer",
    by: ["conversation"],
    labels: {},
    buckets: PAUSE_SECONDS,
  },
  callagent_model_first_token_seconds: {
    kind: "histogram",
    unit: "seconds",
    about: "From the question to the language model to its first token",
    by: ["conversation"],
    labels: {},
    buckets: PAUSE_SECONDS,
  },
  callagent_conversation_faults_total: {
    kind: "counter",
    unit: "events",
    about: "Errors of the media or models of conversations",
    by: ["conversation"],
    labels: { code: Object.keys(CATALOGUE) },
  },
  callagent_webhook_tries_total: {
    kind: "counter",
    unit: "tries",
    about:
      "Tries to deliver a webhook event: delivered, to be made again, a probe of a paused receiver, given up, or refused",
    by: ["webhook"],
    labels: { verdict: ["delivered", "again", "probed", "exhausted", "refused"] },
  },
  callagent_webhook_age_seconds: {
    kind: "histogram",
    unit: "seconds",
    about: "Age of a webhook event when it was delivered",
    by: ["webhook"],
    labels: {},
    buckets: AGE_SECONDS,
  },
  callagent_http_requests_total: {
    kind: "counter",
    unit: "requests",
    about: "Requests to the API, by the status of their answer",
    by: ["gateway"],
    labels: { method: ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"], status: STATUSES },
  },
  callagent_http_request_seconds: {
    kind: "histogram",
    unit: "seconds",
    about: "How long an answer of the API took, from the request's headers to its last byte",
    by: ["gateway"],
    labels: { class: ["2xx", "3xx", "4xx", "5xx"] },
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
} as const satisfies Record<string, Metric>;
