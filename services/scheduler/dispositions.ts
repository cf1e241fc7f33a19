import pLimit from "p-limit";
import type { ServiceDeps } from "../../shared/bus/bus.ts";
import { chunks } from "../../shared/batching.ts";
import { plusMs } from "../../shared/time/clock.ts";
import type { Provider } from "../../shared/contracts/records/configuration.ts";
import type { DueLead } from "../../shared/contracts/records/lead.ts";
import type { Cache } from "../../shared/cache.ts";
import { isRefused } from "../../shared/database/database-errors.ts";
import { codeOf } from "../../shared/errors.ts";
import { errorForLog } from "../../shared/process/log.ts";
import type { QueueInputs } from "./admission-inputs.ts";
import type { DropOutcome } from "./admission/gate-verdict.ts";
import { isAway } from "./memory/in-parts.ts";
import type { QueueSchedule } from "./memory/queue-schedule.ts";
import type { QueueWatch } from "./memory/queue-watch.ts";

/** A claimed lead with its fencing token, and the holder of its number slot. */
export interface ClaimedAttempt {
  lead_id: string;
  claim_no: number;
  holder: string;
}

/** Work that waits, and for what. */
export type Deferred =
  /** The queue is served again at that time (ms of wall time); null: when it is scheduled anyway. */
  | { kind: "queue"; queue: string; at: number | null }
  /** Something failed for the queue: it rests, whatever becomes due in it. */
  | { kind: "failed_queue"; queue: string; error: unknown }
  /** The queue waits for a slot of that provider. */
  | { kind: "slot"; queue: string; provider: Provider }
  /** Claimed leads that no dialer has: they and their slots are released, and the attempt does not count. `fault`: the code of the technical fault that was the cause. */
  | { kind: "attempts"; attempts: readonly ClaimedAttempt[]; after_ms: number; reason: string; fault?: string }
  /** Leads that wait among callees of other time zones: they go into the right queue, so that they stand in nobody's way. */
  | { kind: "misplaced"; lead_ids: readonly string[] }
  /** Slots that no call will use. */
  | { kind: "slots"; holders: readonly string[] };

/** A lead that must not be called: it ends. */
export interface Dropped {
  inputs: QueueInputs;
  lead: DueLead;
  outcome: DropOutcome;
  reason: string;
}

/** What a stage of the pass makes of its input. */
export interface StageResult<T> {
  ok: T[];
  deferred: Deferred[];
  dropped: Dropped[];
}

/** The results of a stage that worked in parts. */
export const together = <T>(results: readonly StageResult<T>[]): StageResult<T> => ({
  ok: results.flatMap((r) => r.ok),
  deferred: results.flatMap((r) => r.deferred),
  dropped: results.flatMap((r) => r.dropped),
});

/** Each queue of these leads, for which something failed. */
export const failedQueues = (leads: readonly { queue: string }[], error: unknown): Deferred[] =>
  [...new Set(leads.map((l) => l.queue))].map((queue) => ({ kind: "failed_queue", queue, error }));

/** What applying needs. */
export interface DispositionDeps extends Pick<ServiceDeps, "bus" | "clock" | "log"> {
  schedule: Pick<QueueSchedule, "reschedule" | "awaitSlot" | "block" | "registered">;
  /** Why queues rest because of what a person must know of, by the queue's template; of a playground lead's own by the lead. */
  failures: Pick<Cache<string>, "get" | "set">;
  watch: Pick<QueueWatch, "judged">;
}

/** Applies what a stage deferred and dropped. Never throws: what can't be written now is recovered by an expired lease or a scan. */
export type ApplyDispositions = (result: Omit<StageResult<unknown>, "ok">) => Promise<void>;

/** Why leads wait for which the scheduler can't do what it must, in a sentence for explain. */
export const failureOf = (error: unknown): string =>
  isRefused(error)
    ? `The database refuses a command that the scheduler needs to call this lead: ${String(error["message"])} (code ${String(error["code"])}) It waits until the operator has put that right.`
    : `The scheduler could not read what it needs to call this lead (${codeOf(error)}; its log says why). It tries again every few seconds, and calls other leads meanwhile.`;

/** How soon a queue that waits for a slot asks again when no event announces one. */
export const SLOT_RECHECK_MS = 1000;
const FAILED_QUEUE_REST_MS = 5000;
/** A failure that was not repeated for this long is over: a queue is tried again sooner. */
export const FAILURE_TTL_MS = 4 * FAILED_QUEUE_REST_MS;
/** Leads put into another queue in one request. */
const REQUEUED_AT_ONCE = 500;
/** Leads dropped, or released, side by side. */
const WRITES_AT_ONCE = 20;

type Of<U extends { kind: string }, K extends U["kind"]> = Extract<U, { kind: K }>;

/** Releases claimed leads to wait again. */
function attemptWrites({ bus, clock, log }: DispositionDeps) {
  const releaseSlots = async (holders: readonly string[]): Promise<void> => {
    await bus.call("numbers.releaseMany", { holders: [...holders] }).catch((error: unknown) => {
      const fields = { event: "slots.release_failed", slots: holders.length, ...errorForLog(error) };
      log.warn(fields, "slots could not be released; their leases run out");
    });
  };
  return {
    releaseSlots,
    async release({ attempts, after_ms, reason, fault }: Of<Deferred, "attempts">): Promise<void> {
      if (attempts.length === 0) return;
      const due_at = plusMs(clock.now(), after_ms).toISOString();
      await pLimit(WRITES_AT_ONCE).map(attempts, async ({ lead_id, claim_no }) => {
        const released = { lead_id, claim_no, due_at, reason, ...(fault === undefined ? {} : { fault }) };
        await bus.call("leads.release", released).catch((error: unknown) => {
          const fields = { event: "release.failed", lead_id, ...errorForLog(error) };
          log.warn(fields, "a lead could not be released; its lease runs out");
        });
      });
      await releaseSlots(attempts.map((a) => a.holder));
    },
  };
}

/** The one place that applies what the stages of a pass defer and drop. */
export function createDispositions(deps: DispositionDeps): ApplyDispositions {
  const { bus, clock, log, schedule, failures } = deps;
  const attempts = attemptWrites(deps);
  const inMs = (ms: number): number => plusMs(clock.now(), ms).getTime();

  function restQueue(queue: string, error: unknown): void {
    schedule.block(queue, inMs(FAILED_QUEUE_REST_MS));
    deps.watch.judged(queue, "failed");
    const fields = { event: "queue.aside", queue, ...errorForLog(error) };
    const refused = isRefused(error);
    if (!refused && isAway(error)) return log.warn(fields, "a queue failed; it rests for some seconds");
    const owner = schedule.registered(queue);
    const key = owner?.override_of ?? owner?.template_id ?? queue;
    const known = failures.get(key);
    failures.set(key, failureOf(error));
    if (!refused) return log.error(fields, "a queue can't be served as it is; it rests for some seconds");
    // once per template: the alarm that comes again is database.command_refused
    if (known === undefined)
      log.error(
        { ...fields, code: error["code"] },
        "the database refuses a command that this queue needs; nobody in it is called",
      );
  }

  async function requeue(lead_ids: readonly string[]): Promise<void> {
    for (const some of chunks(lead_ids, { maxItems: REQUEUED_AT_ONCE }))
      await bus.call("leads.requeue", { lead_ids: some }).catch((error: unknown) => {
        const fields = { event: "requeue.failed", leads: some.length, ...errorForLog(error) };
        log.warn(fields, "leads in the queue of other callees' zones could not be moved; a later pass tries again");
      });
  }

  async function defer(d: Deferred): Promise<void> {
    if (d.kind === "queue") schedule.reschedule(d.queue, d.at);
    else if (d.kind === "failed_queue") restQueue(d.queue, d.error);
    else if (d.kind === "slot") {
      deps.watch.judged(d.queue, "line");
      schedule.awaitSlot(d.queue, d.provider, inMs(SLOT_RECHECK_MS));
    } else if (d.kind === "attempts") await attempts.release(d);
    else if (d.kind === "misplaced") await requeue(d.lead_ids);
    else await attempts.releaseSlots(d.holders);
  }

  async function drop(d: Dropped): Promise<void> {
    // the last stage ends expired leads by template
    if (d.outcome === "EXPIRED") return;
    const { lead_id, due_at } = d.lead;
    await bus
      .call("leads.drop", { lead_id, due_at, outcome: d.outcome, reason: d.reason })
      .catch((error: unknown) => restQueue(d.inputs.queue.queue, error));
  }

  return async ({ deferred, dropped }) => {
    await Promise.all(deferred.map(defer));
    await pLimit(WRITES_AT_ONCE).map(dropped, drop);
  };
}
