import {
  layoutFor,
  permitsAt,
  windowMs,
  withLayout,
  type RateLimit,
  type WindowLog,
} from "../../../services/scheduler/pure.ts";

/** A sliding-window limiter in memory: what the database does for the scheduler, over the same log. Times are ms of wall time. */
export interface Limiter {
  limit: RateLimit | null;
  log(): WindowLog | null;
  /** How many permits are free at this instant; when none, from when on there is one. */
  permits(at: number): { free: number; next: number | null };
  /** Takes so many permits for an instant; no more than are free. */
  acquire(at: number, count: number): void;
}

function withPermit(log: WindowLog, limit: RateLimit, at: Date): WindowLog {
  const { group, entries } = layoutFor(limit.max);
  if (group === 1) return { ...log, ring: [...log.ring.slice(log.ring.length >= entries ? 1 : 0), at] };
  if (log.filled < group) return { ...log, ring: [...log.ring.slice(0, -1), at], filled: log.filled + 1 };
  const oldest = log.ring[0] ?? new Date(0);
  return { ...log, ring: [...log.ring.slice(1), at], filled: 1, opened: new Date(oldest.getTime() + windowMs(limit)) };
}

/** A limiter none of whose permits was taken yet; a limit of null has permits without end. */
export function createLimiter(limit: RateLimit | null): Limiter {
  let log: WindowLog | null = null;
  return {
    limit,
    log: () => log,
    permits(at) {
      const { free, next } = permitsAt(log, limit, new Date(at));
      return { free, next: next?.getTime() ?? null };
    },
    acquire(at, count) {
      if (limit === null) return;
      const when = new Date(at);
      let taken = withLayout(log, limit.max);
      for (let i = 0; i < count; i++) taken = withPermit(taken, limit, when);
      log = taken;
    },
  };
}
