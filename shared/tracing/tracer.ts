import type { ServiceBroker } from "moleculer";
import type { ServiceName } from "../contracts/index.ts";
import type { Ids } from "../ids.ts";
import { metricsOf } from "../metrics/metrics.ts";
import { depsOf } from "../process/process-deps.ts";
import { traceRatio } from "./trace-variables.ts";
import { SpanQueue, type FinishedSpan } from "./span-queue.ts";
import type { Span } from "./spans.ts";
import { formatTraceparent, isChosen, parseTraceparent, spanIdOf } from "./traceparent.ts";

/** How a lead's trace begins. `given`: the traceparent of its push. `joins`: the lead goes on in that trace; else it has one of its own, with a link to it. */
export interface TraceStart {
  given?: string | undefined;
  joins: boolean;
}

/** The trace of a new lead. */
export interface NewTrace {
  /** What is kept with the lead and travels with what is done for it: the traceparent of its first span. */
  trace: string;
  /** The client's span, to which the first one belongs or links; null: there is none. */
  client: { trace_id: string; span_id: string } | null;
}

/** What a service tells of the leads that it works on. Nothing of it waits, and nothing throws. */
export interface Tracer {
  /** The trace of a new lead; undefined: it is not traced. */
  begin(start: TraceStart): NewTrace | undefined;
  /** Sends the first span of a lead's trace. */
  root(begun: NewTrace, span: Omit<Span, "key" | "parent">): void;
  /** Sends a span of a lead's trace; nothing where the lead has none. */
  span(trace: string | undefined, span: Span): void;
}

/** Sends nothing: where no collector is named. */
export const NO_TRACES: Tracer = { begin: () => undefined, root: () => undefined, span: () => undefined };

const TRACE_BYTES = 16;
const SPAN_BYTES = 8;

/** The traceparent of a request that a span stands for; undefined: the lead is not traced. A lead that another process traces goes by its trace here too. */
export function headerOf(trace: string | undefined, key: string): string | undefined {
  const at = trace === undefined ? null : parseTraceparent(trace);
  return at ? formatTraceparent({ ...at, span_id: spanIdOf(at.trace_id, key) }) : undefined;
}

/** The tracer of one service: spans go to `add`. `ratio`: the share of leads that are traced where the client's traceparent does not say. */
export function createTracer(
  by: ServiceName,
  ratio: number,
  ids: Pick<Ids, "hex">,
  add: (span: FinishedSpan) => void,
): Tracer {
  return {
    begin({ given, joins }) {
      const client = given === undefined ? null : parseTraceparent(given);
      const trace_id = client && joins ? client.trace_id : ids.hex(TRACE_BYTES);
      if (!(client ? client.sampled : isChosen(trace_id, ratio))) return undefined;
      return { trace: formatTraceparent({ trace_id, span_id: ids.hex(SPAN_BYTES), sampled: true }), client };
    },
    root({ trace, client }, span) {
      const at = parseTraceparent(trace);
      if (!at) return;
      const { trace_id, span_id } = at;
      const joined = client?.trace_id === trace_id;
      const links = client && !joined ? [{ trace_id: client.trace_id, span_id: client.span_id }] : [];
      add({ ...span, by, trace_id, span_id, parent_id: client && joined ? client.span_id : null, links });
    },
    span(trace, { key, parent, ...span }) {
      const at = trace === undefined ? null : parseTraceparent(trace);
      if (!at) return;
      const { trace_id } = at;
      const parent_id = parent === undefined ? at.span_id : spanIdOf(trace_id, parent);
      add({ ...span, by, trace_id, span_id: spanIdOf(trace_id, key), parent_id, links: [] });
    },
  };
}

const queues = new WeakMap<object, SpanQueue>();

/** The queue of a broker's process, which all of its services share; null: no collector is named. */
function queueOf(broker: ServiceBroker): SpanQueue | null {
  const { env, clock, log } = depsOf(broker);
  const url = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const known = queues.get(broker);
  if (known !== undefined || url === undefined) return known ?? null;
  const made = new SpanQueue({
    clock,
    log: log.child({ service: "traces" }),
    metrics: metricsOf(broker),
    // loaded where a collector is named only
    async exporter() {
      const { otlpExporter } = await import("./otlp-exporter.ts");
      return otlpExporter(url, { namespace: env.NAMESPACE, node: broker.nodeID });
    },
  });
  queues.set(broker, made);
  return made;
}

/** The tracer of a service of this broker. */
export function tracerOf(broker: ServiceBroker, by: ServiceName): Tracer {
  const queue = queueOf(broker);
  if (!queue) return NO_TRACES;
  const { env, ids } = depsOf(broker);
  return createTracer(by, traceRatio(env.OTEL_TRACES_SAMPLER_ARG) ?? 0, ids, (span) => queue.add(span));
}

/** Sends what is left, for a moment at most, when a service of the process ends. */
export async function closeTraces(broker: ServiceBroker): Promise<void> {
  const queue = queues.get(broker);
  queues.delete(broker);
  await queue?.close();
}
