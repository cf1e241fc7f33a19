import { service } from "../../shared/bus.ts";
import { scopeOf } from "../../shared/contracts/identity.ts";
import { addressRefusal } from "../../shared/egress-address.ts";
import { fail } from "../../shared/errors.ts";
import { errorForLog } from "../../shared/log.ts";
import { startLoop, type Loop } from "../../shared/loop.ts";
import { pageFilter, pageOf, pageSize } from "../../shared/page.ts";
import { acceptEvents } from "./deliveries/event-intake.ts";
import {
  deliverySchema,
  toDelivery,
  toListed,
  type BodilessDelivery,
  type DeliveryDoc,
} from "./deliveries/deliveries.model.ts";
import { deliveriesRepository } from "./deliveries/deliveries.repository.ts";
import { deliveryPass } from "./deliveries/delivery-pass.ts";
import { hostSlots as hostBook } from "./hosts/host-slots.ts";
import { replayLastDelivery } from "./deliveries/replay.ts";
import { readSecret, rotateSecret } from "./secrets/secret-access.ts";
import { secretsRepository } from "./secrets/secrets.repository.ts";
import { secretsSchema } from "./secrets/secrets.model.ts";
import { webhookClient } from "./deliveries/webhook-request.ts";
import { deliverySender } from "./deliveries/delivery-sender.ts";

const DELIVERY_LIST_BOUND = 100;
const LOOP_MS = 1000;

/** The reporting webhook: Standard Webhooks 1.0, signed, retried for three days, listed (decisions.md, Webhook). */
export default service("webhook", (deps) => {
  const { env, clock, ids } = deps;
  const deliveries = deliveriesRepository(deps.store().model<DeliveryDoc>("deliveries", deliverySchema));
  const secrets = secretsRepository(deps.store().model("webhook_secrets", secretsSchema), ids, clock);
  const policy = { allow_http: env.WEBHOOK_ALLOW_HTTP, allow_private: env.WEBHOOK_ALLOW_PRIVATE };
  const sender = webhookClient(policy, clock);
  const hosts = hostBook(clock, () => deps.random());
  let loop: Loop | null = null;
  const nudge = (): void => loop?.nudge();
  const work = deliverySender(deps, { deliveries, secrets, sender, hosts }, nudge);
  const pass = deliveryPass(deps, deliveries, hosts, work);
  const desk = { deliveries, hosts, work, open: () => loop !== null, onWaiting: nudge };
  const shown = (d: BodilessDelivery) => toDelivery(d, hosts.pausedUntil(d.host));

  return {
    actions: {
      enqueueMany: async ({ reports }) => ({ delivery_ids: await acceptEvents(deps, desk, reports) }),
      checkAddress({ url }) {
        const refusal = addressRefusal(url, policy);
        if (refusal)
          fail("WEBHOOK_ADDRESS_REFUSED", `reporting_webhook_url can't be used: ${refusal}`, {
            errors: [{ path: "reporting_webhook_url", message: refusal }],
          });
        return {};
      },
      checkAddresses: ({ urls }) => ({ refusals: urls.map((url) => addressRefusal(url, policy)) }),
      deliveries: async ({ lead_id }) => ({
        deliveries: (await deliveries.ofLead(lead_id.toLowerCase(), DELIVERY_LIST_BOUND)).map(shown),
      }),
      async list({ by, state, reseller_id, merchant_id, limit, cursor }) {
        const read = await deliveries.page(
          scopeOf(by),
          { state, reseller_id, merchant_id },
          pageFilter(cursor),
          pageSize(limit),
        );
        const page = pageOf(read, limit, (d) => JSON.stringify(d).length);
        return {
          count: page.items.length,
          deliveries: page.items.map((d) => toListed(d, hosts.pausedUntil(d.host))),
          next_cursor: page.next_cursor,
        };
      },
      async replay({ lead_id }) {
        const replayed = await replayLastDelivery(deps, deliveries, lead_id.toLowerCase());
        hosts.probe(replayed.host);
        nudge();
        return shown(replayed);
      },
      secret: (params, { bus }) => readSecret(bus, secrets, params),
      rotateSecret: (params, { bus }) => rotateSecret(deps, bus, secrets, params),
    },
    started() {
      loop = startLoop({
        name: "webhook",
        clock,
        intervalMs: LOOP_MS,
        pass,
        onError: (error) =>
          deps.log.error(
            { event: "loop.failed", loop: "webhook", ...errorForLog(error) },
            "a delivery pass failed; it goes on at the next interval",
          ),
      });
    },
    async stopped() {
      const last = loop;
      loop = null;
      await last?.stop();
      await work.idle();
      await sender.close();
    },
  };
});
