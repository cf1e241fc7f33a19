import type { Model } from "mongoose";
import type { ServiceGround } from "../../shared/bus.ts";
import { plusMs } from "../../shared/clock.ts";
import { errorForLog } from "../../shared/log.ts";
import type { DeliveryDoc } from "./deliveries.model.ts";
import { record, take } from "./delivery-machine.ts";
import type { Secrets } from "./secrets.repository.ts";
import { TOTAL_TIMEOUT_MS, type Sender } from "./sending.ts";
import { sign } from "./signing.ts";
import { verdict } from "./verdict.ts";

/** Requests under way to one host, so that a slow receiver can't hold the rest up. */
export const MAX_PER_HOST = 10;
/** Requests under way in all. */
export const MAX_IN_FLIGHT = 200;
const BATCH = 100;
const LEASE_MS = TOTAL_TIMEOUT_MS + 5000;

/** Takes due deliveries and sends them, within the bounds per host and in all. */
export interface Delivering { pass(): Promise<boolean>; /** Resolves when nothing is under way. */ idle(): Promise<void> }

/** The delivering loop's body. `onRoom` is called whenever a request ended. */
export function delivering(ground: ServiceGround, model: Model<DeliveryDoc>, secrets: Secrets, sender: Sender, onRoom: () => void): Delivering {
  const underWay = new Set<Promise<void>>();
  const perHost = new Map<string, number>();
  const count = (host: string, by: number): void => {
    const n = (perHost.get(host) ?? 0) + by;
    if (n > 0) perHost.set(host, n); else perHost.delete(host);
  };

  async function deliver(d: DeliveryDoc): Promise<void> {
    const started = ground.clock.monotonicMs();
    const now = ground.clock.now();
    const timestampSeconds = Math.floor(now.getTime() / 1000);
    const signature = sign(await secrets.validFor(d), d._id, timestampSeconds, d.body);
    const result = await sender.send({ url: d.url, id: d._id, timestampSeconds, signature, body: d.body });
    const decided = verdict(result, d.try_count - (d.tries_before ?? 0), ground.clock.now(), ground.random());
    const move = record(d, result, decided, now, Math.round(ground.clock.monotonicMs() - started));
    await model.updateOne(move.filter, move.update);
    const how = { lead_id: d.lead_id, delivery_id: d._id, tries: d.try_count, status: result.status };
    if (decided.kind === "delivered") ground.log.info({ event: "webhook.delivered", ...how }, "webhook delivered");
    else ground.log.warn({ event: `webhook.${decided.kind}`, ...how, error: result.status === null ? result.error : null, ...(decided.kind === "again" ? { at: decided.at } : {}) }, "webhook not delivered");
  }

  async function start(d: DeliveryDoc): Promise<void> {
    const move = take(d, plusMs(ground.clock.now(), LEASE_MS));
    count(d.host, 1);
    const taken = await model.findOneAndUpdate(move.filter, move.update, { returnDocument: "after" }).lean<DeliveryDoc>().catch((error: unknown) => { count(d.host, -1); throw error; });
    if (!taken) { count(d.host, -1); return; }
    const running = deliver(taken)
      .catch((error: unknown) => ground.log.error({ event: "webhook.failed", delivery_id: d._id, ...errorForLog(error) }, "a try broke off; the lease brings it back"))
      .finally(() => { count(d.host, -1); underWay.delete(running); onRoom(); });
    underWay.add(running);
  }

  return {
    async pass() {
      const room = Math.min(BATCH, MAX_IN_FLIGHT - underWay.size);
      if (room <= 0) return false;
      const full = [...perHost].filter(([, n]) => n >= MAX_PER_HOST).map(([host]) => host);
      const due = await model.find({ next_try_at: { $lte: ground.clock.now() }, ...(full.length > 0 ? { host: { $nin: full } } : {}) }).sort({ next_try_at: 1 }).limit(room).lean<DeliveryDoc[]>();
      let started = 0;
      for (const d of due) {
        if ((perHost.get(d.host) ?? 0) >= MAX_PER_HOST) continue;
        await start(d);
        started++;
      }
      return started > 0 && due.length === room;
    },
    async idle() { await Promise.all(underWay); },
  };
}
