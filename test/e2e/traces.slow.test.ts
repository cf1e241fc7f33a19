import { createServer } from "node:http";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { callee, startPushing } from "../../local/harness/lead-pusher.ts";
import { until } from "../../local/harness/stage.ts";

const START_MS = 90_000;
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CLIENT = "b7ad6b7169203331";

/** A span as OTLP writes it in JSON, as far as the test looks at it. */
interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: { stringValue?: string } }[];
}
interface OtlpRequest {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] };
    scopeSpans: { spans: OtlpSpan[] }[];
  }[];
}

/** Takes spans as a collector does. */
async function startCollector() {
  const spans: (OtlpSpan & { service: string })[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    bodies.push(Buffer.concat(parts).toString());
    const { resourceSpans } = JSON.parse(bodies.at(-1) ?? "{}") as OtlpRequest;
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === "service.name")?.value.stringValue ?? "";
      spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, service }))));
    }
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { spans, bodies, url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

describe("the trace of a lead", () => {
  let product: Product;
  let collector: Awaited<ReturnType<typeof startCollector>>;
  beforeAll(async () => {
    collector = await startCollector();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: "0" };
    product = await startProduct({ env, retryOffsetSeconds: 1 });
  }, START_MS);
  afterAll(async () => {
    await product?.stop();
    collector?.close();
  }, START_MS);

  test("goes on from the client's, over two attempts and four services, to the receiver of its report, and names nobody", async () => {
    const { push } = await startPushing(product);
    const untraced = await push(callee(1, "01"));
    // one that is none is passed over, and costs nobody a lead
    await push(callee(3, "01"), { traceparent: "rubbish", report: false });
    await expect(push(callee(4, "01"), { traceparent: "0".repeat(513) })).rejects.toMatchObject({ status: 422 });
    const lead_id = await push(callee(2, "08"), { traceparent: `00-${TRACE}-${CLIENT}-01` });
    const delivered = await until("the reports", () => {
      const both = product.sink.delivered.filter((d) => [lead_id, untraced].includes(d.lead_id));
      return Promise.resolve(both.length === 2 ? both : undefined);
    });
    const of = (name: string) => collector.spans.filter((span) => span.name === name);
    await until("the spans", () => Promise.resolve(of("webhook.try").length > 0 || undefined));

    expect(new Set(collector.spans.map((span) => span.traceId))).toEqual(new Set([TRACE]));
    const names = collector.spans.map(({ name, service }) => `${service} ${name}`).toSorted();
    expect(names).toEqual([
      "callagent-conversation conversation",
      "callagent-dialer call",
      "callagent-dialer call",
      "callagent-leads lead.attempt",
      "callagent-leads lead.attempt",
      "callagent-leads lead.finished",
      "callagent-leads lead.push",
      "callagent-leads lead.queued",
      "callagent-leads lead.queued",
      "callagent-webhook webhook.try",
    ]);
    const ids = new Set([CLIENT, ...collector.spans.map(({ spanId }) => spanId)]);
    expect(ids.size).toBe(collector.spans.length + 1);
    expect(collector.spans.filter(({ parentSpanId = "" }) => !ids.has(parentSpanId))).toEqual([]);
    expect(of("lead.push")[0]?.parentSpanId).toBe(CLIENT);
    const [conversation] = of("conversation");
    expect(of("call").map(({ spanId }) => spanId)).toContain(conversation?.parentSpanId);
    for (const { startTimeUnixNano, endTimeUnixNano } of collector.spans)
      expect(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano)).toBe(true);

    const sent = delivered.find((d) => d.lead_id === lead_id);
    expect(sent?.traceparent).toBe(`00-${TRACE}-${of("webhook.try")[0]?.spanId}-01`);
    expect(delivered.find((d) => d.lead_id === untraced)?.traceparent).toBeNull();
    const lead = (span: OtlpSpan) => span.attributes.find(({ key }) => key === "callagent.lead_id")?.value.stringValue;
    expect(new Set(collector.spans.map(lead))).toEqual(new Set([lead_id]));
    expect(collector.bodies.join("")).not.toMatch(/\+?1212\d{7}|Lindqvist|NW-1/);
  });
});
