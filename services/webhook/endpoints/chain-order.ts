import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import { TEST_EVENT } from "../../../shared/contracts/webhooks/webhook-endpoint.ts";
import type { DeliveryDoc } from "../deliveries/deliveries.model.ts";
import { LEASE_MS, type Addressed, type Taken } from "../deliveries/delivery-sender.ts";
import type { DueDelivery } from "../deliveries/delivery-queue.ts";
import type { HostSlots } from "../hosts/host-slots.ts";
import {
  anyGivenUp,
  hold,
  LONGEST_WAIT_MS,
  lostSince,
  nameLost,
  outlived,
  waitBehind,
  waitsFor,
} from "../rules/chain-admission.ts";
import { takeLease, type DeliveryTransition } from "../rules/delivery-state-machine.ts";
import { receiverOf } from "../rules/receiver.ts";
import type { EndpointDeliveries } from "./endpoint-deliveries.repository.ts";
import type { EndpointsRepository } from "./endpoints.repository.ts";

/** What the order of deliveries to endpoints needs. */
export interface ChainDeps extends Pick<ServiceDeps, "clock" | "ids" | "log"> {
  endpoints: EndpointsRepository;
  deliveries: EndpointDeliveries;
  hosts: HostSlots;
  /** False while the process shuts down: other processes send what comes next. */
  isOpen(): boolean;
  onWaiting(): void;
}

/** All tries of a plan, and a little more: an event that waited longer for others is tried once when its turn comes. */
const WHOLE_PLAN_MS = 3.5 * 86_400_000;

/** What the sender and the pass of deliveries to endpoints ask. */
export interface ChainOrder {
  admit(due: readonly DueDelivery[]): Promise<DueDelivery[]>;
  addressOf(delivery: DeliveryDoc): Promise<Addressed | null>;
  isLast(delivery: DeliveryDoc, now: Date): boolean;
  /** Has the next one of the chain sent: takes it at once where nothing speaks against it, else the pass does. */
  onEnded(delivery: DeliveryDoc, delivered: boolean): Promise<Taken | null>;
}

const ageMs = ({ created_at }: Pick<DeliveryDoc, "created_at">, now: Date): number =>
  now.getTime() - created_at.getTime();

/**
 * There is nothing behind a delivery that arrived. What comes behind it after this was read is found by whoever writes it down: the delivery before it is over by
 * then, and it waits for nothing.
 */
const NONE = "none";

/**
 * Takes the delivery behind one that arrived, so that events which come close together wait for the answers before them and for nothing else. Null: its
 * receiver has no slot now, or it is for the pass to say what becomes of it, as something before it was given up or its endpoint is paused or gone.
 */
async function takeNext(
  { clock, ids, isOpen, endpoints, deliveries, hosts }: ChainDeps,
  d: DeliveryDoc,
): Promise<Taken | typeof NONE | null> {
  const { id, chain, seq, replayed } = d.endpoint ?? {};
  if (!id || !chain || seq === undefined || replayed || !isOpen()) return null;
  const next = await deliveries.firstBehind(chain, seq);
  if (next === null) return NONE;
  const now = clock.now();
  if (next.state !== "pending" || next.endpoint?.held || ageMs(next, now) > LONGEST_WAIT_MS) return null;
  const endpoint = await endpoints.toSend(id);
  const slot = endpoint === null || endpoint.paused ? null : hosts.acquire(receiverOf(next));
  if (slot === null) return null;
  try {
    const delivery = await deliveries.transitionOne(takeLease(next, plusMs(now, LEASE_MS), ids.uuid()));
    if (delivery) return { delivery, slot };
    slot.release();
    return null;
  } catch (error) {
    slot.release();
    throw error;
  }
}

/** Of what may be sent, that which is to say first what was lost before it. */
async function losses(
  deliveries: EndpointDeliveries,
  admitted: readonly DueDelivery[],
  undelivered: Parameters<typeof waitsFor>[1],
): Promise<DeliveryTransition[]> {
  const owing = admitted.filter((d) => d.try_count === 0 && d.endpoint?.chain && anyGivenUp(d, undelivered));
  return Promise.all(
    owing.map(async (d) => {
      const last = await deliveries.lastDelivered(d.endpoint?.chain ?? "", d.endpoint?.seq ?? 0);
      return nameLost(d, lostSince(d, undelivered, last));
    }),
  );
}

/** Events of one lead go to one endpoint in their order; those of a deleted endpoint go nowhere, those of a paused one later. */
export function chainOrder(deps: ChainDeps): ChainOrder {
  const { clock, log, endpoints, deliveries, hosts, onWaiting } = deps;
  async function releaseNext(of: Pick<DeliveryDoc, "endpoint">): Promise<void> {
    if (!of.endpoint?.chain || of.endpoint.replayed) return;
    const next = await deliveries.releaseNext(of.endpoint.chain, of.endpoint.seq, clock.now());
    if (next === null) return;
    hosts.enqueue(receiverOf(next));
    onWaiting();
  }

  return {
    async admit(due) {
      if (due.length === 0) return [];
      const now = clock.now();
      const ids = [...new Set(due.map((d) => d.endpoint?.id ?? ""))];
      const known = new Map((await endpoints.many(ids)).map((endpoint) => [endpoint._id, endpoint]));
      const undelivered = await deliveries.undelivered([...new Set(due.flatMap((d) => d.endpoint?.chain ?? []))]);
      const [admitted, gone, over]: [DueDelivery[], string[], DueDelivery[]] = [[], [], []];
      const writes: DeliveryTransition[] = [];
      for (const d of due) {
        const endpoint = known.get(d.endpoint?.id ?? "");
        const first = waitsFor(d, undelivered);
        if (!endpoint) gone.push(d._id);
        else if (ageMs(d, now) > LONGEST_WAIT_MS && !d.endpoint?.replayed) over.push(d);
        else if (endpoint.paused && d.endpoint?.type !== TEST_EVENT) writes.push(hold(d, now));
        else if (first) writes.push(waitBehind(d, first, now));
        else admitted.push(d);
      }
      await deliveries.write([
        ...writes,
        ...over.map((d) => outlived(d, now)),
        ...(await losses(deliveries, admitted, undelivered)),
      ]);
      for (const d of over) {
        log.warn({ event: "webhook.given_up", delivery_id: d._id }, "an event waited for its endpoint for a week");
        await releaseNext(d);
      }
      if (gone.length > 0) await deliveries.remove(gone);
      return admitted;
    },
    async addressOf(d) {
      const address = await endpoints.toSend(d.endpoint?.id ?? "");
      if (address === null) await deliveries.remove([d._id]);
      return address;
    },
    isLast: (d, now) =>
      d.endpoint?.type === TEST_EVENT || (ageMs(d, now) > WHOLE_PLAN_MS && d.endpoint?.replayed !== true),
    async onEnded(d, delivered) {
      const taken = delivered ? await takeNext(deps, d) : null;
      if (taken === NONE) return null;
      if (taken === null) await releaseNext(d);
      return taken;
    },
  };
}
