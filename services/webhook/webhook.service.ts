import { service } from "../../shared/bus.ts";
import { fail, isDuplicateKey } from "../../shared/errors.ts";
import { errorForLog } from "../../shared/log.ts";
import { startLoop, type Loop } from "../../shared/loop.ts";
import { refusalOf } from "../../shared/egress-address.ts";
import { deliverySchema, toDelivery, type DeliveryDoc } from "./deliveries.model.ts";
import { delivering } from "./delivering.ts";
import { replay } from "./replaying.ts";
import { readSecret, rotateSecret } from "./secret-owners.ts";
import { secretsRepository } from "./secrets.repository.ts";
import { secretsSchema } from "./secrets.model.ts";
import { httpSender } from "./sending.ts";

const DELIVERY_LIST_BOUND = 100;
const LOOP_MS = 1000;

/** The reporting webhook: Standard Webhooks 1.0, signed, retried for three days, listed (decisions.md, Webhook). */
export default service("webhook", (ground) => {
  const { env, clock, ids } = ground;
  const model = ground.store().model<DeliveryDoc>("deliveries", deliverySchema);
  const secrets = secretsRepository(ground.store().model("webhook_secrets", secretsSchema), ids, clock);
  const policy = { allow_http: env.WEBHOOK_ALLOW_HTTP, allow_private: env.WEBHOOK_ALLOW_PRIVATE };
  const sender = httpSender(policy, clock);
  let loop: Loop | null = null;
  const work = delivering(ground, model, secrets, sender, () => loop?.nudge());

  return {
    actions: {
      async enqueue({ lead_id, reseller_id, merchant_id, url, occurred_at, data }) {
        const delivery_id = `msg_${lead_id}`;
        const body = JSON.stringify({ type: "lead.finished", timestamp: occurred_at, data });
        const now = clock.now();
        await model.create({
          _id: delivery_id, lead_id, reseller_id, merchant_id, url, host: URL.canParse(url) ? new URL(url).host : "", body,
          state: "pending", try_count: 0, next_try_at: now, tries: [], created_at: now,
        }).catch((error: unknown) => { if (!isDuplicateKey(error)) throw error; });
        loop?.nudge();
        return { delivery_id };
      },
      checkAddress({ url }) {
        const refusal = refusalOf(url, policy);
        if (refusal) fail("WEBHOOK_ADDRESS_REFUSED", `reporting_webhook_url can't be used: ${refusal}`, { errors: [{ path: "reporting_webhook_url", message: refusal }] });
        return {};
      },
      checkAddresses: ({ urls }) => ({ refusals: urls.map((url) => refusalOf(url, policy)) }),
      async deliveries({ lead_id }) {
        const found = await model.find({ lead_id: lead_id.toLowerCase() }).sort({ created_at: 1 }).limit(DELIVERY_LIST_BOUND).lean<DeliveryDoc[]>();
        return { deliveries: found.map(toDelivery) };
      },
      replay: async ({ lead_id }) => {
        const replayed = await replay(ground, model, lead_id.toLowerCase());
        loop?.nudge();
        return replayed;
      },
      secret: (params, { bus }) => readSecret(bus, secrets, params),
      rotateSecret: (params, { bus }) => rotateSecret(ground, bus, secrets, params),
    },
    started() {
      loop = startLoop({
        name: "webhook", clock, intervalMs: LOOP_MS, pass: () => work.pass(),
        onError: (error) => ground.log.error({ event: "loop.failed", loop: "webhook", ...errorForLog(error) }, "a delivery pass failed; it goes on at the next interval"),
      });
    },
    async stopped() {
      await loop?.stop();
      await work.idle();
      await sender.close();
    },
  };
});
