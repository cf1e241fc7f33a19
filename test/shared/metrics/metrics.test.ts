import { atZero, METRICS, seriesOf } from "../../../shared/metrics/catalogue.ts";
import type { Metric } from "../../../shared/metrics/metric.ts";
import { createMetrics } from "../../../shared/metrics/metrics.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const lines = (text: string, name: string): string[] =>
  text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));

describe("the metrics of a process", () => {
  test("a counter counts, and a value that its label does not list is counted as other", async () => {
    const metrics = createMetrics("leads", systemClock);
    metrics.count("callagent_bus_request_errors_total", { action: "leads.push", code: "BUSY" });
    metrics.count("callagent_bus_request_errors_total", { action: "leads.push", code: "BUSY" }, 2);
    metrics.count("callagent_bus_request_errors_total", { action: "+14155550100", code: "tenant-7" });
    expect(lines(await metrics.text(), "callagent_bus_request_errors_total")).toEqual([
      'callagent_bus_request_errors_total{action="leads.push",code="BUSY",process="leads"} 3',
      'callagent_bus_request_errors_total{action="other",code="other",process="leads"} 1',
    ]);
  });

  test("a histogram has its bounds", async () => {
    const metrics = createMetrics("leads", systemClock);
    metrics.observe("callagent_bus_message_bytes", { packet: "REQ", direction: "sent" }, 5000);
    const text = await metrics.text();
    expect(text).toContain(
      'callagent_bus_message_bytes_bucket{le="4096",process="leads",packet="REQ",direction="sent"} 0',
    );
    expect(text).toContain(
      'callagent_bus_message_bytes_bucket{le="16384",process="leads",packet="REQ",direction="sent"} 1',
    );
    expect(text).toContain('callagent_bus_message_bytes_sum{process="leads",packet="REQ",direction="sent"} 5000');
  });

  test("a gauge is read when it is asked for; one that throws is left out and counted", async () => {
    const metrics = createMetrics("leads", systemClock);
    let value = 1;
    metrics.gauge("callagent_ready", () => [{ labels: {}, value: value++ }]);
    metrics.gauge("callagent_bus_calls_active", () => {
      throw new Error("the database is away");
    });
    expect(lines(await metrics.text(), "callagent_ready")).toEqual(['callagent_ready{process="leads"} 1']);
    const text = await metrics.text();
    expect(lines(text, "callagent_ready")).toEqual(['callagent_ready{process="leads"} 2']);
    expect(lines(text, "callagent_bus_calls_active")).toEqual([]);
    expect(Number(lines(text, "callagent_metrics_unread_total")[0]?.split(" ")[1])).toBeGreaterThan(0);
  });

  test("a gauge that is not read in time holds nobody up", async () => {
    const clock = virtualClock();
    const metrics = createMetrics("leads", clock);
    metrics.gauge("callagent_ready", () => new Promise(() => undefined));
    metrics.gauge("callagent_bus_calls_active", () => [{ labels: {}, value: 4 }]);
    const asked = metrics.text();
    await clock.advance(0);
    await clock.advance(3000);
    expect(lines(await asked, "callagent_bus_calls_active")).toEqual(['callagent_bus_calls_active{process="leads"} 4']);
  });

  test("no metric has more series than a Prometheus bears, and small counters stand at zero from the start", async () => {
    // those of errors by action and code, of which each comes with its first error only, grow with the actions
    for (const [name, metric] of Object.entries<Metric>(METRICS))
      expect([name, seriesOf(metric) <= 16_000]).toEqual([name, true]);
    expect(atZero(METRICS.callagent_bus_request_errors_total)).toEqual([]);
    expect(lines(await createMetrics("leads", systemClock).text(), "callagent_metrics_unread_total")).toEqual([
      'callagent_metrics_unread_total{process="leads"} 0',
    ]);
  });
});
