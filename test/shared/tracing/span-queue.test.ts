import { rootLog } from "../../../shared/process/log.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { NO_METRICS, type Metrics } from "../../../shared/metrics/metrics.ts";
import {
  BATCH_MS,
  BATCH_SPANS,
  MAX_WAITING,
  SpanQueue,
  type FinishedSpan,
} from "../../../shared/tracing/span-queue.ts";
import { createTracer, headerOf, type NewTrace } from "../../../shared/tracing/tracer.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CLIENT = `00-${TRACE}-b7ad6b7169203331-01`;
const AT = new Date("2026-11-27T10:00:00.000Z");
const SPAN = { began: AT, ended: AT, attributes: { lead_id: "l" } };
let made = 0;
const ids = { hex: (bytes: number) => (++made).toString(16).padStart(2 * bytes, "0") };

/** A queue whose collector answers as the test says. */
function queueWith(collector: () => Promise<void>) {
  const clock = virtualClock();
  const counted: Record<string, number> = {};
  const metrics: Metrics = {
    ...NO_METRICS,
    count: (_name, labels, by = 1) => {
      const { result } = { result: "", ...labels };
      counted[result] = (counted[result] ?? 0) + by;
    },
  };
  const requests: number[] = [];
  const queue = new SpanQueue({
    clock,
    log: rootLog(readEnv({ NODE_ENV: "test", LOG_LEVEL: "silent" })),
    metrics,
    exporter: () =>
      Promise.resolve({
        async export(spans) {
          requests.push(spans.length);
          await collector();
        },
        close: () => Promise.resolve(),
      }),
  });
  const add = (n: number): void => {
    const span: FinishedSpan = { ...SPAN, name: "call", by: "dialer", trace_id: TRACE, span_id: `${n}`, parent_id: null, links: [] }; // prettier-ignore
    for (let i = 0; i < n; i++) queue.add(span);
  };
  return { clock, queue, add, counted, requests };
}

describe("spans on their way to the collector", () => {
  test("go together: what comes within a second, and at most 512 in a request", async () => {
    const { clock, add, counted, requests } = queueWith(() => Promise.resolve());
    add(3);
    await clock.advance(BATCH_MS - 1);
    expect(requests).toEqual([]);
    add(BATCH_SPANS);
    await clock.advance(1);
    await clock.advance(BATCH_MS);
    expect([requests, counted]).toEqual([[BATCH_SPANS, 3], { sent: BATCH_SPANS + 3 }]);
  });

  test("a collector that hangs costs no memory beyond the bound: what does not fit is dropped and counted", async () => {
    const { clock, add, counted, requests } = queueWith(() => new Promise(() => undefined));
    add(1);
    await clock.advance(BATCH_MS);
    add(MAX_WAITING + 100);
    expect([requests, counted]).toEqual([[1], { dropped: 100 }]);
  });

  test("what the collector refuses is counted, and the next ones are sent", async () => {
    let answers = 0;
    const { clock, add, counted, requests } = queueWith(() =>
      ++answers === 1 ? Promise.reject(new Error("503")) : Promise.resolve(),
    );
    add(2);
    await clock.advance(BATCH_MS);
    add(5);
    await clock.advance(BATCH_MS);
    expect([requests, counted]).toEqual([[2, 5], { failed: 2, sent: 5 }]);
  });

  test("a process that ends sends what waits at once", async () => {
    const { queue, add, requests } = queueWith(() => Promise.resolve());
    add(2);
    await queue.close();
    expect(requests).toEqual([2]);
  });
});

describe("the tracer of a service", () => {
  const traced = (ratio = 1) => {
    const sent: FinishedSpan[] = [];
    return { sent, tracer: createTracer("leads", ratio, ids, (span) => sent.push(span)) };
  };

  test("a push with a traceparent goes on in that trace; a row of many has its own, with a link", () => {
    const { sent, tracer } = traced(0);
    for (const joins of [true, false]) {
      const begun = tracer.begin({ given: CLIENT, joins });
      if (begun) tracer.root(begun, { ...SPAN, name: "lead.push" });
    }
    expect(sent[0]).toMatchObject({ trace_id: TRACE, parent_id: "b7ad6b7169203331", links: [] });
    expect(sent[1]).toMatchObject({ parent_id: null, links: [{ trace_id: TRACE, span_id: "b7ad6b7169203331" }] });
    expect(sent[1]?.trace_id).not.toBe(TRACE);
  });

  test("the client's word on sampling counts, else the share; a header that is none counts as none", () => {
    const begins = (ratio: number, given?: string): boolean =>
      traced(ratio).tracer.begin({ given, joins: true }) !== undefined;
    expect([begins(0), begins(1), begins(0, CLIENT), begins(1, CLIENT.replace(/01$/, "00"))]).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect([begins(0, "rubbish"), begins(1, "rubbish")]).toEqual([false, true]);
  });

  test("a span belongs to the push, or to the one it names; a lead without a trace has none", () => {
    const { sent, tracer } = traced();
    const { trace }: NewTrace = tracer.begin({ joins: true }) ?? { trace: "", client: null };
    tracer.span(trace, { ...SPAN, name: "lead.attempt", key: "attempt l.1" });
    tracer.span(trace, { ...SPAN, name: "call", key: "call l.1", parent: "attempt l.1" });
    tracer.span(undefined, { ...SPAN, name: "call", key: "call l.1" });
    expect(sent).toHaveLength(2);
    expect(sent[0]?.parent_id).toBe(trace.split("-")[2]);
    expect(sent[1]?.parent_id).toBe(sent[0]?.span_id);
    expect(headerOf(trace, "call l.1")).toBe(`00-${sent[1]?.trace_id}-${sent[1]?.span_id}-01`);
    expect(headerOf(undefined, "call l.1")).toBeUndefined();
  });
});
