import type { ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import { OWN_QUEUE } from "../../../shared/contracts/records/lead.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { failedQueues, type Deferred } from "../dispositions.ts";
import { readDueLeads } from "../due-leads.ts";
import { isAway } from "../memory/in-parts.ts";
import type { Queue, QueueSchedule } from "../memory/queue-schedule.ts";
import type { QueueWatch } from "../memory/queue-watch.ts";

/** What the stage needs. */
export interface ScanDeps extends Pick<ServiceDeps, "bus" | "clock" | "env" | "log"> {
  schedule: Pick<QueueSchedule, "register" | "registered" | "schedule">;
  watch: Pick<QueueWatch, "found" | "wentAround">;
}

/** Most queues of a page, and by how much fewer are asked for where a page can't be read. */
const QUEUES_PER_PAGE = 1000;
const FEWER = 10;
/** Pages read in one scan; with more queues than that the next scan continues where this one ended. */
const PAGES_PER_SCAN = 20;
/** Scans look this much further ahead than to the next scan, which may come late. */
const MARGIN_MS = 500;

/** How far ahead due leads are looked for: a lead that becomes due before the next scan is called in time. */
export const lookAheadMs = (intervalMs: number): number => intervalMs + MARGIN_MS;

/** The position in the list of due queues; `own`: among the queues of single leads. */
interface Position {
  own: boolean;
  after: string | null;
}

/** Queues that the last scan could not read: those with names from `from` on, before `to` (null: to the end). */
export interface UnreadQueues {
  own: boolean;
  from: string;
  to: string | null;
  error: unknown;
}

/** The full scans of a process. */
export interface Scan {
  /** Schedules every queue that has a lead due soon, whatever was heard of it. */
  run(): Promise<void>;
  /** Why the last scan could not read the queue of this name; undefined: it could, or did not get there. */
  unread(queue: string): UnreadQueues | undefined;
}

const HEX = 16;
const NAME_PARTS = HEX * HEX;

/**
 * Where to go on behind queues that can't be read: their names begin with random ids, so the next two hexadecimal digits leave out one queue in 256 at
 * most. null: those were the last.
 */
export function behind({ own, after }: Position): string | null {
  const prefix = own ? OWN_QUEUE : "";
  const digits = (after ?? "").slice(prefix.length, prefix.length + 2).padEnd(2, "0");
  const part = Number.parseInt(digits, HEX) + 1;
  return part < NAME_PARTS ? prefix + part.toString(HEX).padStart(2, "0") : null;
}

/** With one more part that can't be read: one that follows the last is joined to it. */
function joined(unread: readonly UnreadQueues[], more: UnreadQueues): UnreadQueues[] {
  const last = unread.at(-1);
  return last?.own === more.own && last.to === more.from
    ? [...unread.slice(0, -1), { ...last, to: more.to }]
    : [...unread, more];
}

const follows = ({ own }: Position, next: string | null): Position =>
  next === null ? { own: !own, after: null } : { own, after: next };

/** A page from the position on. One that can't be read is asked for smaller, down to a single queue; `unread`: that fails too, and is stepped over. */
async function readPage(
  { bus }: ScanDeps,
  position: Position,
  until: string,
  most: number,
): Promise<{ heads: ResultOf<"leads.heads">["heads"]; next: string | null; limit: number; unread?: UnreadQueues }> {
  for (let limit = most; ; limit = Math.ceil(limit / FEWER)) {
    try {
      const page = await bus.call("leads.heads", { until, ...position, limit, by_reference: true });
      return { ...page, limit };
    } catch (error) {
      if (limit > 1 && !isAway(error)) continue;
      const next = behind(position);
      const unread = { own: position.own, from: position.after ?? "", to: next, error };
      return { heads: [], next, limit, unread };
    }
  }
}

/** The full scan. What can't be read is named in the log and stepped over; the next time around it is tried again. */
export function createScan(deps: ScanDeps): Scan {
  const { clock, env, log, schedule, watch } = deps;
  let position: Position = { own: false, after: null };
  let unread: UnreadQueues[] = [];

  async function run(): Promise<void> {
    const until = plusMs(clock.now(), lookAheadMs(env.SCHEDULER_INTERVAL_MS)).toISOString();
    const began = position;
    const beganMs = clock.monotonicMs();
    unread = [];
    let turns = 0;
    let most = QUEUES_PER_PAGE;
    for (let pages = 0; pages < PAGES_PER_SCAN;) {
      const page = await readPage(deps, position, until, most);
      for (const { due_at, ...queue } of page.heads) {
        schedule.register(queue);
        schedule.schedule(queue.queue, Date.parse(due_at));
        watch.found(queue.queue, Date.parse(due_at));
      }
      position = follows(position, page.next);
      if (page.unread && isAway(page.unread.error)) throw page.unread.error;
      if (page.unread) unread = joined(unread, page.unread);
      else pages++;
      most = page.unread ? 1 : Math.min(QUEUES_PER_PAGE, page.limit * FEWER);
      if (page.next === null) turns++;
      // once around, from wherever it began
      if (turns > 2 || (turns === 2 && (position.after ?? "") >= (began.after ?? ""))) {
        watch.wentAround(beganMs);
        break;
      }
    }
    for (const { error, ...where } of unread)
      log.error(
        { event: "scan.page_failed", ...where, ...errorForLog(error) },
        "due queues could not be read; the scan went on behind them and tries them again the next time",
      );
  }

  return {
    run,
    unread: (queue) =>
      unread.find(
        ({ own, from, to }) => own === queue.startsWith(OWN_QUEUE) && queue > from && (to === null || queue < to),
      ),
  };
}

/** The due queues by name. One that is not registered yet is found by its first lead, and left out when it has none; `failed`: that could not be read. */
export async function dueQueues(
  names: readonly string[],
  deps: ScanDeps,
): Promise<{ queues: Queue[]; failed: Deferred[] }> {
  const { clock, env, schedule } = deps;
  const unregistered = names.filter((name) => schedule.registered(name) === null);
  const until = plusMs(clock.now(), lookAheadMs(env.SCHEDULER_INTERVAL_MS)).toISOString();
  const first = unregistered.map((queue) => ({ queue, limit: 1 }));
  const { of, failed } = await readDueLeads(deps, first, until);
  for (const [queue, [lead]] of of) {
    if (!lead) continue;
    const { template_id, reseller_id, merchant_id, configurations_override, override_of } = lead;
    const owner = { template_id, reseller_id, merchant_id, configurations_override };
    schedule.register({ queue, ...owner, ...(override_of === undefined ? {} : { override_of }) });
  }
  return {
    queues: names.flatMap((name) => schedule.registered(name) ?? []),
    failed: [...failed].flatMap(([queue, error]) => failedQueues([{ queue }], error)),
  };
}
