import type { Context, Middleware, ServiceBroker } from "moleculer";
import type { StoreOptions } from "../database/mongo.ts";
import { drainOf } from "../bus/drain.ts";
import { codeOf } from "../errors.ts";
import { depsOf } from "../process/process-deps.ts";
import { MS_PER_SECOND } from "../time/clock.ts";
import { closeTraces } from "../tracing/tracer.ts";
import { openHealthPort, type HealthPort } from "./health-port.ts";
import { metricsOf, type Metrics } from "./metrics.ts";
import { readinessOf } from "./readiness.ts";

const ports = new WeakMap<object, HealthPort>();

/** The health port of a broker's process; null: it has none. */
export const healthPortOf = (broker: ServiceBroker): HealthPort | null => ports.get(broker) ?? null;

async function open(broker: ServiceBroker): Promise<void> {
  const { env, log } = depsOf(broker);
  if (env.METRICS_PORT === undefined) return;
  const [metrics, readiness] = [metricsOf(broker), readinessOf(broker)];
  metrics.gauge("callagent_ready", () => [{ labels: {}, value: readiness.faults().length === 0 ? 1 : 0 }]);
  metrics.gauge("callagent_draining", () => [{ labels: {}, value: drainOf(broker).draining.aborted ? 1 : 0 }]);
  metrics.gauge("callagent_bus_calls_active", () => [{ labels: {}, value: broker.transit?.pendingRequests.size ?? 0 }]);
  const port = await openHealthPort(env.METRICS_HOST, env.METRICS_PORT, { metrics, readiness });
  ports.set(broker, port);
  const own = log.child({ service: "metrics" });
  own.info({ event: "metrics.listening", url: port.url }, "the health port answers /live, /ready and /metrics");
}

const isOn = (broker: ServiceBroker): boolean => depsOf(broker).env.METRICS_PORT !== undefined;

/** Has a piece of work timed, and told how it ended. */
async function timed<T>(
  broker: ServiceBroker,
  work: () => T | Promise<T>,
  ended: (metrics: Metrics, seconds: number, error: { code: string } | null) => void,
): Promise<T> {
  const { clock } = depsOf(broker);
  const metrics = metricsOf(broker);
  const began = clock.monotonicMs();
  const seconds = (): number => (clock.monotonicMs() - began) / MS_PER_SECOND;
  try {
    const result = await work();
    ended(metrics, seconds(), null);
    return result;
  } catch (error) {
    ended(metrics, seconds(), { code: codeOf(error) });
    throw error;
  }
}

/**
 * Opens the health port of a process before its services start and closes it after them, and counts what goes over the bus. Moleculer's own registry counts
 * the same, with every sample of a minute kept for quantiles; its text is none that Prometheus' promtool accepts.
 */
export const monitor: Middleware = {
  name: "Monitor",
  starting: open,
  async stopped(broker) {
    await ports.get(broker)?.close();
    ports.delete(broker);
    await closeTraces(broker);
  },
  localAction(next, { name: action = "" }) {
    if (!isOn(this)) return next;
    return function measured(ctx) {
      return timed(
        ctx.broker,
        () => next.call(this, ctx),
        (metrics, seconds, error) => {
          metrics.observe("callagent_bus_request_seconds", { action, result: error ? "error" : "ok" }, seconds);
          if (error) metrics.count("callagent_bus_request_errors_total", { action, code: error.code });
        },
      );
    };
  },
  remoteAction(next, { name: action = "" }) {
    if (!isOn(this)) return next;
    return function measured(ctx) {
      return timed(
        ctx.broker,
        () => next.call(this, ctx),
        (metrics, _seconds, error) => {
          if (error) metrics.count("callagent_bus_call_errors_total", { action, code: error.code });
        },
      );
    };
  },
  localEvent: (next) => (ctx: Context) =>
    isOn(ctx.broker)
      ? timed(
          ctx.broker,
          () => next(ctx),
          (metrics, _seconds, error) => {
            const result = error ? "error" : "ok";
            metrics.count("callagent_bus_events_total", { event: ctx.eventName ?? "", result });
          },
        )
      : next(ctx),
};

/** How a service of this process opens the database; its commands are timed where the process is measured. */
export function storeOptionsOf(broker: ServiceBroker): StoreOptions {
  const { MIGRATE_AT_START: migrate } = depsOf(broker).env;
  if (!isOn(broker)) return { migrate };
  const metrics = metricsOf(broker);
  return {
    migrate,
    onCommand: (command, ms, failed) =>
      metrics.observe("callagent_store_seconds", { command, result: failed ? "error" : "ok" }, ms / MS_PER_SECOND),
  };
}
