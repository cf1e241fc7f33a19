import { recordAudit } from "../../../shared/audit.ts";
import type { Handlers, ServiceDeps } from "../../../shared/bus/bus.ts";
import { scopeOf, type By } from "../../../shared/contracts/records/identity.ts";
import type { CloudEvent } from "../../../shared/contracts/events/event-type.ts";
import { TEST_EVENT, type EndpointDelivery } from "../../../shared/contracts/webhooks/webhook-endpoint.ts";
import { fail } from "../../../shared/errors.ts";
import { readPage } from "../../../shared/page.ts";
import type { BodilessDelivery } from "../deliveries/deliveries.model.ts";
import { replayDelivery } from "../rules/delivery-state-machine.ts";
import { receiverOf } from "../rules/receiver.ts";
import type { EndpointDeliveries } from "./endpoint-deliveries.repository.ts";
import { acceptForEndpoints, type EndpointIntakeDeps } from "./endpoint-intake.ts";
import { endpointNotFound, mayChange } from "./endpoints.ts";
import type { EndpointDoc } from "./endpoints.model.ts";
import type { EndpointsRepository } from "./endpoints.repository.ts";

/** What listing and sending again need. */
export interface SentEventDeps extends Pick<ServiceDeps, "clock" | "ids" | "log"> {
  endpoints: EndpointsRepository;
  deliveries: EndpointDeliveries;
  intake: EndpointIntakeDeps;
}

/** Document -> what the list of an endpoint shows. */
const toEndpointDelivery = (d: BodilessDelivery): EndpointDelivery => ({
  id: d._id,
  endpoint_id: d.endpoint?.id ?? "",
  event_id: d.endpoint?.event_id ?? "",
  type: d.endpoint?.type ?? "",
  lead_id: d.lead_id === "" ? null : d.lead_id,
  seq: d.endpoint?.seq ?? 0,
  state: d.state,
  next_try_at: d.next_try_at?.toISOString() ?? null,
  tries: d.tries.map((t) => ({ ...t, at: new Date(t.at).toISOString() })),
  lost: d.endpoint?.lost ?? [],
  created_at: d.created_at.toISOString(),
});

const testEvent = ({ _id, reseller_id, merchant_id }: EndpointDoc, id: string, now: Date): CloudEvent => ({
  specversion: "1.0",
  id: `test.${id}`,
  source: "/callagent/webhook-endpoints",
  type: TEST_EVENT,
  subject: _id,
  time: now.toISOString(),
  datacontenttype: "application/json",
  reseller: reseller_id,
  ...(merchant_id === null ? {} : { merchant: merchant_id }),
  seq: 1,
  data: { endpoint_id: _id },
});

const stillPending = (): never =>
  fail("DELIVERY_PENDING", "The delivery is still on its way; wait until it is delivered, refused or exhausted.", {
    retry_after_seconds: 5,
  });

/** What was sent to endpoints: listed, sent again, and tried out. */
export function sentEventActions({
  clock,
  ids,
  log,
  endpoints,
  deliveries,
  intake,
}: SentEventDeps): Handlers<"webhook", "testEndpoint" | "endpointDeliveries" | "replayEndpointDelivery"> {
  const endpointFor = async (by: By, id: string): Promise<EndpointDoc> =>
    (await endpoints.find(scopeOf(by), id)) ?? endpointNotFound();
  return {
    async testEndpoint({ by, id }) {
      const endpoint = await endpointFor(by, id);
      mayChange(by);
      const event = testEvent(endpoint, ids.uuid(), clock.now());
      const [made] = await acceptForEndpoints(intake, [{ endpoint, event, isOfLog: false }]);
      return toEndpointDelivery(made ?? fail("INTERNAL", "no test event could be made"));
    },
    async endpointDeliveries({ by, id, state, limit, cursor }) {
      const { _id } = await endpointFor(by, id);
      const { items, next_cursor } = await readPage(
        { limit, cursor },
        (after, size) => deliveries.page(_id, state, after, size),
        toEndpointDelivery,
      );
      return { count: items.length, deliveries: items, next_cursor };
    },
    async replayEndpointDelivery({ by, id, delivery_id }, { bus }) {
      const { _id, reseller_id, merchant_id } = await endpointFor(by, id);
      mayChange(by);
      const last =
        (await deliveries.find(_id, delivery_id)) ??
        fail(
          "DELIVERY_NOT_FOUND",
          "The endpoint has no such delivery; list them with GET /webhook-endpoints/{id}/deliveries.",
        );
      if (last.state === "pending") return stillPending();
      const { filter, update } = replayDelivery(last, clock.now());
      const set = { ...Object(update["$set"]), "endpoint.replayed": true };
      const replayed = (await deliveries.transitionOne({ filter, update: { ...update, $set: set } })) ?? stillPending();
      const entry = { subject: delivery_id, reseller_id, merchant_id, details: { endpoint_id: _id, was: last.state } };
      await recordAudit({ log }, bus, { by, action: "endpoint_delivery.replayed", ...entry });
      intake.hosts.probe(receiverOf(replayed));
      intake.onWaiting();
      return toEndpointDelivery(replayed);
    },
  };
}
