import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { TEST_EVENT } from "../../../shared/contracts/webhooks/webhook-endpoint.ts";
import type { DeliveryDoc } from "../deliveries/deliveries.model.ts";
import type { Addressed } from "../deliveries/delivery-sender.ts";
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
import type { DeliveryTransition } from "../rules/delivery-state-machine.ts";
import { receiverOf } from "../rules/receiver.ts";
import type { EndpointDeliveries } from "./endpoint-deliveries.repository.ts";
import type { EndpointsRepository } from "./endpoints.repository.ts";

/** What the order of deliveries to endpoints needs. */
export interface ChainDeps extends Pick<ServiceDeps, "clock" | "log"> {
  endpoints: EndpointsRepository;
  deliveries: EndpointDeliveries;
  hosts: HostSlots;
  onWaiting(): void;
}

/** All tries of a plan, and a little more: an event that waited longer for others is tried once when its turn comes. */
const WHOLE_PLAN_MS = 3.5 * 86_400_000;

/** What the sender and the pass of deliveries to endpoints ask. */
export interface ChainOrder {
  admit(due: readonly DueDelivery[]): Promise<DueDelivery[]>;
  addressOf(delivery: DeliveryDoc): Promise<Addressed | null>;
  isLast(delivery: DeliveryDoc, now: Date): boolean;
  onEnded(delivery: DeliveryDoc): Promise<void>;
}

const ageMs = ({ created_at }: Pick<DeliveryDoc, "created_at">, now: Date): number =>
  now.getTime() - created_at.getTime();

/** Events of one lead go to one endpoint in their order; those of a deleted endpoint go nowhere, those of a paused one later. */
export function chainOrder({ clock, log, endpoints, deliveries, hosts, onWaiting }: ChainDeps): ChainOrder {
  async function releaseNext(of: Pick<DeliveryDoc, "endpoint">): Promise<void> {
    if (!of.endpoint?.chain || of.endpoint.replayed) return;
    const next = await deliveries.releaseNext(of.endpoint.chain, of.endpoint.seq, clock.now());
    if (next === null) return;
    hosts.enqueue(receiverOf(next));
    onWaiting();
  }

  /** Of what may be sent, that which is to say first what was lost before it. */
  async function losses(admitted: readonly DueDelivery[], undelivered: Parameters<typeof waitsFor>[1]) {
    const owing = admitted.filter((d) => d.try_count === 0 && d.endpoint?.chain && anyGivenUp(d, undelivered));
    return Promise.all(
      owing.map(async (d) => {
        const last = await deliveries.lastDelivered(d.endpoint?.chain ?? "", d.endpoint?.seq ?? 0);
        return nameLost(d, lostSince(d, undelivered, last));
      }),
    );
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
        ...(await losses(admitted, undelivered)),
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
    onEnded: releaseNext,
  };
}
