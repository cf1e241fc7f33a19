import { described, IsoTime, named, Nullable, Type, valued } from "../define.ts";

/** Where a delivery stands: on its way, taken by the receiver, given up after the last try, or ended by a 410 or an address that is not allowed. */
export const DELIVERY_STATES = ["pending", "delivered", "exhausted", "refused"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One of them as it travels. */
export const DeliveryStateEnum = named(
  "DeliveryState",
  "Where a delivery stands.",
  valued(DELIVERY_STATES, {
    pending: "It is on its way: the next try comes.",
    delivered: "Your server took it (2xx).",
    exhausted: "It was given up after the last try.",
    refused: "It ended by a 410, or by an address that is not allowed.",
  }),
);

/** One try of a delivery. */
export const DeliveryTry = named(
  "DeliveryTry",
  "One try of a delivery.",
  Type.Object({
    at: described("When it was sent.", IsoTime),
    status: described("The HTTP status of the answer; null: there was none.", Nullable(Type.Integer()), {
      example: 200,
    }),
    error: described("Why it failed, where it was not the status.", Nullable(Type.String()), {
      example: "connection refused",
    }),
    duration_ms: described("How long it took, milliseconds.", Type.Integer({ minimum: 0 })),
  }),
);
