import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { MongoClient } from "mongodb";
import webhook from "../../../services/webhook/webhook.service.ts";
import { setStage, standIn, until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

/** A host that several tenants' webhooks share, as those of automation clouds and chat hooks: the service on real sockets, its clock moved by hand. */
const R = "11111111-1111-4111-8111-111111111111";
const [A, B] = ["22222222-2222-4222-8222-00000000000a", "22222222-2222-4222-8222-00000000000b"];

test("one merchant's failing path stops no other tenant's on the same host, and goes on being probed alone", async () => {
  const clock = virtualClock(new Date());
  const asked: { path: string; id: string }[] = [];
  const server = createServer((request, response) => {
    asked.push({ path: request.url ?? "", id: String(request.headers["webhook-id"]) });
    request.resume().on("end", () => response.writeHead(request.url === "/fail" ? 500 : 204).end());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stage = await setStage({
    clock,
    env: { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true" },
    services: [webhook, standIn("merchants", {})],
  });
  const client = await MongoClient.connect(stage.uri);
  const deliveries = client.db().collection<{ _id: string }>("deliveries");
  const enqueue = async (path: string, merchant_id: string | null, count: number): Promise<string[]> => {
    const reports = Array.from({ length: count }, () => ({
      lead_id: randomUUID(),
      reseller_id: R,
      merchant_id,
      url: `http://${host}${path}`,
      occurred_at: clock.now().toISOString(),
      data: {},
    }));
    await stage.bus.call("webhook.enqueueMany", { reports });
    return reports.map((r) => r.lead_id);
  };
  const times = (path: string): number => asked.filter((one) => one.path === path).length;
  const pausedUntil = async (lead_id: string) =>
    (await stage.bus.call("webhook.deliveries", { lead_id })).deliveries[0]?.host_paused_until;
  const delivered = (count: number) =>
    until("the deliveries", async () => {
      if ((await deliveries.countDocuments({ state: "delivered" })) === count) return true;
      if (clock.nextWaitMs() <= 1000) await clock.advance(10);
      return undefined;
    });

  try {
    const failing = await enqueue("/fail", A, 14);
    const last = failing.at(-1) ?? "";
    await until("the pause", () => pausedUntil(last));
    const began = clock.now().getTime();
    const others = [...(await enqueue("/own", B, 30)), ...(await enqueue("/reseller", null, 3))];
    await delivered(33);
    expect(clock.now().getTime() - began).toBeLessThan(5000);
    expect([times("/own"), times("/reseller")]).toEqual([30, 3]);

    // good answers to others are no sign that the path is well: it is probed by one request after each pause
    const before = times("/fail");
    for (let s = 0; s < 30; s++) await clock.advance(1000);
    await until("a probe", () => times("/fail") > before || undefined);
    expect(await pausedUntil(last)).toBeDefined();
    expect(times("/fail") - before).toBeLessThanOrEqual(8);

    // the same for what a process finds in the database: another one wrote it, and died
    const ids = others.map((id) => `msg_${id}`);
    await deliveries.updateMany({ _id: { $in: ids } }, { $set: { state: "pending", next_try_at: clock.now() } });
    await delivered(33);
    expect([times("/own"), times("/reseller")]).toEqual([60, 6]);
    expect(await deliveries.countDocuments({ state: "pending" })).toBe(14);
  } finally {
    await client.close();
    await stage.stop();
    server.closeAllConnections();
    server.close();
  }
});
