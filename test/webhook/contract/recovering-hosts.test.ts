import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { randomUUID } from "node:crypto";
import webhook from "../../../services/webhook/webhook.service.ts";
import { MAX_PER_RECEIVER } from "../../../services/webhook/hosts/host-slots.ts";
import { systemClock, type Clock } from "../../../shared/time/clock.ts";
import { after, setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

/** A receiver on a real socket that answers 503 while `ill`. */
async function receiver() {
  const state = { ill: true, requests: 0, underWay: 0, most: 0 };
  const server: Server = createServer((request, response) => {
    state.requests++;
    state.most = Math.max(state.most, ++state.underWay);
    request.resume().on("end", () => {
      response.writeHead(state.ill ? 503 : 204).end(() => {
        state.underWay--;
      });
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    state,
    url,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const staged = (clock: Clock): Promise<Stage> =>
  setStage({
    clock,
    env: { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true" },
    services: [webhook, standIn("merchants", {})],
  });

/** Hands over reports for an address; the ids of their leads. */
async function enqueue(stage: Stage, url: string, count: number): Promise<string[]> {
  const reports = Array.from({ length: count }, () => ({
    lead_id: randomUUID(),
    reseller_id: "11111111-1111-4111-8111-111111111111",
    merchant_id: null,
    url,
    occurred_at: new Date().toISOString(),
    data: {},
  }));
  await stage.bus.call("webhook.enqueueMany", { reports });
  return reports.map((r) => r.lead_id);
}
const deliveryOf = async (stage: Stage, lead_id: string) =>
  (await stage.bus.call("webhook.deliveries", { lead_id })).deliveries[0]!;

const ILL_MS = 15_000;
const FLOWS_WITHIN_MS = 10_000;

test("in real time: a receiver that is ill for 15 s has all of its events within 10 s of being well", async () => {
  const [stage, sink] = [await staged(systemClock), await receiver()];
  try {
    const ids = await enqueue(stage, sink.url, 40);
    await after(ILL_MS);
    const whileIll = sink.state.requests;
    expect(whileIll).toBeLessThanOrEqual(MAX_PER_RECEIVER + 4 + 5);
    sink.state.ill = false;
    const well = performance.now();
    for (const id of ids)
      await until("the event to be delivered", async () =>
        (await deliveryOf(stage, id)).state === "delivered" ? true : undefined,
      );
    expect(performance.now() - well).toBeLessThan(FLOWS_WITHIN_MS);
    expect(sink.state.most).toBeLessThanOrEqual(MAX_PER_RECEIVER);
    expect(sink.state.requests - whileIll).toBe(40);
  } finally {
    await stage.stop();
    sink.close();
  }
});

test("probes cost a delivery no try of its plan: a host that is down for an hour leaves it six tries of ten, and one that is down for three days ends it", async () => {
  const clock = virtualClock(new Date());
  const [stage, sink] = [await staged(clock), await receiver()];
  const [id = ""] = await enqueue(stage, sink.url, 1);
  /** Lets time pass in steps, each of them until the try that it makes due is written down. */
  const pass = async (steps: number, stepMs: number): Promise<void> => {
    for (let i = 0; i < steps; i++) {
      await clock.advance(stepMs);
      await until("the try to be written down", async () => {
        if (clock.nextWaitMs() > 1000) return undefined;
        const { state, next_try_at } = await deliveryOf(stage, id);
        return state !== "pending" || Date.parse(next_try_at ?? "") <= clock.now().getTime() + 6000 || undefined;
      });
    }
  };
  try {
    await pass(360, 10_000);
    expect((await deliveryOf(stage, id)).tries).toHaveLength(4); // at once, after 5 s, 5 min and 35 min
    expect(sink.state.requests).toBeGreaterThan(300);
    for (let hours = 0; hours < 90 && (await deliveryOf(stage, id)).state === "pending"; hours++)
      await pass(1, 3_600_000);
    expect(await deliveryOf(stage, id)).toMatchObject({ state: "exhausted", tries: { length: 10 } });
  } finally {
    await stage.stop();
    sink.close();
  }
});
