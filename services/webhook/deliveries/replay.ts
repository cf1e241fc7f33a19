import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { fail } from "../../../shared/errors.ts";
import type { DeliveryDoc } from "./deliveries.model.ts";
import type { DeliveriesRepository } from "./deliveries.repository.ts";
import { replayDelivery } from "../rules/delivery-state-machine.ts";

/** Sends the webhook event of a lead again: the same webhook-id and bytes, a new round of tries. DELIVERY_NOT_FOUND, DELIVERY_PENDING. */
export async function replayLastDelivery(
  { clock, log, deliveries }: Pick<ServiceDeps, "clock" | "log"> & { deliveries: DeliveriesRepository },
  lead_id: string,
): Promise<DeliveryDoc> {
  const last = await deliveries.lastOf(lead_id);
  if (!last)
    return fail(
      "DELIVERY_NOT_FOUND",
      "the lead has no webhook delivery: it has not finished yet, or was pushed without a reporting_webhook_url",
    );
  const pending = (): never =>
    fail("DELIVERY_PENDING", "the delivery is still on its way; wait until it is delivered, refused or exhausted", {
      retry_after_seconds: 5,
    });
  if (last.state === "pending") return pending();
  const replayed = await deliveries.transitionOne(replayDelivery(last, clock.now()));
  if (!replayed) return pending();
  log.info(
    { event: "webhook.replayed", lead_id, delivery_id: replayed._id, was: last.state },
    "a delivery is sent again",
  );
  return replayed;
}
