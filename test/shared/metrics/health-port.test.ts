import { createMetrics, NO_METRICS } from "../../../shared/metrics/metrics.ts";
import { openHealthPort, type HealthPort, type HealthPortDeps } from "../../../shared/metrics/health-port.ts";
import { systemClock } from "../../../shared/time/clock.ts";

const open: HealthPort[] = [];
afterEach(async () => {
  for (const port of open.splice(0)) await port.close();
});
const opened = async (deps: Partial<HealthPortDeps>): Promise<HealthPort> => {
  const port = await openHealthPort("127.0.0.1", 0, { metrics: NO_METRICS, readiness: { faults: () => [] }, ...deps });
  open.push(port);
  return port;
};

describe("the health port", () => {
  test("is live while it answers, and ready or not with its reasons", async () => {
    const faults: { part: string; reason: string }[] = [];
    const { url } = await opened({ readiness: { faults: () => faults } });
    const ready = async () => {
      const answer = await fetch(`${url}/ready`);
      return { status: answer.status, body: await answer.json() };
    };
    expect(await ready()).toEqual({ status: 200, body: { status: "ready" } });
    faults.push({ part: "leads", reason: "the database is away" });
    expect(await ready()).toEqual({
      status: 503,
      body: { status: "not_ready", reasons: [{ part: "leads", reason: "the database is away" }] },
    });
    expect((await fetch(`${url}/live`)).status).toBe(200);
  });

  test("gives the metrics in Prometheus' text", async () => {
    const { url } = await opened({ metrics: createMetrics("leads", systemClock) });
    const answer = await fetch(`${url}/metrics?x=1`);
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(await answer.text()).toContain('nodejs_eventloop_lag_p99_seconds{process="leads"}');
  });

  test("knows three paths and two methods", async () => {
    const { url } = await opened({});
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/live`, { method: "POST" })).status).toBe(405);
    const head = await fetch(`${url}/ready`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("whose port is taken says so", async () => {
    const { url } = await opened({});
    await expect(
      openHealthPort("127.0.0.1", Number(new URL(url).port), { metrics: NO_METRICS, readiness: { faults: () => [] } }),
    ).rejects.toThrow(/EADDRINUSE/);
  });
});
