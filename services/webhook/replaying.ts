import type { Model } from "mongoose";
import type { ServiceGround } from "../../shared/bus.ts";
import type { DeliveryRecord } from "../../shared/contracts/webhook.ts";
import { fail } from "../../shared/errors.ts";
import { toDelivery, type DeliveryDoc } from "./deliveries.model.ts";
import { again } from "./delivery-machine.ts";

/** Sends the report of a lead again: the same webhook-id and bytes, a new round of tries. DELIVERY_NOT_FOUND, DELIVERY_PENDING. */
export async function replay(ground: ServiceGround, model: Model<DeliveryDoc>, lead_id: string): Promise<DeliveryRecord> {
  const [last] = await model.find({ lead_id }).sort({ created_at: -1 }).limit(1).lean<DeliveryDoc[]>();
  if (!last) return fail("DELIVERY_NOT_FOUND", "the lead has no webhook delivery: it has not finished yet, or was pushed without a reporting_webhook_url");
  const pending = (): never => fail("DELIVERY_PENDING", "the delivery is still on its way; wait until it is delivered, refused or exhausted", { retry_after_seconds: 5 });
  if (last.state === "pending") return pending();
  const move = again(last, ground.clock.now());
  const moved = await model.findOneAndUpdate(move.filter, move.update, { returnDocument: "after" }).lean<DeliveryDoc>();
  if (!moved) return pending();
  ground.log.info({ event: "webhook.replayed", lead_id, delivery_id: moved._id, was: last.state }, "a delivery is sent again");
  return toDelivery(moved);
}
