import type { ServiceDeps } from "../../../shared/bus.ts";
import { plusMs } from "../../../shared/clock.ts";
import type { WebhookEvent } from "../../../shared/contracts/webhook.ts";
import type { DeliveryDoc } from "./deliveries.model.ts";
import type { DeliveriesRepository } from "./deliveries.repository.ts";
import { newDelivery } from "../rules/delivery-state-machine.ts";
import type { HostSlots, HostSlot } from "../hosts/host-slots.ts";
import { LEASE_MS, type DeliverySender } from "./delivery-sender.ts";

/** What taking reports over stands on. */
export interface IntakeDeps {
  deliveries: DeliveriesRepository;
  hosts: HostSlots;
  work: DeliverySender;
  /** False while the process goes down: others send what comes in now. */ open(): boolean;
  onWaiting(): void;
}

/** The webhook-id of a lead's report: the same however often it is handed over. */
export const deliveryId = (lead_id: string): string => `msg_${lead_id}`;

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "");

function documentOf(report: WebhookEvent, place: HostSlot | null, now: Date): DeliveryDoc {
  const { lead_id, reseller_id, merchant_id, url, occurred_at, data } = report;
  return {
    _id: deliveryId(lead_id),
    lead_id,
    reseller_id,
    merchant_id,
    url,
    host: hostOf(url),
    body: JSON.stringify({ type: "lead.finished", timestamp: occurred_at, data }),
    ...newDelivery(place ? plusMs(now, LEASE_MS) : null, now),
  };
}

/**
 * Writes reports down, all in one insert, and begins to send those whose host has room: they are written as taken, so that the road from finish to receiver
 * needs no second look into the database. A process that dies between leaves them to the end of their lease. The others wait for the loop.
 */
export async function acceptEvents(
  deps: ServiceDeps,
  desk: IntakeDeps,
  reports: readonly WebhookEvent[],
): Promise<string[]> {
  const now = deps.clock.now();
  const entries = [...new Map(reports.map((r) => [r.lead_id, r])).values()].map((report) => {
    const place = desk.open() ? desk.hosts.acquire(hostOf(report.url)) : null;
    return { place, doc: documentOf(report, place, now) };
  });
  let fresh: boolean[] = [];
  try {
    fresh = await desk.deliveries.insert(entries.map((e) => e.doc));
  } finally {
    entries.forEach(({ place, doc }, i) => {
      if (place && fresh[i] === true) desk.work.begin(doc, place);
      else place?.release();
      if (!place && fresh[i] === true) desk.hosts.enqueue(doc.host);
    });
  }
  if (desk.hosts.anyNext()) desk.onWaiting();
  return reports.map((r) => deliveryId(r.lead_id));
}
