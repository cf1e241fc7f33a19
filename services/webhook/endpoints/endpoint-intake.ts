import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { kindOf, type CloudEvent } from "../../../shared/contracts/events/event-type.ts";
import { uuidOf } from "../../../shared/ids.ts";
import { plusMs, plusSeconds } from "../../../shared/time/clock.ts";
import type { DeliveryDoc, EndpointPart } from "../deliveries/deliveries.model.ts";
import { LEASE_MS, type DeliverySender } from "../deliveries/delivery-sender.ts";
import { hostOf } from "../deliveries/event-intake.ts";
import type { HostSlots } from "../hosts/host-slots.ts";
import { anyGivenUp, chainOf, heldUntil, lostSince, waitsFor, type Undelivered } from "../rules/chain-admission.ts";
import { newDelivery } from "../rules/delivery-state-machine.ts";
import { receiverOf } from "../rules/receiver.ts";
import type { EndpointDeliveries } from "./endpoint-deliveries.repository.ts";
import type { EndpointDoc } from "./endpoints.model.ts";

/** An event for an endpoint. Those of the log go in the order of their subject (a lead, say), in a chain; a test goes by itself, and at once. */
export interface EndpointEvent {
  endpoint: EndpointDoc;
  event: CloudEvent;
  isOfLog: boolean;
}

/** What taking events over for endpoints needs. */
export interface EndpointIntakeDeps extends Pick<ServiceDeps, "clock"> {
  deliveries: EndpointDeliveries;
  hosts: HostSlots;
  sender: Pick<DeliverySender, "begin">;
  /** False while the process shuts down: other processes send what comes in now. */
  isOpen(): boolean;
  /** Runs when receivers wait for the loop. */
  onWaiting(): void;
}

/** How long deliveries stay listed. */
const KEPT_SECONDS = 30 * 86_400;

/** The webhook-id: the same however often an event is handed over for an endpoint. */
export const endpointDeliveryId = (endpoint_id: string, event_id: string): string =>
  `msg_${uuidOf(`${endpoint_id} ${event_id}`)}`;

const partOf = ({ endpoint, event, isOfLog }: EndpointEvent): EndpointPart => ({
  id: endpoint._id,
  event_id: event.id,
  type: event.type,
  seq: event.seq,
  chain: isOfLog ? chainOf(endpoint._id, event.subject) : null,
  lost: [],
});

/** The event as it is sent: a CloudEvent, and the `timestamp` of Standard Webhooks. */
const bodyOf = (event: CloudEvent): string => JSON.stringify({ ...event, timestamp: event.time });

/** Ids of what was given up before each of these in its chain. */
async function lostBefore(
  deliveries: EndpointDeliveries,
  part: EndpointPart,
  undelivered: readonly Undelivered[],
): Promise<string[]> {
  const of = { endpoint: part };
  if (part.chain === null || !anyGivenUp(of, undelivered)) return [];
  return lostSince(of, undelivered, await deliveries.lastDelivered(part.chain, part.seq));
}

/**
 * Writes deliveries, true for each that was not there: of a chain one after the other, so that none is there without those before it, whenever the
 * process dies. The first ones of all chains share a write, then the second ones, and so on.
 */
async function insertInOrder(deliveries: EndpointDeliveries, docs: readonly DeliveryDoc[]): Promise<boolean[]> {
  const places = new Map<string, number>();
  const waves: number[][] = [];
  docs.forEach(({ _id, endpoint }, i) => {
    const chain = endpoint?.chain ?? _id;
    const place = places.get(chain) ?? 0;
    places.set(chain, place + 1);
    (waves[place] ??= []).push(i);
  });
  const fresh = docs.map(() => false);
  for (const wave of waves) {
    const written = await deliveries.insert(wave.flatMap((i) => docs[i] ?? []));
    wave.forEach((i, n) => {
      fresh[i] = written[n] === true;
    });
  }
  return fresh;
}

/**
 * Writes events for endpoints, in their order, and begins to send those that wait for no other one of their subject and whose receiver has a slot. The others
 * wait for the loop, or for the one before them.
 */
export async function acceptForEndpoints(
  deps: EndpointIntakeDeps,
  events: readonly EndpointEvent[],
): Promise<DeliveryDoc[]> {
  const { clock, deliveries, hosts, sender } = deps;
  const parts = events.map((one) => ({ ...one, part: partOf(one) }));
  const chains = [...new Set(parts.flatMap(({ part }) => part.chain ?? []))];
  const undelivered = await deliveries.undelivered(chains);
  const seen = new Set<string>();
  const now = clock.now();
  const entries = [];
  for (const { endpoint, event, isOfLog, part } of parts) {
    const { reseller_id, merchant_id, url } = endpoint;
    const receiver = { host: hostOf(url), reseller_id, merchant_id };
    const held = endpoint.paused && isOfLog;
    // written before the one before it is sent, whose end has it sent
    const follows = part.chain !== null && seen.has(part.chain);
    const isNext = !follows && (part.chain === null || waitsFor({ endpoint: part }, undelivered) === null);
    if (part.chain !== null) seen.add(part.chain);
    const slot = isNext && !held && deps.isOpen() ? hosts.acquire(receiver) : null;
    const lost = isNext ? await lostBefore(deliveries, part, undelivered) : [];
    const doc: DeliveryDoc = {
      _id: endpointDeliveryId(endpoint._id, event.id),
      lead_id: isOfLog && kindOf(event.subject) === "lead" ? event.subject : "",
      ...receiver,
      url,
      body: bodyOf(event),
      ...newDelivery(slot ? plusMs(now, LEASE_MS) : null, now),
      // the end of the one before it has it sent
      ...(follows ? { next_try_at: plusMs(now, LEASE_MS) } : {}),
      ...(held ? { next_try_at: heldUntil(now) } : {}),
      endpoint: { ...part, lost, ...(held ? { held: true } : {}) },
      expires_at: plusSeconds(now, KEPT_SECONDS),
    };
    entries.push({ doc, slot, waits: held || follows });
  }
  let fresh: boolean[] = [];
  try {
    fresh = await insertInOrder(
      deliveries,
      entries.map(({ doc }) => doc),
    );
  } finally {
    entries.forEach(({ slot, doc, waits }, i) => {
      if (slot && fresh[i] === true) sender.begin(doc, slot);
      else slot?.release();
      if (!slot && fresh[i] === true && !waits) hosts.enqueue(receiverOf(doc));
    });
  }
  if (hosts.anyNext()) deps.onWaiting();
  return entries.map(({ doc }) => doc);
}
