import type { ServiceName } from "../contracts/index.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { errorForLog, type Log } from "../process/log.ts";
import { sparseLog, type SparseLog } from "../process/sparse-log.ts";
import type { Clock } from "../time/clock.ts";
import { within } from "../time/deadline.ts";
import type { Span } from "./spans.ts";

/** A span as it is sent. */
export interface FinishedSpan extends Omit<Span, "key" | "parent"> {
  by: ServiceName;
  trace_id: string;
  span_id: string;
  /** The id of the span that it belongs to; null: none. */
  parent_id: string | null;
  /** Other traces that it has to do with. */
  links: readonly { trace_id: string; span_id: string }[];
}

/** Sends spans; rejects where the collector did not take them. */
export interface SpanExporter {
  export(spans: readonly FinishedSpan[]): Promise<void>;
  close(): Promise<void>;
}

/** What a queue is made with. `exporter` is opened with the first span. */
export interface SpanQueueOptions {
  clock: Clock;
  log: Log;
  metrics: Metrics;
  exporter(): Promise<SpanExporter>;
}

/** Spans that wait at most; what comes beyond them is dropped and counted. */
export const MAX_WAITING = 4096;
/** Spans of one request, and how long the first of them waits for others, ms. */
export const BATCH_SPANS = 512;
export const BATCH_MS = 1000;
/** How long a process that ends waits for its last spans, ms. */
const CLOSE_MS = 2000;

/** Spans of a process on their way to the collector, one request at a time. Nothing waits for it: what it can't take or send is dropped and counted. */
export class SpanQueue {
  readonly #o: SpanQueueOptions;
  readonly #lost: SparseLog;
  readonly #stopped = new AbortController();
  #exporter: Promise<SpanExporter> | null = null;
  #waiting: FinishedSpan[] = [];
  #sending: Promise<void> | null = null;

  constructor(o: SpanQueueOptions) {
    this.#o = o;
    this.#lost = sparseLog(o.clock);
  }

  add(span: FinishedSpan): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#o.metrics.count("callagent_trace_spans_total", { result: "dropped" });
      return;
    }
    this.#waiting.push(span);
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
    });
  }

  /** Sends what waits, for a moment at most. */
  async close(): Promise<void> {
    this.#stopped.abort();
    await within(this.#o.clock, CLOSE_MS, this.#sending ?? Promise.resolve());
    await (await this.#exporter?.catch(() => null))?.close().catch(() => undefined);
  }

  async #send(): Promise<void> {
    const { clock, log, metrics } = this.#o;
    while (this.#waiting.length > 0) {
      if (this.#waiting.length < BATCH_SPANS) await clock.wait(BATCH_MS, this.#stopped.signal);
      const spans = this.#waiting.splice(0, BATCH_SPANS);
      try {
        this.#exporter ??= this.#o.exporter();
        await (await this.#exporter).export(spans);
        metrics.count("callagent_trace_spans_total", { result: "sent" }, spans.length);
      } catch (error) {
        metrics.count("callagent_trace_spans_total", { result: "failed" }, spans.length);
        this.#lost.note("spans", (times) =>
          log.warn({ event: "traces.not_sent", times, ...errorForLog(error) }, "the collector did not take spans"),
        );
      }
    }
  }
}
