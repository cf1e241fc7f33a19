import { randomUUID } from "node:crypto";
import { ServiceBroker, type ServiceSchema } from "moleculer";
import { BusTransporter } from "../../../shared/bus/bus-transporter.ts";
import { BusValidator } from "../../../shared/bus/bus-validator.ts";
import { drainOf } from "../../../shared/bus/drain.ts";
import { busOf } from "../../../shared/bus/bus.ts";
import { healthPortOf, monitor } from "../../../shared/metrics/monitor.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { provideDeps } from "../../../shared/process/process-deps.ts";
import { randomIds } from "../../../shared/ids.ts";
import { rootLog } from "../../../shared/process/log.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { fail } from "../../../shared/errors.ts";
import { standIn, until } from "../../../local/harness/stage.ts";
import { startNats } from "../../../local/harness/nats-server.ts";
import { startTcpProxy, through, type TcpProxy } from "../../../local/harness/tcp-proxy.ts";

const namespace = `monitor-${randomUUID()}`;

function broker(nodeID: string, url: string, schema: ServiceSchema | null, metrics: boolean): ServiceBroker {
  const env = readEnv({ NODE_ENV: "test", LOG_LEVEL: "silent", ...(metrics ? { METRICS_PORT: "0" } : {}) });
  const log = rootLog(env);
  const made = new ServiceBroker({
    namespace,
    nodeID,
    transporter: new BusTransporter({ servers: url }, { log, clock: systemClock, strict: false }),
    validator: new BusValidator(),
    middlewares: [monitor],
    logger: false,
  });
  provideDeps(made, { env, log, clock: systemClock, ids: randomIds, random: Math.random });
  if (schema) made.createService(schema);
  return made;
}

describe("a process with a health port", () => {
  let nats: Awaited<ReturnType<typeof startNats>>;
  let proxy: TcpProxy;
  let callee: ServiceBroker;
  let caller: ServiceBroker;
  const at = async (path: string): Promise<{ status: number; text: string }> => {
    const answer = await fetch(`${healthPortOf(callee)?.url}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
  beforeAll(async () => {
    nats = await startNats();
    proxy = await startTcpProxy(nats.url);
    const leads = standIn("leads", {
      reachable: () => ({}),
      parked: () => fail("BUSY", "too much to do"),
    });
    callee = broker("callee", through(proxy, nats.url), leads, true);
    caller = broker("caller", nats.url, null, false);
    await Promise.all([callee.start(), caller.start()]);
    await caller.waitForServices("leads", 15_000);
  });
  afterAll(async () => {
    await Promise.all([caller?.stop(), callee?.stop()]);
    await proxy?.close();
    await nats?.stop();
  });

  test("counts requests, errors and messages of the bus", async () => {
    await busOf(caller).call("leads.reachable", {});
    await expect(busOf(caller).call("leads.parked", {})).rejects.toThrow("too much to do");
    const { text } = await at("/metrics");
    for (const line of [
      'callagent_bus_request_seconds_count{process="all",action="leads.reachable",result="ok"} 1',
      'callagent_bus_request_seconds_count{process="all",action="leads.parked",result="error"} 1',
      'callagent_bus_request_errors_total{action="leads.parked",code="BUSY",process="all"} 1',
      'callagent_bus_message_bytes_count{process="all",packet="REQ",direction="received"} 2',
      'callagent_bus_message_bytes_count{process="all",packet="RES",direction="sent"} 2',
      'callagent_ready{process="all"} 1',
    ])
      expect(text.split("\n")).toContain(line);
  });

  test("one that was given no port has none", () => expect(healthPortOf(caller)).toBeNull());

  test("is not ready while the bus is away, and says so", async () => {
    expect((await at("/ready")).status).toBe(200);
    await proxy.refuse(true);
    proxy.reset();
    const { text } = await until("the bus to be missed", async () => {
      const found = await at("/ready");
      return found.status === 503 ? found : undefined;
    });
    expect(JSON.parse(text)).toEqual({
      status: "not_ready",
      reasons: [{ part: "bus", reason: "the NATS server is away" }],
    });
    await proxy.heal();
    await until("the bus to be back", async () => ((await at("/ready")).status === 200 ? true : undefined));
    expect((await at("/live")).status).toBe(200);
  });

  test("is not ready from SIGTERM on, and closes its port after its services", async () => {
    const url = healthPortOf(callee)?.url;
    await drainOf(callee).run();
    expect(JSON.parse((await at("/ready")).text)).toEqual({
      status: "not_ready",
      reasons: [{ part: "process", reason: "it was told to end, and takes no new work" }],
    });
    await callee.stop();
    await expect(fetch(`${url}/live`)).rejects.toThrow();
  });
});
