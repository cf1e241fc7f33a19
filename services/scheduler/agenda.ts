import type { Provider } from "../../shared/contracts/configuration.ts";
import type { QueueHead } from "../../shared/contracts/lead.ts";

/** A queue and whose it is; that never changes. */
export type Queue = Omit<QueueHead, "due_at">;

/** When queues are to be looked at next, in milliseconds of wall time, as far as this process knows: what it forgets, a full scan finds again. */
export interface Agenda {
  /** Whose a queue is, for later. */
  know(queue: Queue): void;
  owner(queue: string): Queue | null;
  /** Something is due in the queue at that time: it is looked at then, or sooner if it was to be anyway. */
  hear(queue: string, at: number): void;
  /** What a look at the queue has shown: look again at that time, or sooner if something was heard meanwhile; null: not before that. `line`: it waits for a line of that provider. */
  learn(queue: string, at: number | null, line?: Provider): void;
  /** Not looked at before then, whatever is heard. */
  putAside(queue: string, until: number): void;
  /** A line became free: the queues that wait for one are looked at. */
  freed(provider: Provider, now: number): void;
  /** Queues whose time has come; they are off the agenda until something is heard or learned of them. */
  take(now: number): string[];
  /** The next time at which a queue is due; null: nothing is known to come. */
  next(): number | null;
}

/** Queues remembered; beyond it the longest known are forgotten. */
const MAX_KNOWN = 50_000;

interface Entry { at: number; line: Provider | null }

/** An empty agenda. */
export function createAgenda(): Agenda {
  const owners = new Map<string, Queue>();
  const entries = new Map<string, Entry>();
  const aside = new Map<string, number>();
  const bound = (map: Map<string, unknown>): void => { for (const key of map.keys()) { if (map.size <= MAX_KNOWN) return; map.delete(key); } };
  const notBefore = (queue: string, at: number): number => Math.max(at, aside.get(queue) ?? 0);
  return {
    know(queue) {
      if (!owners.has(queue.queue)) { owners.set(queue.queue, queue); bound(owners); }
    },
    owner: (queue) => owners.get(queue) ?? null,
    hear(queue, at) {
      const known = entries.get(queue);
      if (known) known.at = Math.min(known.at, notBefore(queue, at));
      else { entries.set(queue, { at: notBefore(queue, at), line: null }); bound(entries); }
    },
    learn(queue, at, line) {
      if (at === null) return;
      const heard = entries.get(queue)?.at ?? Number.POSITIVE_INFINITY;
      entries.set(queue, { at: Math.min(heard, notBefore(queue, at)), line: line ?? null });
    },
    putAside(queue, until) { aside.set(queue, until); bound(aside); entries.delete(queue); },
    freed(provider, now) {
      for (const [queue, e] of entries) if (e.line === provider) e.at = Math.min(e.at, notBefore(queue, now));
    },
    take(now) {
      for (const [queue, until] of aside) if (until <= now) aside.delete(queue);
      const due = [...entries].filter(([, e]) => e.at <= now).map(([queue]) => queue);
      for (const queue of due) entries.delete(queue);
      return due;
    },
    next() {
      let next: number | null = null;
      for (const { at } of entries.values()) if (next === null || at < next) next = at;
      return next;
    },
  };
}
