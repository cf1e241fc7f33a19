import type { Metrics } from "../../../shared/metrics/metrics.ts";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";

/** The queues with a due lead, as the last scans and passes saw them. */
export interface QueueWatch {
  /** A scan found the queue, whose first lead is due at this instant, ms since 1970. */
  found(queue: string, due_ms: number): void;
  /** A scan that began at this instant, monotonic ms, went once around: a queue that it did not find has no due lead any more. */
  wentAround(began_ms: number): void;
  /** A pass judged it: the gate that holds it; `open`: none does; `failed`: it could not be served. */
  judged(queue: string, gate: string): void;
}

const MAX_QUEUES = 50_000;
/** Where scans don't get around: a queue that none found for this long is forgotten. */
const FORGET_MS = 120_000;
/** Until a pass has judged it. */
const UNJUDGED = "open";

interface Seen {
  due_ms: number;
  gate: string;
  at_ms: number;
}

/** Keeps count of the queues, and tells the metrics. */
export function createQueueWatch(clock: Clock, metrics: Pick<Metrics, "gauge">): QueueWatch {
  const queues = new Map<string, Seen>();

  const byGate = (): Map<string, { queues: number; oldest_ms: number }> => {
    const now = clock.now().getTime();
    const since = clock.monotonicMs() - FORGET_MS;
    const found = new Map<string, { queues: number; oldest_ms: number }>();
    for (const [queue, { due_ms, gate, at_ms }] of queues) {
      if (at_ms < since) queues.delete(queue);
      if (at_ms < since || due_ms > now) continue;
      const of = found.get(gate) ?? { queues: 0, oldest_ms: 0 };
      found.set(gate, { queues: of.queues + 1, oldest_ms: Math.max(of.oldest_ms, now - due_ms) });
    }
    return found;
  };
  metrics.gauge("callagent_queues", () => [...byGate()].map(([gate, of]) => ({ labels: { gate }, value: of.queues })));
  metrics.gauge("callagent_oldest_due_seconds", () =>
    [...byGate()].map(([gate, { oldest_ms }]) => ({ labels: { gate }, value: oldest_ms / MS_PER_SECOND })),
  );
  return {
    found(queue, due_ms) {
      const gate = queues.get(queue)?.gate ?? UNJUDGED;
      queues.delete(queue);
      queues.set(queue, { due_ms, gate, at_ms: clock.monotonicMs() });
      // the one that was found longest ago
      const [oldest] = queues.keys();
      if (queues.size > MAX_QUEUES && oldest !== undefined) queues.delete(oldest);
    },
    wentAround(began_ms) {
      for (const [queue, { at_ms }] of queues) if (at_ms < began_ms) queues.delete(queue);
    },
    judged(queue, gate) {
      const seen = queues.get(queue);
      if (seen) seen.gate = gate;
    },
  };
}
