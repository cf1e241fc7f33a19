import type { ServiceDeps } from "../../../shared/bus.ts";
import { crashPoint } from "../../../shared/crash.ts";
import { errorForLog } from "../../../shared/log.ts";
import type { DeliveryDoc } from "./deliveries.model.ts";
import type { DeliveriesRepository } from "./deliveries.repository.ts";
import { recordTry } from "../rules/delivery-state-machine.ts";
import type { HostSlots, HostSlot } from "../hosts/host-slots.ts";
import type { Secrets } from "../secrets/secrets.repository.ts";
import { TOTAL_TIMEOUT_MS, type WebhookClient } from "./webhook-request.ts";
import { sign } from "../rules/signature.ts";
import { verdictOf, type TryResult } from "../rules/delivery-verdict.ts";

/** How long a taken delivery is its sender's: longer than a try may last. */
export const LEASE_MS = TOTAL_TIMEOUT_MS + 5000;

/** What sending stands on. */
export interface SenderDeps {
  deliveries: DeliveriesRepository;
  secrets: Secrets;
  sender: WebhookClient;
  hosts: HostSlots;
}

/** Tries under way. */
export interface DeliverySender {
  /** Begins one try of a delivery that was taken; what comes of it is written down. */
  begin(d: DeliveryDoc, place: HostSlot): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

/** Sends deliveries that were taken. `onRoom` is called when a request ended and others wait for its place. */
export function deliverySender(
  deps: ServiceDeps,
  { deliveries, secrets, sender, hosts }: SenderDeps,
  onRoom: () => void,
): DeliverySender {
  const { clock, log } = deps;
  const underWay = new Set<Promise<void>>();

  function noteHost(host: string, place: HostSlot, result: TryResult): void {
    const change = place.answered(result);
    if (!change) return;
    if ("ended" in change)
      log.info({ event: "webhook.host_resumed", host }, "a receiver answers again; its reports go out");
    else
      log.warn(
        { event: "webhook.host_paused", host, pause_ms: Math.round(change.began_ms) },
        "a receiver failed too often in a row; its reports wait, and no try is spent",
      );
  }

  async function send(d: DeliveryDoc, place: HostSlot): Promise<void> {
    const valid = await secrets.toSignFor(d);
    const [started, now] = [clock.monotonicMs(), clock.now()];
    const timestampSeconds = Math.floor(now.getTime() / 1000);
    const result = await sender.send({
      url: d.url,
      id: d._id,
      timestampSeconds,
      signature: sign(valid, d._id, timestampSeconds, d.body),
      body: d.body,
    });
    noteHost(d.host, place, result);
    const decided = verdictOf(result, d.try_count - (d.tries_before ?? 0), clock.now(), deps.random());
    if (decided.kind === "delivered") crashPoint(deps.env, "K11");
    await deliveries.transition(recordTry(d, result, decided, now, Math.round(clock.monotonicMs() - started)));
    const how = { lead_id: d.lead_id, delivery_id: d._id, tries: d.try_count, status: result.status };
    if (decided.kind === "delivered") log.info({ event: "webhook.delivered", ...how }, "webhook delivered");
    else
      log.warn(
        {
          event: `webhook.${decided.kind}`,
          ...how,
          error: result.status === null ? result.error : null,
          ...(decided.kind === "again" ? { at: decided.at } : {}),
        },
        "webhook not delivered",
      );
  }

  return {
    begin(d, place) {
      const running = send(d, place)
        .catch((error: unknown) =>
          log.error(
            { event: "webhook.failed", delivery_id: d._id, ...errorForLog(error) },
            "a try broke off; the lease brings it back",
          ),
        )
        .finally(() => {
          place.release();
          underWay.delete(running);
          if (hosts.anyNext()) onRoom();
        });
      underWay.add(running);
    },
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
