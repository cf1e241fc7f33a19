import { contracts } from "../contracts/index.ts";
import { CATALOGUE } from "../errors.ts";
import { CALL_METRICS } from "./call-metrics.ts";
import type { Metric } from "./metric.ts";

const namesOf = (part: "actions" | "events"): string[] =>
  Object.values(contracts).flatMap((contract) =>
    Object.keys(contract[part]).map((name) => (part === "actions" ? `${contract.name}.${name}` : name)),
  );

/** Error codes, and what stands in place of one where there was no error. */
const CODES = Object.keys(CATALOGUE);
const ACTIONS = namesOf("actions");
const EVENTS = namesOf("events");
/** Packets of Moleculer's protocol. */
const PACKETS = ["REQ", "RES", "EVENT", "INFO", "DISCOVER", "HEARTBEAT", "PING", "PONG", "DISCONNECT"];
/** From one millisecond to the time limit of a request, in seconds. */
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Commands of the database that the services send. */
const COMMANDS = ["find", "getMore", "aggregate", "insert", "update", "delete", "findAndModify", "bulkWrite", "hello"];
const KIB = 1024;
/** Up to the bound of a message, 512 KiB, and the usual max_payload of a NATS server. */
const MESSAGE_BYTES = [256, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, 512 * KIB, KIB * KIB];

/** Every metric of ours. A test compares it with what is written, with the table of docs/monitoring.md, the dashboards and the alert rules. */
export const METRICS = {
  callagent_ready: {
    kind: "gauge",
    unit: "events",
    about: "1 while /ready of the process answers 200, else 0",
    by: "every",
    labels: {},
  },
  callagent_draining: {
    kind: "gauge",
    unit: "events",
    about: "1 once the process was told to end and lets end what is under way, else 0",
    by: "every",
    labels: {},
  },
  callagent_bus_request_seconds: {
    kind: "histogram",
    unit: "seconds",
    about: "How long a service took to answer a request of the bus",
    by: "every",
    labels: { action: ACTIONS, result: ["ok", "error"] },
    buckets: REQUEST_SECONDS,
  },
  callagent_bus_request_errors_total: {
    kind: "counter",
    unit: "requests",
    about: "Requests of the bus that a service answered with an error",
    by: "every",
    labels: { action: ACTIONS, code: CODES },
  },
  callagent_bus_calls_active: {
    kind: "gauge",
    unit: "requests",
    about: "Requests to services in other processes that wait for their answer",
    by: "every",
    labels: {},
  },
  callagent_bus_call_errors_total: {
    kind: "counter",
    unit: "requests",
    about: "Requests to services in other processes that failed, as their caller saw it",
    by: "every",
    labels: { action: ACTIONS, code: CODES },
  },
  callagent_bus_events_total: {
    kind: "counter",
    unit: "events",
    about: "Events of the bus that a service handled",
    by: "every",
    labels: { event: EVENTS, result: ["ok", "error"] },
  },
  callagent_bus_message_bytes: {
    kind: "histogram",
    unit: "bytes",
    about: "Size of the messages that the process sent to the bus and received from it",
    by: "every",
    labels: { packet: PACKETS, direction: ["sent", "received"] },
    buckets: MESSAGE_BYTES,
  },
  callagent_metrics_unread_total: {
    kind: "counter",
    unit: "reads",
    about: "Gauges that could not be read when they were asked for, and were left out",
    by: "every",
    labels: {},
  },
  callagent_store_seconds: {
    kind: "histogram",
    unit: "seconds",
    about: "How long the database took for a command; a write is acknowledged by a majority",
    by: "every",
    labels: { command: COMMANDS, result: ["ok", "error"] },
    buckets: REQUEST_SECONDS,
  },
  callagent_trace_spans_total: {
    kind: "counter",
    unit: "events",
    about: "Spans of traces: taken by the collector, refused by it, or dropped as too many waited",
    by: "every",
    labels: { result: ["sent", "failed", "dropped"] },
  },
  ...CALL_METRICS,
} as const satisfies Record<string, Metric>;

type Catalogue = typeof METRICS;
/** The name of a metric of ours. */
export type MetricName = keyof Catalogue;
/** The names of one kind. */
export type NameOf<K extends Metric["kind"]> = {
  [N in MetricName]: Catalogue[N]["kind"] extends K ? N : never;
}[MetricName];
/** The labels that a metric takes. */
export type LabelsOf<N extends MetricName> = { readonly [L in keyof Catalogue[N]["labels"]]: string };

/** Series that a metric begins with at zero, at most: what more labels allow comes with its first value. */
const MOST_AT_ZERO = 100;

/** Every combination of the labels' values. */
export const combinations = (labels: Metric["labels"]): Record<string, string>[] =>
  Object.entries(labels).reduce<Record<string, string>[]>(
    (before, [label, values]) => before.flatMap((one) => values.map((value) => ({ ...one, [label]: value }))),
    [{}],
  );

/** How many series a metric has at most, those of `other` included; a histogram has so many for each bound, and three more. */
export const seriesOf = ({ labels, buckets }: Metric): number =>
  Object.values(labels).reduce((product, values) => product * (values.length + 1), 1) *
  (buckets === undefined ? 1 : buckets.length + 3);

/** The series that stand at zero from the start, so that the first error is a rise from zero and not a new series. */
export const atZero = ({ kind, labels }: Metric): Record<string, string>[] => {
  const all = Object.values(labels).reduce((product, values) => product * values.length, 1);
  return kind === "counter" && all <= MOST_AT_ZERO ? combinations(labels) : [];
};
