import { SpanKind, SpanStatusCode, TraceFlags, type HrTime, type SpanContext } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes, type Resource } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { MS_PER_SECOND } from "../time/clock.ts";
import type { FinishedSpan, SpanExporter } from "./span-queue.ts";
import { SPANS } from "./spans.ts";

/** What the process is called in its spans. */
export interface TracedProcess {
  namespace: string;
  node: string;
}

const PATH = "/v1/traces";
const TIMEOUT_MS = 10_000;
const NS_PER_MS = 1_000_000;
const KINDS = { internal: SpanKind.INTERNAL, server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;
const SCOPE = { name: "callagent" };

const timeOf = (ms: number): HrTime => [Math.floor(ms / MS_PER_SECOND), Math.round((ms % MS_PER_SECOND) * NS_PER_MS)];
const contextOf = (traceId: string, spanId: string): SpanContext => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
});

/** A span as OpenTelemetry's own exporter reads it. */
function readable(span: FinishedSpan, resource: Resource): ReadableSpan {
  const { name, trace_id, span_id, parent_id, began, ended, attributes, error, links } = span;
  const [from, to] = [began.getTime(), Math.max(began.getTime(), ended.getTime())];
  return {
    name,
    kind: KINDS[SPANS[name].kind],
    spanContext: () => contextOf(trace_id, span_id),
    ...(parent_id === null ? {} : { parentSpanContext: contextOf(trace_id, parent_id) }),
    startTime: timeOf(from),
    endTime: timeOf(to),
    duration: timeOf(to - from),
    status: error === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error },
    attributes: Object.fromEntries(Object.entries(attributes).map(([word, value]) => [`callagent.${word}`, value])),
    links: links.map((link) => ({ context: contextOf(link.trace_id, link.span_id) })),
    events: [],
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Sends spans by OTLP over HTTP in JSON (OpenTelemetry Protocol 1.x), by OpenTelemetry's exporter, which repeats a request that the collector puts off. `url`: the collector's address, without a path. */
export function otlpExporter(url: string, { namespace, node }: TracedProcess): SpanExporter {
  const exporter = new OTLPTraceExporter({ url: `${url}${PATH}`, timeoutMillis: TIMEOUT_MS });
  const resources = new Map<string, Resource>();
  const resourceOf = (by: string): Resource => {
    const known =
      resources.get(by) ??
      resourceFromAttributes({
        "service.name": `callagent-${by}`,
        "service.namespace": namespace,
        "service.instance.id": node,
      });
    resources.set(by, known);
    return known;
  };
  return {
    export: (spans) =>
      new Promise((resolve, reject) => {
        exporter.export(
          spans.map((span) => readable(span, resourceOf(span.by))),
          ({ code, error }) => {
            if (code === 0) resolve();
            else reject(error ?? new Error("the collector did not take them"));
          },
        );
      }),
    close: () => exporter.shutdown(),
  };
}
