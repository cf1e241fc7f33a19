import { described, Id, IsoTime, named, Nullable, Text, Type, UpTo, type Static } from "../define.ts";
import { EVENT_NAMES, EVENTS } from "../events/catalogue.ts";
import { DeliveryStateEnum, DeliveryTry } from "./delivery.ts";
import { Stamps } from "../records/identity.ts";

/** Endpoints of one merchant, or of one reseller itself, at most. */
export const MAX_ENDPOINTS_OF_OWNER = 20;
/** The event that POST /webhook-endpoints/{id}/test sends; no lead has it. */
export const TEST_EVENT = "endpoint.test";

const meanings = Object.fromEntries(EVENT_NAMES.map((name) => [name, EVENTS[name].doc]));
const EventTypeEnum = named("EventType", "A type of event.", Type.Enum([...EVENT_NAMES], { "x-meanings": meanings }));

const Types = described(
  "Types of events that it hears of, each once.",
  Type.Array(EventTypeEnum, { minItems: 1, maxItems: EVENT_NAMES.length, uniqueItems: true }),
);
const Url = described(
  "Where the events are sent: https, at a public address. It is checked again at every try, after name resolution.",
  Type.String({ minLength: 1, maxLength: 2000 }),
  { example: "https://shop.example.com/webhooks/events" },
);
const Paused = described(
  "True: events are kept and not sent; they go out in order when it is false again, up to seven days late.",
  Type.Boolean(),
);

/** What may change of an endpoint. */
export const EndpointChange = {
  url: Type.Optional(Url),
  types: Type.Optional(Types),
  paused: Type.Optional(Paused),
};

/** What an endpoint is made of. */
export const EndpointWanted = {
  reseller_id: described("Id of the reseller that owns it.", Text(64)),
  merchant_id: Type.Optional(
    described(
      "Id of the merchant whose events it hears; left out: those of the reseller and all its merchants.",
      Text(64),
    ),
  ),
  url: Url,
  types: Types,
};

const endpoint = {
  id: described("Id of the endpoint.", Id),
  reseller_id: described("Id of the reseller that owns it.", Id),
  merchant_id: described(
    "Id of the merchant whose events it hears; null: those of the reseller and all its merchants.",
    Nullable(Id),
  ),
  url: Url,
  types: Types,
  paused: Paused,
  secret_expires_at: described(
    "Until when the secret before signs beside the newest one; null: it never had another.",
    Nullable(IsoTime),
  ),
  ...Stamps,
};

/** An endpoint, without its secret. */
export const EndpointRecord = named("WebhookEndpoint", "Where a tenant hears of events.", Type.Object(endpoint));
export type EndpointRecord = Static<typeof EndpointRecord>;

const Secret = described("What signs the endpoint's events (whsec_…). Shown in this answer alone: keep it.", UpTo(200));

/** An endpoint that was just made, with its secret. */
export const NewEndpoint = Type.Object({ ...endpoint, secret: Secret });
export type NewEndpoint = Static<typeof NewEndpoint>;

/** A new secret. */
export const RotatedEndpointSecret = Type.Object({
  secret: Secret,
  previous_valid_until: described("Until then the secret before signs beside it.", IsoTime),
});

/** Most lost events that a delivery names. */
const MAX_LOST = 100;

/** An event on its way to an endpoint. */
export const EndpointDelivery = named(
  "EndpointDelivery",
  "An event on its way to an endpoint.",
  Type.Object({
    id: described("Id of the delivery: the webhook-id of its requests.", Id),
    endpoint_id: described("Id of the endpoint.", Id),
    event_id: described(
      "Id of the event: its subject (the lead's id, or `number:` and the number's), a dot, and the number of the event.",
      UpTo(80),
    ),
    type: described("Type of the event; endpoint.test: a test.", UpTo(40)),
    lead_id: described("Id of the lead; null: the event is of none.", Nullable(Id)),
    seq: described("Number of the event within its subject.", Type.Integer({ minimum: 0 })),
    state: DeliveryStateEnum,
    next_try_at: described("When the next try is due; null: there is none.", Nullable(IsoTime)),
    tries: described("Its tries, the oldest first; the newest 200.", Type.Array(DeliveryTry)),
    lost: described(
      "Ids of events of its subject before it that were given up; its body names them too.",
      Type.Array(UpTo(80), { maxItems: MAX_LOST }),
    ),
    created_at: Stamps.created_at,
  }),
);
export type EndpointDelivery = Static<typeof EndpointDelivery>;
