import type { Provider } from "../../../shared/contracts/configuration.ts";
import type { QueueHead } from "../../../shared/contracts/lead.ts";

/** A queue and whose it is; that never changes. */
export type Queue = Omit<QueueHead, "due_at">;

/** When queues are to be looked at next, in milliseconds of wall time, as far as this process knows: what it forgets, a full scan finds again. */
export interface Agenda {
  /** Whose a queue is, for later. */
  know(queue: Queue): void;
  owner(queue: string): Queue | null;
  /** Something is due in the queue at that time: it is looked at then, or sooner if it was to be anyway. */
  hear(queue: string, at: number): void;
  /** What a look at the queue has shown: look again at that time, or sooner if something was heard meanwhile; null: not before that. */
  learn(queue: string, at: number | null): void;
  /** It waits for a line of that provider: not looked at before then, unless one becomes free. */
  awaitLine(queue: string, provider: Provider, until: number): void;
  /** Not looked at before then, whatever is heard. */
  putAside(queue: string, until: number): void;
  /** A line became free: some of those that wait for one are looked at, the longest waiting first. */
  freed(provider: Provider, now: number): void;
  /** Queues whose time has come; they are off the agenda until something is heard or learned of them. */
  take(now: number): string[];
  /** The next time at which a queue is due; null: nothing is known to come. */
  next(): number | null;
}

/** Queues remembered; beyond it the longest known are forgotten. */
const MAX_KNOWN = 50_000;

/** Queues looked at when a line becomes free: one line serves one of them, and the rest have their own time to look again. */
const WOKEN_AT_ONCE = 100;

/** An empty agenda. */
export function createAgenda(): Agenda {
  const owners = new Map<string, Queue>();
  const entries = new Map<string, number>();
  const aside = new Map<string, number>();
  const waiting = new Map<Provider, Set<string>>();
  const bound = (map: Map<string, unknown>): void => {
    for (const key of map.keys()) {
      if (map.size <= MAX_KNOWN) return;
      map.delete(key);
    }
  };
  const note = (queue: string, at: number): void => {
    entries.set(queue, Math.min(entries.get(queue) ?? Number.POSITIVE_INFINITY, Math.max(at, aside.get(queue) ?? 0)));
    bound(entries);
  };
  const putAside = (queue: string, until: number): void => {
    aside.set(queue, until);
    bound(aside);
    entries.delete(queue);
  };
  return {
    know(queue) {
      if (!owners.has(queue.queue)) {
        owners.set(queue.queue, queue);
        bound(owners);
      }
    },
    owner: (queue) => owners.get(queue) ?? null,
    hear: note,
    learn(queue, at) {
      if (at !== null) note(queue, at);
    },
    awaitLine(queue, provider, until) {
      putAside(queue, until);
      note(queue, until);
      const known = waiting.get(provider) ?? new Set();
      known.delete(queue);
      waiting.set(provider, known.add(queue));
    },
    putAside,
    freed(provider, now) {
      const known = waiting.get(provider) ?? new Set();
      for (const queue of [...known].slice(0, WOKEN_AT_ONCE)) {
        known.delete(queue);
        aside.delete(queue);
        note(queue, now);
      }
    },
    take(now) {
      for (const [queue, until] of aside) if (until <= now) aside.delete(queue);
      const due = [...entries].filter(([, at]) => at <= now).map(([queue]) => queue);
      for (const queue of due) {
        entries.delete(queue);
        for (const known of waiting.values()) known.delete(queue);
      }
      return due;
    },
    next() {
      let next: number | null = null;
      for (const at of entries.values()) if (next === null || at < next) next = at;
      return next;
    },
  };
}
