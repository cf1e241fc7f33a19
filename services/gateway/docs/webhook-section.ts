import {
  ANSWER_SECONDS,
  LeadFinishedEvent,
  RETRY_DELAYS_SECONDS,
  WEBHOOK_HEADERS,
} from "../../../shared/contracts/events/finished-lead.ts";
import { EVENT_NAMES, EVENTS, exampleEvent, type EventName } from "../../../shared/contracts/events/catalogue.ts";
import { EndpointEvent } from "../../../shared/contracts/events/event-type.ts";
import { plain, type Schema } from "../api/action-schema.ts";
import { eventSchemaName, outward, type Components } from "./component-schemas.ts";
import { LEAD } from "./example-leads.ts";
import { SAMPLE } from "./example-records.ts";

const lasting = (seconds: number): string =>
  seconds < 60 ? `${seconds} s` : seconds < 3600 ? `${seconds / 60} min` : `${seconds / 3600} h`;

/** When it is sent, and what is to be answered. */
export const WEBHOOK_TEXT = [
  "Sent when a lead ends, to reporting_webhook_url of its push, or to inbound_webhook_url of the configuration for inbound calls and visitors. Standard Webhooks 1.0: verify the signature with the secret of GET /webhook-secret over the body as it came.",
  `Any 2xx within ${ANSWER_SECONDS} s takes the event. Anything else is tried again, ${RETRY_DELAYS_SECONDS.length + 1} times in all: after ${RETRY_DELAYS_SECONDS.map(lasting).join(", ")}, each ± 10 %; Retry-After is obeyed. An event may arrive twice: go by webhook-id.`,
];
/** The schema of what is sent. */
export const webhookBody = (): Schema => plain(LeadFinishedEvent);

const {
  cost,
  payload: _payload,
  metaData,
  created_at: _created,
  updated_at,
  id,
  outbound_number_id: _number,
  ...lead
} = LEAD;
/** An event as it is sent. */
const EXAMPLE = {
  type: "lead.finished",
  timestamp: updated_at,
  data: {
    ...lead,
    order_id: lead.request_id,
    lead_call_tracker_id: id,
    call_duration_seconds: 39,
    transcription: [{ role: "assistant", content: "Does tomorrow suit?" }],
    variables: {},
    metaData,
    is_test: false,
    phone_number: `${SAMPLE.customer.slice(0, 5)}***${SAMPLE.customer.slice(-4)}`,
    cost,
  },
};

/** The part of the document that holds them; generators make one file of each, so it is none of the API's. */
export const EVENTS_TAG = { name: "Webhook events", description: "What the service sends to your server." } as const;

/** When the events of endpoints are sent. */
const ENDPOINT_TEXT =
  "Sent to every webhook endpoint (POST /webhook-endpoints) that asked for this type, signed with the endpoint's own secret. It is answered and tried again as lead.finished of a push is; events of one lead, or of one other subject, come in the order of `seq`.";

const requestOf = (into: Components, body: Schema, example: unknown): Schema => ({
  tags: [EVENTS_TAG.name],
  security: [],
  parameters: Object.entries(WEBHOOK_HEADERS).map(([name, header]) => {
    const { description, ...schema } = outward(plain(header), into);
    return { name, in: "header", required: true, description, schema };
  }),
  requestBody: { required: true, content: { "application/json": { schema: body, example } } },
  responses: {
    "2XX": { description: "You have it; nothing is sent again" },
    410: { description: "You want it no more: the delivery ends (`refused`)" },
    default: { description: "It is tried again" },
  },
});

/** The body of an event of this type at an endpoint. */
function endpointBody(type: EventName, into: Components): Schema {
  const { properties, ...event } = plain(EndpointEvent);
  const named = { ...event, title: `Event${eventSchemaName(type)}`, "x-about": `The event ${type} at an endpoint.` };
  const { data: told, example } = EVENTS[type];
  const data = { ...plain(told), description: "What is told of it.", examples: [example] };
  const only = { type: "string", const: type, description: "What happened." };
  return outward({ ...named, properties: { ...Object(properties), type: only, data } }, into);
}

/** What the service sends to its clients: the report of a push, and the events of endpoints. */
export function webhookSection(into: Components): Schema {
  const report = {
    operationId: "webhooks.leadFinished",
    summary: "A lead is finished",
    description: WEBHOOK_TEXT.join("\n\n"),
    ...requestOf(into, outward(webhookBody(), into), EXAMPLE),
  };
  const events = EVENT_NAMES.map((type) => {
    const example = exampleEvent(type);
    const event = {
      operationId: `webhooks.event${eventSchemaName(type)}`,
      summary: `At an endpoint: ${type}`,
      description: `${EVENTS[type].doc}\n\n${ENDPOINT_TEXT}`,
      ...requestOf(into, endpointBody(type, into), { ...example, timestamp: example.time }),
    };
    return [`endpoint/${type}`, { post: event }];
  });
  return { "lead.finished": { post: report }, ...Object.fromEntries(events) };
}
