import type { Bus, ServiceDeps } from "../../../shared/bus/bus.ts";
import { cursorOwner, eventCursors, eventCursorSchema } from "../../../shared/database/event-cursor.ts";
import type { Loop } from "../../../shared/time/loop.ts";
import { DeliveryPass, startPasses } from "../deliveries/delivery-pass.ts";
import { DeliverySender } from "../deliveries/delivery-sender.ts";
import { endpointDeliverySchema, type DeliveryDoc } from "../deliveries/deliveries.model.ts";
import type { WebhookClient } from "../deliveries/webhook-request.ts";
import { HostSlots } from "../hosts/host-slots.ts";
import { chainOrder } from "./chain-order.ts";
import { endpointDeliveries, type EndpointDeliveries } from "./endpoint-deliveries.repository.ts";
import { acceptForEndpoints, type EndpointEvent, type EndpointIntakeDeps } from "./endpoint-intake.ts";
import { endpointActions, type EndpointDeps } from "./endpoints.ts";
import { endpointSchema, type EndpointDoc } from "./endpoints.model.ts";
import { endpointsRepository } from "./endpoints.repository.ts";
import { eventFollower } from "./event-follower.ts";
import { sentEventActions } from "./sent-events.ts";

/** What endpoints share with the reports of leads. */
export interface EndpointPartDeps extends Pick<EndpointDeps, "requireAddress"> {
  client: WebhookClient;
}

/** Endpoints: their actions, and the loop that sends what is due to them. */
export interface EndpointPart {
  actions: ReturnType<typeof endpointActions> & ReturnType<typeof sentEventActions>;
  deliveries: EndpointDeliveries;
  /** The log of events has grown. */
  follow(): void;
  start(): void;
  stop(): Promise<void>;
}

/** Endpoints over their collections; bounds of sending are counted apart from those of reports. */
export function endpointPart(service: ServiceDeps, { client, requireAddress }: EndpointPartDeps): EndpointPart {
  const { clock, storeClock } = service;
  const store = service.store();
  const endpoints = endpointsRepository(store.model<EndpointDoc>("webhook_endpoints", endpointSchema), service);
  const deliveries = endpointDeliveries(store.model<DeliveryDoc>("endpoint_deliveries", endpointDeliverySchema));
  const hosts = new HostSlots(clock, () => service.random());
  let loop: Loop | null = null;
  const nudge = (): void => loop?.nudge();
  const isOpen = (): boolean => loop !== null && storeClock.known();
  const order = chainOrder({ ...service, endpoints, deliveries, hosts, isOpen, onWaiting: nudge });
  const sender = new DeliverySender({ ...service, ...order, deliveries, client, hosts, onRoom: nudge });
  const pass = new DeliveryPass({ ...service, admit: order.admit, deliveries, hosts, sender });
  const intake: EndpointIntakeDeps = { clock, deliveries, hosts, sender, isOpen, onWaiting: nudge };
  const shared = { ...service, endpoints, deliveries };
  const logEnd = async (bus: Bus): Promise<number> =>
    (await bus.call("leads.eventsAfter", { after: null, limit: 1 })).next;
  const cursors = eventCursors(store.model("webhook_cursors", eventCursorSchema));
  const cursor = cursorOwner({ ...service, cursors }, { area: "endpoints", name: "endpoints" });
  const accept = (events: readonly EndpointEvent[]) => acceptForEndpoints(intake, events);
  const followed = eventFollower({ ...service, cursor, endpoints, accept });
  let follower: Loop | null = null;
  const follow = (): void => {
    nudge();
    follower?.nudge();
  };
  return {
    actions: {
      ...endpointActions({ ...shared, requireAddress, logEnd, onChange: follow }),
      ...sentEventActions({ ...shared, intake }),
    },
    deliveries,
    follow,
    start() {
      loop = startPasses(service, "endpoints", pass);
      follower = startPasses(service, "events", { run: followed });
    },
    async stop() {
      const last = loop;
      loop = null;
      await follower?.stop();
      await cursor.leave();
      await last?.stop();
      await sender.drain();
    },
  };
}
