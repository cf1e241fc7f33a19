import { ALL, COST, PAGE, WRITERS, row, tagged, type Row } from "./row.ts";

const FOLLOWED = ["after", "limit"] as const;

/** Leads: push, read, explain, replay, abort. */
export const leads: readonly Row[] = [
  ...tagged("Leads", [
    row("POST", "/leads", "leads.push", ALL, 201, {
      summary: "Push a lead: a request to call somebody. With an Idempotency-Key it is safe to repeat for 24 hours",
      body: "lead",
      headers: { "idempotency-key": "idempotency_key", traceparent: "traceparent" },
      answers: "push",
      errors: [
        "TEMPLATE_UNKNOWN",
        "TEMPLATE_NOT_FOUND",
        "TEMPLATE_INACTIVE",
        "PAYLOAD_INVALID",
        "INVALID_PHONE_NUMBER",
        "NUMBER_BLACKLISTED",
        "WEBHOOK_ADDRESS_REFUSED",
        "IDEMPOTENCY_KEY_REUSED",
        "DUPLICATE_REQUEST",
      ],
    }),
    row("POST", "/leads/bulk", "leads.pushMany", ALL, 200, {
      summary: "Push up to 10,000 leads, one JSON object per line or one array; each gets its own result, in order",
      body: "rows",
      bulk: { action: "leads.push", row: "lead" },
      headers: { "idempotency-key": "idempotency_key", traceparent: "traceparent" },
      answers: "push",
    }),
    row("GET", "/leads", "leads.list", ALL, 200, {
      summary: "List the leads of your scope; playground and test leads only with include_test",
      cost: COST.list,
      query: [
        "status",
        "outcome",
        "template_id",
        "merchant_id",
        "mode",
        "from",
        "to",
        "phone",
        "include_test",
        "parked",
        ...PAGE,
      ],
      errors: ["INVALID_PHONE_NUMBER"],
    }),
    row("GET", "/leads/request/{request_id}", "leads.byRequest", ALL, 200, {
      summary: "Read every lead pushed with this request_id",
      cost: COST.heavy,
      wholeList: "leads",
      errors: ["LEAD_NOT_FOUND"],
    }),
    row("GET", "/leads/{lead_id}", "leads.get", ALL, 200, {
      summary: "Read a lead with its call, transcript and outcome",
      errors: ["LEAD_NOT_FOUND"],
    }),
    row("GET", "/leads/{lead_id}/timeline", "leads.timeline", ALL, 200, {
      summary: "Read everything that was recorded of a lead, in order of time",
      errors: ["LEAD_NOT_FOUND"],
    }),
    row("GET", "/leads/{lead_id}/explain", "leads.explain", ALL, 200, {
      summary:
        "Why a lead has not been called yet: every gate as the scheduler judges it now, or at another instant, and when the lead may be called",
      query: ["at"],
      errors: ["LEAD_NOT_FOUND"],
    }),
    row("GET", "/leads/{lead_id}/deliveries", "webhook.deliveries", ALL, 200, {
      summary: "Read the webhook deliveries of a lead and every try of them",
      guard: "leads.get",
      errors: ["LEAD_NOT_FOUND"],
    }),
    row("POST", "/leads/{lead_id}/deliveries/replay", "webhook.replay", WRITERS, 200, {
      summary: "Send the report of a lead again, with the same webhook-id",
      cost: COST.replay,
      guard: "leads.get",
      errors: ["LEAD_NOT_FOUND", "DELIVERY_NOT_FOUND", "DELIVERY_PENDING"],
    }),
    row("POST", "/leads/{lead_id}/join", "leads.join", ALL, 200, {
      summary:
        "Join the real-time session of a lead (RTC modes): where its client connects, and a token for one use within two minutes",
      cost: COST.list,
      errors: [
        "LEAD_NOT_FOUND",
        "WRONG_MODE",
        "SESSION_OVER",
        "SESSION_HELD",
        "NUMBER_BLACKLISTED",
        "BUSY",
        "NOT_AVAILABLE",
      ],
    }),
    row("POST", "/leads/{lead_id}/join-link", "leads.joinLink", ALL, 201, {
      summary:
        "Make a link to a page on which a person without a token joins the session of a lead; the link before is void",
      errors: ["LEAD_NOT_FOUND", "WRONG_MODE", "SESSION_OVER"],
    }),
    row("POST", "/leads/{lead_id}/tts-speak", "leads.speak", ALL, 202, {
      summary:
        "Have a text spoken in an RTC_STREAM session, after those before it or in place of them; what becomes of it is told on the session's socket",
      body: "*",
      errors: ["LEAD_NOT_FOUND", "WRONG_MODE", "SESSION_NOT_LIVE", "SESSION_OVER", "RATE_LIMITED"],
    }),
    row("POST", "/lead/abort", "leads.abort", ALL, 200, {
      summary:
        "Abort leads that are not being called, up to 1,000; each gets its own result, and one that is no valid item an error",
      body: "*",
      perItem: { list: "leads", id: "lead_id" },
    }),
    row("POST", "/leads/resume", "leads.resume", ALL, 200, {
      summary:
        "Have parked leads tried again now, those named or those of a template: leads that technical faults keep from being dialled",
      body: "*",
    }),
  ]),
  ...tagged("Events", [
    row("GET", "/events", "leads.listEvents", ALL, 200, {
      summary: "Read what happens to the leads of your scope, or follow it as a stream",
      cost: COST.list,
      query: FOLLOWED,
      follows: true,
    }),
    row("GET", "/leads/{lead_id}/events", "leads.events", ALL, 200, {
      summary: "Read what happened to a lead, or follow it as a stream",
      query: FOLLOWED,
      follows: true,
      errors: ["LEAD_NOT_FOUND"],
    }),
  ]),
];
