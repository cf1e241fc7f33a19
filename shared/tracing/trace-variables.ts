/** Variables of VARIABLES by which the traces of leads go to a collector (shared/tracing/tracer.ts), by OpenTelemetry's own names. */
export const TRACE_VARIABLES = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    kind: "url",
    doc: "OpenTelemetry collector that traces of leads are sent to, by OTLP over HTTP (JSON), like http://collector:4318; empty: no traces",
  },
  OTEL_TRACES_SAMPLER_ARG: {
    kind: "text",
    default: "1",
    doc: "share of leads that are traced where the client's traceparent does not say, from 0 to 1",
  },
} as const;

/** What is read of them here. */
interface TraceEnv {
  readonly OTEL_TRACES_SAMPLER_ARG: string;
}

/** The share of leads that are traced, from 0 to 1; null: the text is no such number. */
export function traceRatio(text: string): number | null {
  const ratio = /^(0|1|0?\.[0-9]{1,9}|1\.0{1,9})$/.test(text) ? Number(text) : null;
  return ratio;
}

/** What is wrong with them. */
export const traceIssues = ({ OTEL_TRACES_SAMPLER_ARG: share }: TraceEnv): string[] =>
  traceRatio(share) === null ? [`OTEL_TRACES_SAMPLER_ARG is "${share}"; write a share from 0 to 1, like 0.05`] : [];
