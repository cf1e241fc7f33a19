import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { chunks } from "../../../shared/batching.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { Queue, QueueSchedule } from "../memory/queue-schedule.ts";

/** What the stage needs. */
export interface ScanDeps extends Pick<ServiceDeps, "bus" | "clock" | "env"> {
  schedule: Pick<QueueSchedule, "register" | "registered" | "schedule">;
}

const QUEUES_PER_PAGE = 1000;
/** Pages read in one scan; with more queues than that the next scan continues where this one ended. */
const PAGES_PER_SCAN = 20;
/** Scans look this much further ahead than to the next scan, which may come late. */
const MARGIN_MS = 500;
const UNREGISTERED_AT_ONCE = 500;

/** How far ahead due leads are looked for: a lead that becomes due before the next scan is called in time. */
export const lookAheadMs = (intervalMs: number): number => intervalMs + MARGIN_MS;

/** The position in the list of due queues; `own`: among the queues of single leads. */
interface Position {
  own: boolean;
  after: string | null;
}

/** The full scan: schedules every queue that has a lead due soon, whatever was heard of it. */
export function createScan({ bus, clock, env, schedule }: ScanDeps): () => Promise<void> {
  let position: Position = { own: false, after: null };
  return async () => {
    const until = plusMs(clock.now(), lookAheadMs(env.SCHEDULER_INTERVAL_MS)).toISOString();
    const began = position;
    for (let i = 0; i < PAGES_PER_SCAN; i++) {
      const { heads, next } = await bus.call("leads.heads", { until, ...position, limit: QUEUES_PER_PAGE });
      for (const { due_at, ...queue } of heads) {
        schedule.register(queue);
        schedule.schedule(queue.queue, Date.parse(due_at));
      }
      position = next === null ? { own: !position.own, after: null } : { own: position.own, after: next };
      // once around, from wherever it began
      if (position.own === began.own && (position.after ?? "") >= (began.after ?? "") && i > 0) break;
    }
  };
}

/** The due queues by name. One that is not registered yet is found by its first lead, and left out when it has none. */
export async function dueQueues(names: readonly string[], { bus, clock, env, schedule }: ScanDeps): Promise<Queue[]> {
  const unregistered = names.filter((name) => schedule.registered(name) === null);
  const until = plusMs(clock.now(), lookAheadMs(env.SCHEDULER_INTERVAL_MS)).toISOString();
  for (const some of chunks(unregistered, { maxItems: UNREGISTERED_AT_ONCE })) {
    const { leads } = await bus.call("leads.dueOf", { queues: some.map((queue) => ({ queue, limit: 1 })), until });
    for (const { queue = "", template_id, reseller_id, merchant_id, configurations_override } of leads)
      schedule.register({ queue, template_id, reseller_id, merchant_id, configurations_override });
  }
  return names.flatMap((name) => schedule.registered(name) ?? []);
}
