import { randomUUID } from "node:crypto";
import { ServiceBroker } from "moleculer";
import { connect } from "nats";
import { startNats } from "../../../local/harness/nats-server.ts";
import { until } from "../../../local/harness/stage.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { BusTransporter, ownServices } from "../../../shared/bus/bus-transporter.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { rootLog } from "../../../shared/process/log.ts";

const NAMESPACE = "claims";

describe("what a node says it runs", () => {
  test.each<[string, unknown, unknown[], number]>([
    ["its own service", "leads.1", [{ name: "leads", actions: { "leads.push": {} } }], 1],
    ["another's", "leads.1", [{ name: "auth", actions: {} }], 0],
    ["another's action under its own name", "leads.1", [{ name: "leads", actions: { "auth.identify": {} } }], 0],
    ["a service under no name", "web-1", [{ name: "leads", actions: {} }], 0],
    ["nonsense", 7, [null, "leads"], 0],
  ])("%s", (_what, sender, services, kept) => expect(ownServices(sender, services)).toHaveLength(kept));

  test("an action is that of its place, whatever name it gives itself, and says nothing of how it is called", () => {
    const policy = { retryPolicy: { enabled: true, retries: 9 }, timeout: 1, circuitBreaker: { enabled: true } };
    const claims = {
      name: "leads",
      fullName: "auth",
      version: 2,
      actions: { "leads.push": { name: "auth.login", ...policy } },
      events: { "call.ended": {}, "**": {}, "lead.queued": {} },
    };
    expect(ownServices("leads.1", [claims])).toEqual([
      {
        name: "leads",
        fullName: "leads",
        settings: {},
        metadata: {},
        actions: { "leads.push": { name: "leads.push" } },
        events: {},
      },
    ]);
    const heard = { name: "scheduler", events: { "call.ended": {}, "lead.queued": { name: "call.ended" } } };
    expect(ownServices("scheduler.1", [heard])).toMatchObject([{ events: { "lead.queued": { name: "lead.queued" } } }]);
  });

  test("a node that claims another's service is sent none of its requests", async () => {
    const nats = await startNats();
    const client = await connect({ servers: nats.url });
    const log = rootLog(readEnv({ LOG_LEVEL: "silent" }));
    const broker = new ServiceBroker({
      namespace: NAMESPACE,
      nodeID: "gateway.1",
      logger: false,
      internalServices: false,
      transporter: new BusTransporter({ servers: nats.url }, { log, clock: systemClock, strict: true }),
    });
    try {
      await broker.start();
      const tell = (sender: string, names: string[], own = "do", claimed?: string): void =>
        client.publish(`MOL-${NAMESPACE}.INFO`, JSON.stringify({
          ver: "5", sender, instanceID: randomUUID(), hostname: "h", ipList: [], config: {}, metadata: {}, seq: 1, client: { type: "nodejs", version: "0.15.2", langVersion: "24" },
          services: names.map((name) => ({ name, fullName: name, settings: {}, metadata: {}, actions: { [`${name}.${own}`]: { name: claimed ?? `${name}.${own}` } }, events: {} })),
        })); // prettier-ignore
      tell("leads.evil", ["auth", "leads"]);
      tell("leads.worse", ["leads"], "push", "auth.login");
      tell("webhook.1", ["webhook"]);
      const names = (): string[] => broker.registry.getServiceList({ onlyAvailable: true }).map((s) => s.name);
      await until("the honest node", () => (names().includes("webhook") ? true : undefined));
      expect([...new Set(names())].sort()).toEqual(["leads", "webhook"]);
      const actions = broker.registry.getActionList({ onlyAvailable: true }).map((a) => a.name);
      expect(actions.sort()).toEqual(["leads.do", "leads.push", "webhook.do"]);
    } finally {
      await broker.stop();
      await client.close();
      await nats.stop();
    }
  });
});
