import type { DeliveryDoc } from "../deliveries/deliveries.model.ts";

/** The bytes that are sent: the event as it was written, with the ids of events before it that the receiver does not get, where there are any. The same at every try. */
export const sentBody = ({ body, endpoint }: Pick<DeliveryDoc, "body" | "endpoint">): string =>
  endpoint === undefined || endpoint.lost.length === 0
    ? body
    : `${body.slice(0, -1)},"lost":${JSON.stringify(endpoint.lost)}}`;
