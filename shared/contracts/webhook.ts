import { action, IsoTime, Json, Nothing, Nullable, Strict, Text, Type, Uuid, type Static, Id, UpTo } from "./define.ts";
import { By, NextCursor, OwnerFilter, PageParams } from "./records/identity.ts";

/** Where a delivery stands: on its way, taken by the receiver, given up after the last try, or ended by a 410 or an address that is not allowed. */
export const DELIVERY_STATES = ["pending", "delivered", "exhausted", "refused"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One try of a delivery. */
export const DeliveryTry = Type.Object({
  at: IsoTime,
  status: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  duration_ms: Type.Integer(),
});

const delivery = {
  id: Id,
  lead_id: Uuid,
  url: UpTo(2000),
  state: Type.Enum([...DELIVERY_STATES]),
  next_try_at: Nullable(IsoTime),
  host_paused_until: Type.Optional(IsoTime),
  tries: Type.Array(DeliveryTry),
  created_at: IsoTime,
};
/**
 * A delivery of a lead. `host_paused_until`: its host failed too often in a row and is paused until then, as the answering process sees it; no try
 * is spent meanwhile.
 */
export const DeliveryRecord = Type.Object(delivery);
export type DeliveryRecord = Static<typeof DeliveryRecord>;

/** A delivery in the list of all, with its owner. */
export const ListedDelivery = Type.Object({
  ...delivery,
  reseller_id: Id,
  merchant_id: Nullable(Id),
});
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
});
export type WebhookEvent = Static<typeof WebhookEvent>;

/** Webhook events in one batch, at most. */
export const MAX_EVENTS_PER_REQUEST = 100;

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
    deliveries: action(Strict({ lead_id: Uuid }), Type.Object({ deliveries: Type.Array(DeliveryRecord) })),
    /** The deliveries of the asker's scope, newest first: those of one state, or all. */
    list: action(
      Strict({
        by: By,
        state: Type.Optional(Type.Enum([...DELIVERY_STATES])),
        ...OwnerFilter,
        ...PageParams,
      }),
      Type.Object({ count: Type.Integer(), deliveries: Type.Array(ListedDelivery), next_cursor: NextCursor }),
    ),
    /** After the lead's scope was checked by its owner: sends the webhook event of a lead again, with the same webhook-id and bytes, in any state.
     *  DELIVERY_NOT_FOUND, DELIVERY_PENDING while it is still on its way. */
    replay: action(Strict({ by: Type.Optional(By), lead_id: Uuid }), DeliveryRecord),
    /** The signing secret of a merchant, or of a reseller when no merchant is named; made at first need. FORBIDDEN, MERCHANT_NOT_FOUND. */
    secret: action(
      Strict({ by: By, reseller_id: Text(64), merchant_id: Type.Optional(Text(64)) }),
      Type.Object({ secret: UpTo(200) }),
    ),
    /** Makes a new signing secret; the one before goes on signing beside it for 24 h. FORBIDDEN, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND, BUSY after lost races. */
    rotateSecret: action(
      Strict({ by: By, reseller_id: Text(64), merchant_id: Type.Optional(Text(64)) }),
      Type.Object({ secret: UpTo(200), previous_valid_until: Nullable(IsoTime) }),
    ),
  },
  events: {},
};
