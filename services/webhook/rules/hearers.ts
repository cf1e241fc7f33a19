import type { CloudEvent } from "../../../shared/contracts/events/event-type.ts";
import type { EndpointDoc } from "../endpoints/endpoints.model.ts";

/** What of an endpoint says whether it hears of an event. */
export type Hearing = Pick<EndpointDoc, "reseller_id" | "merchant_id" | "types" | "after_position">;

/** The endpoints that hear of an event: of its reseller, and of its merchant or of the whole reseller; of its type; made before it happened. */
export const hearersOf = <E extends Hearing>(event: CloudEvent, position: number, endpoints: readonly E[]): E[] =>
  endpoints.filter(
    (endpoint) =>
      endpoint.reseller_id === event.reseller &&
      (endpoint.merchant_id === null || endpoint.merchant_id === event.merchant) &&
      endpoint.types.some((type) => type === event.type) &&
      position > endpoint.after_position,
  );
