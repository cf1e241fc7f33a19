import { randomUUID } from "node:crypto";
import { ServiceBroker } from "moleculer";
import { connect, type NatsConnection } from "nats";
import { startNats, type NatsServer } from "../../../local/harness/nats-server.ts";
import { until } from "../../../local/harness/stage.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { BusTransporter, ownServices } from "../../../shared/bus/bus-transporter.ts";
import { codeOf } from "../../../shared/errors.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { rootLog } from "../../../shared/process/log.ts";

const NAMESPACE = "claims";
/** Longer than the test: what ends sooner was ended. */
const REQUEST_MS = 60_000;
/** A node that does not answer pings is given up after this. */
const PING_MS = 300;

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

  describe("on a bus", () => {
    let nats: NatsServer;
    let client: NatsConnection;
    let broker: ServiceBroker;
    /** A node tells what it runs. `instance`: its process. */
    const tell = (
      sender: string,
      names: string[],
      { own = "do", claimed, instance = randomUUID() }: { own?: string; claimed?: string; instance?: string } = {},
    ): void =>
      client.publish(`MOL-${NAMESPACE}.INFO`, JSON.stringify({
        ver: "5", sender, instanceID: instance, hostname: "h", ipList: [], config: {}, metadata: {}, seq: 1, client: { type: "nodejs", version: "0.15.2", langVersion: "24" },
        services: names.map((name) => ({ name, fullName: name, settings: {}, metadata: {}, actions: { [`${name}.${own}`]: { name: claimed ?? `${name}.${own}` } }, events: {} })),
      })); // prettier-ignore
    const names = (): string[] => broker.registry.getServiceList({ onlyAvailable: true }).map((s) => s.name);
    const known = (name: string) => until(name, () => (names().includes(name) ? true : undefined));
    beforeEach(async () => {
      nats = await startNats();
      client = await connect({ servers: nats.url });
      const log = rootLog(readEnv({ LOG_LEVEL: "silent" }));
      broker = new ServiceBroker({
        namespace: NAMESPACE,
        nodeID: "gateway.1",
        logger: false,
        internalServices: false,
        requestTimeout: REQUEST_MS,
        transporter: new BusTransporter({ servers: nats.url }, { log, clock: systemClock, strict: true }),
      });
      await broker.start();
    });
    afterEach(async () => {
      await broker.stop();
      await client.close();
      await nats.stop();
    });

    test("a node that claims another's service is sent none of its requests", async () => {
      tell("leads.evil", ["auth", "leads"]);
      tell("leads.worse", ["leads"], { own: "push", claimed: "auth.login" });
      tell("webhook.1", ["webhook"]);
      await known("webhook");
      expect([...new Set(names())].sort()).toEqual(["leads", "webhook"]);
      const actions = broker.registry.getActionList({ onlyAvailable: true }).map((a) => a.name);
      expect(actions.sort()).toEqual(["leads.do", "leads.push", "webhook.do"]);
    });

    test("nobody waits for a process that another one of its name has followed, and who asks that one does", async () => {
      const asked: string[] = [];
      client.subscribe(`MOL-${NAMESPACE}.REQ.webhook.1`, { callback: (_error, { subject }) => asked.push(subject) });
      // the server has it before a request comes on the other connection
      await client.flush();
      const ask = (): Promise<string> =>
        broker.call("webhook.do").then(
          () => "answered",
          (error: unknown) => codeOf(error),
        );
      const waits = "waits";
      const now = (asking: Promise<string>): Promise<string> =>
        Promise.race([asking, broker.ping("webhook.1", PING_MS).then(() => waits)]);
      tell("webhook.1", ["webhook"], { instance: "first" });
      await known("webhook");
      const first = ask();
      await until("the request", () => asked.length === 1 || undefined);
      // the same process tells of itself again
      tell("webhook.1", ["webhook"], { instance: "first" });
      expect(await now(first)).toBe(waits);
      tell("webhook.1", ["webhook"], { instance: "second" });
      expect(await first).toBe("TIMEOUT");
      const second = ask();
      await until("the request", () => asked.length === 2 || undefined);
      tell("leads.1", ["leads"]);
      await known("leads");
      expect(await now(second)).toBe(waits);
      tell("webhook.1", ["webhook"], { instance: "third" });
      expect(await second).toBe("TIMEOUT");
    });
  });
});
