import { recencyCache } from "../../../shared/cache.ts";
import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import { CALLEE_MARK, OWN_QUEUE, type QueueHead } from "../../../shared/contracts/records/lead.ts";
import { zonesOfMark } from "../../../shared/numbering/callee-zones.ts";

/** A queue and its owner; that never changes. */
export type Queue = Omit<QueueHead, "due_at">;

/** The zones where all callees of a queue may be, by its name: none where nothing is known of them; undefined for a playground lead's own queue, whose lead says it. */
export function calleeZonesOf(queue: string): readonly string[] | undefined {
  if (queue.startsWith(OWN_QUEUE)) return undefined;
  const [, mark] = queue.split(CALLEE_MARK);
  return mark === undefined ? [] : zonesOfMark(mark);
}

/** Queues kept; beyond it the oldest are forgotten. */
const MAX_QUEUES = 50_000;

/** Queues woken when a slot is released: one slot serves one of them, and the rest are scheduled anyway. */
const WOKEN_PER_SLOT = 100;

/** Keeps the newest MAX_QUEUES entries of a schedule, which is no cache: it is searched by time. */
function bound(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    if (map.size <= MAX_QUEUES) return;
    map.delete(key);
  }
}

/** Queues that wait for a slot, by provider, the longest waiting first. */
function slotWaiters() {
  const byProvider = new Map<Provider, Set<string>>();
  return {
    add(provider: Provider, queue: string): void {
      const waiting = byProvider.get(provider) ?? new Set();
      waiting.delete(queue);
      byProvider.set(provider, waiting.add(queue));
    },
    take(provider: Provider, count: number): string[] {
      const waiting = byProvider.get(provider) ?? new Set();
      const first = [...waiting].slice(0, count);
      for (const queue of first) waiting.delete(queue);
      return first;
    },
    delete(queue: string): void {
      for (const waiting of byProvider.values()) waiting.delete(queue);
    },
  };
}

/** When queues are served next, in milliseconds of wall time, as far as this process knows. A full scan finds what it forgets. */
export function createQueueSchedule() {
  const owners = recencyCache<Queue>({ max: MAX_QUEUES });
  const dueTimes = new Map<string, number>();
  const blockedUntil = new Map<string, number>();
  const waiters = slotWaiters();

  /** A lead of the queue is due at that time: the queue is served then, or sooner if it is scheduled sooner. */
  const schedule = (queue: string, at: number): void => {
    const dueAt = Math.max(at, blockedUntil.get(queue) ?? 0);
    dueTimes.set(queue, Math.min(dueTimes.get(queue) ?? Number.POSITIVE_INFINITY, dueAt));
    bound(dueTimes);
  };
  /** The queue is not served before then, whatever is scheduled. */
  const block = (queue: string, until: number): void => {
    blockedUntil.set(queue, until);
    bound(blockedUntil);
    dueTimes.delete(queue);
  };
  return {
    /** Keeps the owner of a queue; an own queue's override as it was read last, itself or by reference. */
    register: (queue: Queue): void => owners.set(queue.queue, queue),
    registered: (queue: string): Queue | null => owners.get(queue) ?? null,
    schedule,
    /** The same after the queue was served; null: it has no more leads, so only what was scheduled meanwhile counts. */
    reschedule(queue: string, at: number | null): void {
      if (at !== null) schedule(queue, at);
    },
    /** The queue is served at that time, and earlier only if a slot of that provider is released. */
    awaitSlot(queue: string, provider: Provider, until: number): void {
      block(queue, until);
      schedule(queue, until);
      waiters.add(provider, queue);
    },
    block,
    /** A slot was released: some of the queues that wait for one are due, the longest waiting first. */
    slotReleased(provider: Provider, now: number): void {
      for (const queue of waiters.take(provider, WOKEN_PER_SLOT)) {
        blockedUntil.delete(queue);
        schedule(queue, now);
      }
    },
    /** Takes the queues that are due off the schedule. */
    takeDue(now: number): string[] {
      for (const [queue, until] of blockedUntil) if (until <= now) blockedUntil.delete(queue);
      const due = [...dueTimes].filter(([, at]) => at <= now).map(([queue]) => queue);
      for (const queue of due) {
        dueTimes.delete(queue);
        waiters.delete(queue);
      }
      return due;
    },
    /** The next time at which a queue is due; null: none is scheduled. */
    nextDueAt(): number | null {
      let next: number | null = null;
      for (const at of dueTimes.values()) if (next === null || at < next) next = at;
      return next;
    },
  };
}

/** The schedule of a process. */
export type QueueSchedule = ReturnType<typeof createQueueSchedule>;
