import {
  action,
  described,
  Id,
  IsoTime,
  Json,
  named,
  Nothing,
  Nullable,
  Strict,
  Text,
  Type,
  UpTo,
  Uuid,
  type Static,
} from "./define.ts";
import { DeliveryStateEnum, DeliveryTry } from "./webhooks/delivery.ts";
import { eraseNumber } from "./requests/erasures.ts";
import { endRecords } from "./requests/retention.ts";
import { LeadTrace } from "./requests/trace-headers.ts";
import { By, Count, NextCursor, Owner, OwnerFilter, PageParams } from "./records/identity.ts";
import {
  EndpointChange,
  EndpointDelivery,
  EndpointRecord,
  EndpointWanted,
  NewEndpoint,
  RotatedEndpointSecret,
} from "./webhooks/webhook-endpoint.ts";

const delivery = {
  id: described("Id of the delivery: the webhook-id of its requests.", Id),
  lead_id: described("The lead that it reports.", Uuid),
  url: described("Where it is sent.", UpTo(2000)),
  state: DeliveryStateEnum,
  next_try_at: described("When the next try comes; null: none does.", Nullable(IsoTime)),
  host_paused_until: Type.Optional(
    described(
      "Its host failed too often in a row and is paused until then, as the answering process sees it; no try is spent meanwhile.",
      IsoTime,
    ),
  ),
  tries: described("Every try so far, the oldest first.", Type.Array(DeliveryTry)),
  created_at: described("When the lead finished.", IsoTime),
};
/** A delivery of a lead. */
export const DeliveryRecord = named(
  "Delivery",
  "The report of a finished lead on its way to your server.",
  Type.Object(delivery),
);
export type DeliveryRecord = Static<typeof DeliveryRecord>;

/** A delivery in the list of all, with its owner. */
export const ListedDelivery = named(
  "ListedDelivery",
  "A delivery with its owner.",
  Type.Object({ ...delivery, ...Owner }),
);
export type ListedDelivery = Static<typeof ListedDelivery>;

/** The webhook event of a finished lead; `data` is the webhook's, with the phone number masked. `phone_number`: in full, for merchants who chose so. */
export const WebhookEvent = Strict({
  lead_id: Uuid,
  reseller_id: Text(64),
  merchant_id: Nullable(Text(64)),
  url: Text(2000),
  occurred_at: IsoTime,
  data: Json,
  phone_number: Type.Optional(Nullable(Text(32))),
  trace: LeadTrace,
});
export type WebhookEvent = Static<typeof WebhookEvent>;

const OneUuid = described("Id of the lead: lead_call_tracker_id of its push.", Uuid);
const OfOwner = {
  by: By,
  reseller_id: described("The reseller whose secret it is, or whose merchant's.", Text(64)),
  merchant_id: Type.Optional(described("The merchant whose secret it is. Left out: the reseller's own.", Text(64))),
};
const SigningSecret = described(
  "What webhooks are signed with (Standard Webhooks): whsec_ and the key in base64. Keep it secret.",
  UpTo(200),
);

/** Webhook events in one batch, at most. */
export const MAX_EVENTS_PER_REQUEST = 100;

/** Of what names an endpoint. */
const OfEndpoint = { by: By, id: described("Id of the endpoint.", Text(64)) };
const SINCE = { since: "0.3.0" };

/** The reporting webhook: signed, retried, listed. */
export const webhook = {
  name: "webhook",
  actions: {
    /**
     * Internal: takes over webhook events of finished leads, all or none acknowledged; the same lead twice makes one delivery. The caller bounds
     * the size of a message on the bus.
     */
    enqueueMany: action(
      Strict({ reports: Type.Array(WebhookEvent, { minItems: 1, maxItems: MAX_EVENTS_PER_REQUEST }) }),
      Type.Object({ delivery_ids: Type.Array(UpTo(64), { maxItems: MAX_EVENTS_PER_REQUEST }) }),
    ),
    /** Internal: throws WEBHOOK_ADDRESS_REFUSED where the address can be refused without name resolution. */
    checkAddress: action(Strict({ url: Text(2000) }), Nothing),
    /** Internal: for each address why it would be refused, in order; null: it would not. */
    checkAddresses: action(
      Strict({ urls: Type.Array(Text(2000), { maxItems: 500 }) }),
      Type.Object({ refusals: Type.Array(Nullable(UpTo(500))) }),
    ),
    /** Internal, after the lead's scope was checked by its owner. */
    deliveries: action(
      Strict({ lead_id: OneUuid }),
      Type.Object({ deliveries: described("Its deliveries.", Type.Array(DeliveryRecord)) }),
    ),
    /** The deliveries of the asker's scope, newest first: those of one state, or all. */
    list: action(
      Strict({
        by: By,
        state: Type.Optional(described("Only deliveries that stand here.", DeliveryStateEnum)),
        ...OwnerFilter,
        ...PageParams,
      }),
      Type.Object({
        count: Count,
        deliveries: described("The deliveries, newest first.", Type.Array(ListedDelivery)),
        next_cursor: NextCursor,
      }),
    ),
    /** After the lead's scope was checked by its owner: sends the webhook event of a lead again, with the same webhook-id and bytes, in any state.
     *  DELIVERY_NOT_FOUND, DELIVERY_PENDING while it is still on its way. */
    replay: action(Strict({ by: Type.Optional(By), lead_id: OneUuid }), DeliveryRecord),
    /** The signing secret of a merchant, or of a reseller when no merchant is named; made at first need. FORBIDDEN, MERCHANT_NOT_FOUND. */
    secret: action(Strict(OfOwner), Type.Object({ secret: SigningSecret })),
    /** Makes a new signing secret; the one before goes on signing beside it for 24 h. FORBIDDEN, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND, BUSY after lost races. */
    rotateSecret: action(
      Strict(OfOwner),
      Type.Object({
        secret: SigningSecret,
        previous_valid_until: described(
          "Until when the secret before signs beside it; null: there was none.",
          Nullable(IsoTime),
        ),
      }),
    ),
    /** Makes an endpoint, with the only sight of its secret. FORBIDDEN, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND, WEBHOOK_ADDRESS_REFUSED, RESOURCE_IN_USE: there are as many as there may be. */
    createEndpoint: action(Strict({ by: By, ...EndpointWanted }), NewEndpoint, SINCE),
    /** The endpoints of the asker's scope, newest first. */
    listEndpoints: action(
      Strict({ by: By, ...OwnerFilter, ...PageParams }),
      Type.Object({
        count: Count,
        endpoints: described("The endpoints.", Type.Array(EndpointRecord)),
        next_cursor: NextCursor,
      }),
      SINCE,
    ),
    /** ENDPOINT_NOT_FOUND where it is unknown or foreign. */
    getEndpoint: action(Strict(OfEndpoint), EndpointRecord, SINCE),
    /** ENDPOINT_NOT_FOUND, FORBIDDEN, WEBHOOK_ADDRESS_REFUSED. */
    updateEndpoint: action(Strict({ ...OfEndpoint, ...EndpointChange }), EndpointRecord, SINCE),
    /** Nothing is sent to it any more; what is on its way, and the list of it, goes with it. ENDPOINT_NOT_FOUND, FORBIDDEN. */
    deleteEndpoint: action(Strict(OfEndpoint), Nothing, SINCE),
    /** Makes a new secret; the one before signs beside it for 24 h. ENDPOINT_NOT_FOUND, FORBIDDEN, BUSY after lost races. */
    rotateEndpointSecret: action(Strict(OfEndpoint), RotatedEndpointSecret, SINCE),
    /** Sends an event of the type endpoint.test, once, also to a paused endpoint. ENDPOINT_NOT_FOUND, FORBIDDEN. */
    testEndpoint: action(Strict(OfEndpoint), EndpointDelivery, SINCE),
    /** What was sent to an endpoint, or is to be, newest first. ENDPOINT_NOT_FOUND. */
    endpointDeliveries: action(
      Strict({
        ...OfEndpoint,
        state: Type.Optional(described("Only deliveries that stand here.", DeliveryStateEnum)),
        ...PageParams,
      }),
      Type.Object({
        count: Count,
        deliveries: described("The deliveries.", Type.Array(EndpointDelivery)),
        next_cursor: NextCursor,
      }),
      SINCE,
    ),
    /** Sends a delivery again: the same webhook-id and bytes, a new round of tries, beside the order of its lead. ENDPOINT_NOT_FOUND, FORBIDDEN, DELIVERY_NOT_FOUND, DELIVERY_PENDING. */
    replayEndpointDelivery: action(
      Strict({ ...OfEndpoint, delivery_id: described("Id of the delivery.", Text(64)) }),
      EndpointDelivery,
      SINCE,
    ),
    /** Internal: a reseller or merchant is being deleted, and its endpoints with it. */
    dropEndpoints: action(Strict({ reseller_id: Text(64), merchant_id: Type.Optional(Text(64)) }), Nothing, SINCE),
    /** Internal: erases what deliveries of these leads say of a person (requests/erasures.ts). */
    eraseNumber: action(...eraseNumber, { timeout_ms: 15_000, ...SINCE }),
    /** Internal: ends what deliveries have of a kind of these leads (requests/retention.ts). */
    endRecords: action(...endRecords, { timeout_ms: 60_000, ...SINCE }),
  },
  events: {},
};
