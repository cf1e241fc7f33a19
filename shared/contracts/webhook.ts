import { action, IsoTime, Json, Nothing, Nullable, Strict, Text, Type, Uuid, type Static } from "./define.ts";
import { By } from "./identity.ts";

/** One try of a delivery. */
export const DeliveryTry = Type.Object({ at: IsoTime, status: Nullable(Type.Integer()), error: Nullable(Type.String()), duration_ms: Type.Integer() });

/** A delivery as it is listed. */
export const DeliveryRecord = Type.Object({
  id: Type.String(), lead_id: Uuid, url: Type.String(), state: Type.Enum(["pending", "delivered", "exhausted", "refused"]),
  next_try_at: Nullable(IsoTime), tries: Type.Array(DeliveryTry), created_at: IsoTime,
});
export type DeliveryRecord = Static<typeof DeliveryRecord>;

/** The reporting webhook: signed, retried, listed. */
export const webhook = {
  name: "webhook",
  actions: {
    /** Internal: takes over the report of a finished lead; the same lead twice makes one delivery. */
    enqueue: action(
      Strict({ lead_id: Uuid, reseller_id: Text(64), merchant_id: Nullable(Text(64)), url: Text(2000), occurred_at: IsoTime, data: Json }),
      Type.Object({ delivery_id: Type.String() })),
    /** Internal: throws WEBHOOK_ADDRESS_REFUSED where the address can be refused without name resolution. */
    checkAddress: action(Strict({ url: Text(2000) }), Nothing),
    /** Internal: for each address why it would be refused, in order; null: it would not. */
    checkAddresses: action(Strict({ urls: Type.Array(Text(2000), { maxItems: 500 }) }), Type.Object({ refusals: Type.Array(Nullable(Type.String())) })),
    /** Internal, after the lead's scope was checked by its owner. */
    deliveries: action(Strict({ lead_id: Uuid }), Type.Object({ deliveries: Type.Array(DeliveryRecord) })),
    /** After the lead's scope was checked by its owner: sends the report of a lead again, with the same webhook-id and bytes, whatever became of it.
     *  DELIVERY_NOT_FOUND, DELIVERY_PENDING while it is still on its way. */
    replay: action(Strict({ lead_id: Uuid }), DeliveryRecord),
    /** The signing secret of a merchant, or of a reseller when no merchant is named; made at first need. FORBIDDEN, MERCHANT_NOT_FOUND. */
    secret: action(Strict({ by: By, reseller_id: Text(64), merchant_id: Type.Optional(Text(64)) }), Type.Object({ secret: Type.String() })),
    /** Makes a new signing secret; the one before goes on signing beside it for 24 h. FORBIDDEN, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND, BUSY after lost races. */
    rotateSecret: action(Strict({ by: By, reseller_id: Text(64), merchant_id: Type.Optional(Text(64)) }),
      Type.Object({ secret: Type.String(), previous_valid_until: Nullable(IsoTime) })),
  },
  events: {},
};
