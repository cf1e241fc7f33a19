import { recencyCache } from "../cache.ts";
import type { Clock } from "../time/clock.ts";

/** For each ms that a tenant's checks took, so long they rest: a merchant has a quarter of a processor at most, a reseller with all its merchants half. */
const REST = { merchant: 3, reseller: 1 };
/** Rest that nobody waits for, ms: what checks of common size add up to is long over when the next one comes. */
const UNPAID_MS = 300;
/** A check that would wait longer for its turn is not done, ms: below the time limit of who asks. */
const MAX_WAIT_MS = 2000;
/** Tenants remembered, and checks that wait of one. */
const MAX_TENANTS = 10_000;
const MAX_WAITING = 2000;

/** Whose values are checked. */
export interface CheckOwner {
  reseller_id: string;
  merchant_id: string | null;
}

/** Runs checks of what clients wrote: one after the other of each tenant, wherever they run. */
export interface CheckTurns {
  /** The result of `check`, once it is the owner's turn; null: its checks have taken so much that this one would wait too long, and it was not done. */
  take<T>(owner: CheckOwner, check: () => Promise<Checked<T> | null>): Promise<T | null>;
}

/** One tenant's checks, one after the other. */
interface Queue {
  /** Monotonic ms until which they rest. */
  rests_until: number;
  waiting: number;
  last: Promise<void>;
}

/** A check's result, and the processor time that it took, ms. */
export interface Checked<T> {
  result: T;
  used_ms: number;
}

/** Does `next` when it is the turn of `queue`; null where that is after `by` (monotonic ms), or too many wait. */
async function inTurn<T>(
  clock: Pick<Clock, "monotonicMs" | "wait">,
  queue: Queue,
  { rest, by }: { rest: number; by: number },
  next: () => Promise<Checked<T> | null>,
): Promise<Checked<T> | null> {
  if (queue.waiting >= MAX_WAITING) return null;
  const before = queue.last;
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  queue.last = over;
  queue.waiting++;
  try {
    await before;
    const due = Math.max(clock.monotonicMs(), queue.rests_until - UNPAID_MS);
    if (due > by) return null;
    if (due > clock.monotonicMs()) await clock.wait(due - clock.monotonicMs());
    const done = await next();
    if (done) queue.rests_until = Math.max(queue.rests_until, clock.monotonicMs()) + done.used_ms * rest;
    return done;
  } finally {
    queue.waiting--;
    end();
  }
}

/**
 * Turns by merchant and reseller, so that no tenant's schemas and payloads, each within its own limit, together keep the thread that checks them from what it
 * does for others. All of this process alone.
 */
export function checkTurns(clock: Pick<Clock, "monotonicMs" | "wait">): CheckTurns {
  const queues = recencyCache<Queue>({ max: MAX_TENANTS });
  const queueOf = (key: string): Queue => {
    const known = queues.get(key) ?? { rests_until: 0, waiting: 0, last: Promise.resolve() };
    queues.set(key, known);
    return known;
  };
  return {
    async take({ reseller_id, merchant_id }, check) {
      const by = clock.monotonicMs() + MAX_WAIT_MS;
      const ofReseller = () => inTurn(clock, queueOf(`reseller ${reseller_id}`), { rest: REST.reseller, by }, check);
      const done = await (merchant_id === null
        ? ofReseller()
        : inTurn(clock, queueOf(`merchant ${merchant_id}`), { rest: REST.merchant, by }, ofReseller));
      return done && done.result;
    },
  };
}
