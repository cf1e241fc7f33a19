import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, ParamsOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { fail } from "../../../shared/errors.ts";
import type { DeliveryDoc } from "./deliveries.model.ts";
import type { DeliveriesRepository } from "./deliveries.repository.ts";
import { replayDelivery } from "../rules/delivery-state-machine.ts";

/** Sends the webhook event of a lead again: the same webhook-id and bytes, a new round of tries. Who asked for it is in the audit log. DELIVERY_NOT_FOUND, DELIVERY_PENDING. */
export async function replayLastDelivery(
  { clock, log, deliveries }: Pick<ServiceDeps, "clock" | "log"> & { deliveries: DeliveriesRepository },
  bus: Bus,
  { by, lead_id: asked }: ParamsOf<"webhook.replay">,
): Promise<DeliveryDoc> {
  const lead_id = asked.toLowerCase();
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
  const { _id: delivery_id, reseller_id, merchant_id } = replayed;
  const entry = { action: "delivery.replayed", subject: lead_id, reseller_id, merchant_id, details: { delivery_id } };
  if (by) await recordAudit({ log }, bus, { by, ...entry });
  return replayed;
}
