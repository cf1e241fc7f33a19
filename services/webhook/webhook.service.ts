import { newestFitting } from "../../shared/batching.ts";
import { service, type ServiceDeps } from "../../shared/bus/bus.ts";
import { scopeOf } from "../../shared/contracts/records/identity.ts";
import { addressRefusal, type AddressPolicy } from "../../shared/egress/egress-address.ts";
import { fail } from "../../shared/errors.ts";
import type { Loop } from "../../shared/time/loop.ts";
import { readPage } from "../../shared/page.ts";
import { acceptEvents } from "./deliveries/event-intake.ts";
import {
  deliverySchema,
  toDelivery,
  toListed,
  type BodilessDelivery,
  type DeliveryDoc,
} from "./deliveries/deliveries.model.ts";
import { deliveriesRepository } from "./deliveries/deliveries.repository.ts";
import { endDeliveries } from "./deliveries/end-deliveries.ts";
import { eraseDeliveries } from "./deliveries/erase-deliveries.ts";
import { DeliveryPass, startPasses } from "./deliveries/delivery-pass.ts";
import { endpointPart } from "./endpoints/endpoint-part.ts";
import { receiverOf } from "./rules/receiver.ts";
import { HostSlots } from "./hosts/host-slots.ts";
import { shownPhone } from "./deliveries/shown-phone.ts";
import { replayLastDelivery } from "./deliveries/replay.ts";
import { readSecret, rotateSecret } from "./secrets/secret-access.ts";
import { secretsRepository } from "./secrets/secrets.repository.ts";
import { secretsSchema } from "./secrets/secrets.model.ts";
import { webhookClient } from "./deliveries/webhook-request.ts";
import { DeliverySender } from "./deliveries/delivery-sender.ts";

const DELIVERY_LIST_BOUND = 100;

/** In production reports are not to go over a network in clear. */
function warnOfPlainHttp({ env, log }: Pick<ServiceDeps, "env" | "log">): void {
  if (env.NODE_ENV === "production" && env.WEBHOOK_ALLOW_HTTP)
    log.warn(
      { event: "webhook.plain_http" },
      "WEBHOOK_ALLOW_HTTP is set: reports, with what was said in calls, may go over networks in clear",
    );
}

/** The reporting webhook: Standard Webhooks 1.0, signed, retried for three days, listed. */
export default service(
  "webhook",
  (service) => {
    const { env, clock, storeClock } = service;
    const deliveries = deliveriesRepository(service.store().model<DeliveryDoc>("deliveries", deliverySchema));
    const secrets = secretsRepository(service.store().model("webhook_secrets", secretsSchema), service);
    const policy = { allow_http: env.WEBHOOK_ALLOW_HTTP, allow_private: env.WEBHOOK_ALLOW_PRIVATE };
    const client = webhookClient(policy, clock);
    const hosts = new HostSlots(clock, () => service.random());
    let loop: Loop | null = null;
    const nudge = (): void => loop?.nudge();
    const deps = { ...service, deliveries, secrets, client, hosts, phone: shownPhone(service) };
    const addressOf = async (d: DeliveryDoc) => ({ url: d.url, secrets: await secrets.toSignFor(d) });
    const sender = new DeliverySender({ ...deps, addressOf, onRoom: nudge });
    const intake = { ...deps, sender, isOpen: () => loop !== null && storeClock.known(), onWaiting: nudge };
    const pass = new DeliveryPass({ ...deps, sender });
    const endpoints = endpointPart(service, { client, requireAddress: (...at) => requireAddress(policy, ...at) });
    const shown = (d: BodilessDelivery) => toDelivery(d, hosts.pausedUntil(d));

    return {
      actions: {
        enqueueMany: async ({ reports }) => ({ delivery_ids: await acceptEvents(intake, reports) }),
        checkAddresses: ({ urls }) => ({ refusals: urls.map((url) => addressRefusal(url, policy)) }),
        checkAddress: ({ url }) => requireAddress(policy, url, "reporting_webhook_url"),
        deliveries: async ({ lead_id }) => ({
          deliveries: newestFitting((await deliveries.ofLead(lead_id.toLowerCase(), DELIVERY_LIST_BOUND)).map(shown)),
        }),
        async list({ by, limit, cursor, ...filter }) {
          const { items, next_cursor } = await readPage(
            { limit, cursor },
            (after, size) => deliveries.page(scopeOf(by), filter, after, size),
            (d) => toListed(d, hosts.pausedUntil(d)),
          );
          return { count: items.length, deliveries: items, next_cursor };
        },
        async replay(params, { bus }) {
          const replayed = await replayLastDelivery(deps, bus, params);
          hosts.probe(receiverOf(replayed));
          nudge();
          return shown(replayed);
        },
        secret: (params, { bus }) => readSecret(deps, bus, secrets, params),
        rotateSecret: (params, { bus }) => rotateSecret(service, bus, secrets, params),
        eraseNumber: (params) => eraseDeliveries([deliveries, endpoints.deliveries], params),
        endRecords: (params, { bus }) => endDeliveries([deliveries, endpoints.deliveries], bus, params),
        ...endpoints.actions,
      },
      events: { "events.published": () => endpoints.follow() },
      started() {
        warnOfPlainHttp(service);
        endpoints.start();
        loop = startPasses(service, "webhook", pass);
      },
      async stopped() {
        const last = loop;
        loop = null;
        await last?.stop();
        await Promise.all([sender.drain(), endpoints.stop()]);
        await client.close();
      },
    };
  },
  { listens: ["events.published"] },
);

/** WEBHOOK_ADDRESS_REFUSED where the address can be refused without name resolution. */
function requireAddress(policy: AddressPolicy, url: string, path: string): Record<string, never> {
  const message = addressRefusal(url, policy);
  if (message === null) return {};
  return fail("WEBHOOK_ADDRESS_REFUSED", `${path} can't be used: ${message}`, { errors: [{ path, message }] });
}
