import type { ServiceBroker } from "moleculer";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { depsOf } from "../process/process-deps.ts";
import type { ProcessName } from "../process/node-id.ts";
import { processNameOf } from "../process/node-id.ts";
import type { Clock } from "../time/clock.ts";
import { within } from "../time/deadline.ts";
import { atZero, METRICS, type LabelsOf, type MetricName, type NameOf } from "./catalogue.ts";
import type { Metric } from "./metric.ts";

/** One value of a gauge. */
export interface Sample<N extends MetricName> {
  labels: LabelsOf<N>;
  value: number;
}

/** What a process writes its metrics to. */
export interface Metrics {
  /** Adds to a counter. */
  count<N extends NameOf<"counter">>(name: N, labels: LabelsOf<N>, by?: number): void;
  /** Notes one value of a histogram, in its unit. */
  observe<N extends NameOf<"histogram">>(name: N, labels: LabelsOf<N>, value: number): void;
  /** Has a gauge read whenever the metrics are asked for, within two seconds; what can't be read is left out. */
  gauge<N extends NameOf<"gauge">>(name: N, read: () => readonly Sample<N>[] | Promise<readonly Sample<N>[]>): void;
  /** All of it, in the text format of Prometheus 0.0.4. */
  text(): Promise<string>;
}

/** The media type of `text`. */
export const TEXT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;
/** A gauge is read within this time. */
const READ_MS = 2000;
/** What stands for a label's value that the catalogue does not list. */
const OTHER = "other";

/** Writes nothing: for a process without a port, and for tests of what also counts. */
export const NO_METRICS: Metrics = {
  count: () => undefined,
  observe: () => undefined,
  gauge: () => undefined,
  text: () => Promise.resolve(""),
};

/** Of prom-client's own: gauges that are named as counters are, which promtool refuses, and a series for each of V8's heap spaces. */
const UNWANTED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
  "nodejs_heap_space_size_total_bytes",
  "nodejs_heap_space_size_used_bytes",
  "nodejs_heap_space_size_available_bytes",
];

const isWrittenBy = ({ by }: Metric, process: ProcessName): boolean =>
  by === "every" || process === "all" || by.includes(process);

/** What is read, or null where that fails or takes too long. */
async function inTime<T>(clock: Clock, read: () => T | Promise<T>): Promise<T | null> {
  const found: T[] = [];
  const reading = async (): Promise<void> => {
    found.push(await read());
  };
  return (await within(clock, READ_MS, reading()).catch(() => false)) ? (found[0] ?? null) : null;
}

const CATALOGUE = Object.entries<Metric>(METRICS) as [MetricName, Metric][];
const isOf = <K extends Metric["kind"]>(kind: K, name: MetricName): name is NameOf<K> => METRICS[name].kind === kind;

/** The metrics of one process, in a registry of their own. */
class RegisteredMetrics implements Metrics {
  readonly #clock: Clock;
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #readers = new Map<string, () => Promise<void>>();
  readonly #listed = new Map<readonly string[], ReadonlySet<string>>();

  constructor(process: ProcessName, clock: Clock) {
    this.#clock = clock;
    this.#registry.setDefaultLabels({ process });
    for (const [name, metric] of CATALOGUE)
      if (isOf("counter", name) && isWrittenBy(metric, process))
        for (const labels of atZero(metric)) this.#counter(name).inc(labels, 0);
    collectDefaultMetrics({ register: this.#registry });
    for (const name of UNWANTED) this.#registry.removeSingleMetric(name);
  }

  count<N extends NameOf<"counter">>(name: N, labels: LabelsOf<N>, by = 1): void {
    this.#counter(name).inc(this.#bounded(name, labels), by);
  }

  observe<N extends NameOf<"histogram">>(name: N, labels: LabelsOf<N>, value: number): void {
    const { buckets = [] }: Metric = METRICS[name];
    const known = this.#histograms.get(name) ?? new Histogram({ ...this.#settings(name), buckets: [...buckets] });
    this.#histograms.set(name, known);
    known.observe(this.#bounded(name, labels), value);
  }

  gauge<N extends NameOf<"gauge">>(name: N, read: () => readonly Sample<N>[] | Promise<readonly Sample<N>[]>): void {
    const gauge = this.#gauges.get(name) ?? new Gauge(this.#settings(name));
    this.#gauges.set(name, gauge);
    this.#readers.set(name, async () => {
      const samples = await inTime(this.#clock, read);
      gauge.reset();
      // without labels a reset is a zero
      gauge.remove({});
      if (samples === null) this.count("callagent_metrics_unread_total", {});
      for (const { labels, value } of samples ?? []) gauge.set(this.#bounded(name, labels), value);
    });
  }

  async text(): Promise<string> {
    await Promise.all([...this.#readers.values()].map((read) => read()));
    return this.#registry.metrics();
  }

  #settings(name: MetricName) {
    const { about, labels }: Metric = METRICS[name];
    return { name, help: about, labelNames: Object.keys(labels), registers: [this.#registry] };
  }

  #counter(name: NameOf<"counter">): Counter {
    const known = this.#counters.get(name) ?? new Counter(this.#settings(name));
    this.#counters.set(name, known);
    return known;
  }

  #bounded(name: MetricName, given: Readonly<Record<string, string>>): Record<string, string> {
    const { labels }: Metric = METRICS[name];
    return Object.fromEntries(
      Object.entries(labels).map(([label, values]) => {
        const known = this.#listed.get(values) ?? new Set(values);
        this.#listed.set(values, known);
        const value = given[label];
        return [label, value !== undefined && known.has(value) ? value : OTHER];
      }),
    );
  }
}

/** The metrics of a process of this name. */
export const createMetrics = (process: ProcessName, clock: Clock): Metrics => new RegisteredMetrics(process, clock);

const known = new WeakMap<object, Metrics>();

/** The metrics of a broker's process; none without METRICS_PORT. */
export function metricsOf(broker: ServiceBroker): Metrics {
  const { env, clock } = depsOf(broker);
  const made =
    known.get(broker) ??
    (env.METRICS_PORT === undefined ? NO_METRICS : createMetrics(processNameOf(process.argv), clock));
  known.set(broker, made);
  return made;
}
