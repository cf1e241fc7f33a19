import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { WebhookEvent } from "../../../shared/contracts/webhook.ts";
import type { DeliveryDoc } from "./deliveries.model.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import { newDelivery } from "../rules/delivery-state-machine.ts";
import { receiverOf } from "../rules/receiver.ts";
import type { HostSlots } from "../hosts/host-slots.ts";
import { LEASE_MS, type DeliverySender } from "./delivery-sender.ts";
import type { ShownPhone } from "./shown-phone.ts";

/** What taking webhook events over needs. */
export interface IntakeDeps extends Pick<ServiceDeps, "clock"> {
  deliveries: Pick<DeliveryQueue, "insert">;
  hosts: HostSlots;
  sender: DeliverySender;
  phone: ShownPhone;
  /** False while the process shuts down: other processes send what comes in now. */
  isOpen(): boolean;
  /** Runs when receivers wait for the loop. */
  onWaiting(): void;
}

/** The webhook-id of a lead's webhook event: the same however often it is handed over. */
export const deliveryId = (lead_id: string): string => `msg_${lead_id}`;

/** The host of a URL as receivers are told apart by it. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "");

function documentOf(event: WebhookEvent, taken: boolean, now: Date): DeliveryDoc {
  const { lead_id, reseller_id, merchant_id, url, occurred_at, data, trace } = event;
  return {
    _id: deliveryId(lead_id),
    lead_id,
    reseller_id,
    merchant_id,
    url,
    host: hostOf(url),
    body: JSON.stringify({ type: "lead.finished", timestamp: occurred_at, data }),
    ...(trace === undefined ? {} : { trace }),
    ...newDelivery(taken ? plusMs(now, LEASE_MS) : null, now),
  };
}

/**
 * Writes webhook events, all in one insert, and begins to send those whose receiver has a slot: they are written as taken, so that the road from finish to receiver
 * needs no second read of the database. A process that dies between leaves them to the end of their lease. The others wait for the loop.
 */
export async function acceptEvents(deps: IntakeDeps, events: readonly WebhookEvent[]): Promise<string[]> {
  const { clock, deliveries, hosts, sender } = deps;
  const shown = await deps.phone.apply([...new Map(events.map((event) => [event.lead_id, event])).values()]);
  const now = clock.now();
  const entries = shown.map((event) => {
    const { reseller_id, merchant_id } = event;
    const slot = deps.isOpen() ? hosts.acquire({ host: hostOf(event.url), reseller_id, merchant_id }) : null;
    return { slot, doc: documentOf(event, slot !== null, now) };
  });
  let fresh: boolean[] = [];
  try {
    fresh = await deliveries.insert(entries.map(({ doc }) => doc));
  } finally {
    entries.forEach(({ slot, doc }, i) => {
      if (slot && fresh[i] === true) sender.begin(doc, slot);
      else slot?.release();
      if (!slot && fresh[i] === true) hosts.enqueue(receiverOf(doc));
    });
  }
  if (hosts.anyNext()) deps.onWaiting();
  return events.map((event) => deliveryId(event.lead_id));
}
