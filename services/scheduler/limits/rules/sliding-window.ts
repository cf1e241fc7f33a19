import { GRANT_VALID_MS } from "../../../../shared/contracts/scheduler.ts";
import { plusMs } from "../../../../shared/time/clock.ts";

/** At most `max` calls in any sliding window of this length. */
export interface RateLimit {
  max: number;
  window_ms: number;
}

/**
 * The sliding-window log of a limit: its last permits (`ring`), oldest first, each by the latest instant at which it may be used less
 * GRANT_VALID_MS. Every entry stands for `group` permits by the time of their last one; the newest contains `filled` of them and was opened at `opened`. Up to LOG_ENTRIES
 * permits are kept one by one. `closed_until`: no permit lies before it.
 */
export interface WindowLog {
  ring: Date[];
  group: number;
  filled: number;
  opened: Date;
  closed_until: Date | null;
  closed_why: string | null;
}

/** Most entries of a log: 1,000 dates are 13 kB. */
export const LOG_ENTRIES = 1000;
/** Entries of a log for more permits than that: an entry counts whole, which loses at most one part in 64. */
export const COARSE_ENTRIES = 64;
/** An instant before every permit. */
export const EPOCH = new Date(0);

/** The layout of a log for at most `max` permits. It never contains more than `max` in all. */
export function layoutFor(max: number): { group: number; entries: number } {
  const group = max <= LOG_ENTRIES ? 1 : Math.ceil(max / COARSE_ENTRIES);
  return { group, entries: Math.floor(max / group) };
}

/**
 * The window in ms, with the time in which a permit may still be used: so calls, not only permits, keep the limit. A permit that is valid for longer
 * is entered later by as much.
 */
export const windowMs = (limit: RateLimit): number => limit.window_ms + GRANT_VALID_MS;

/** A permit is valid for no more than this part of its window: as much of the limit stays unused where each is used at once. */
const VALID_PART = 20;

/** How long a permit of this limit is valid that is wanted to be valid for so long, by an asker who is so unsure of the store's clock; ms. */
export const validMs = (limit: RateLimit, wanted_ms: number, uncertain_ms: number): number =>
  Math.max(GRANT_VALID_MS, Math.min(wanted_ms, Math.floor(limit.window_ms / VALID_PART))) + 2 * uncertain_ms;

/** The entry of a permit that may be used until then: what is counted is the latest instant at which its call may leave. */
export const entryOf = (until: Date): Date => plusMs(until, -GRANT_VALID_MS);

/** Whether the log is laid out for this limit. A log of single permits may be longer: its newest entries count. */
export const hasLayout = (log: WindowLog, max: number): boolean => {
  const { group, entries } = layoutFor(max);
  return log.group === group && (group === 1 ? log.ring.length >= entries : log.ring.length === entries);
};

/** Single permits, newest first, at most `most`. */
function newestPermits(log: WindowLog, most: number): Date[] {
  const out: Date[] = [];
  for (let i = log.ring.length - 1; i >= 0 && out.length < most; i--) {
    const at = log.ring[i] ?? EPOCH;
    const count = i === log.ring.length - 1 ? log.filled : log.group;
    for (let k = 0; k < count && out.length < most; k++) out.push(at);
  }
  return out;
}

/** The log laid out for this limit. It keeps the newest permits, so that a lowered limit applies at once and a raised one loses no permit. */
export function withLayout(log: WindowLog | null, max: number): WindowLog {
  const { group, entries } = layoutFor(max);
  const known = log ?? { ring: [], group: 1, filled: 1, opened: EPOCH, closed_until: null, closed_why: null };
  if (log && hasLayout(log, max)) return log;
  const keep =
    group === 1 ? Math.max(entries, Math.min(LOG_ENTRIES, known.ring.length * known.group)) : entries * group;
  const permits = newestPermits(known, keep);
  const ring: Date[] = [];
  for (let i = 0; i < keep; i += group) ring.push(permits[i] ?? EPOCH);
  return { ...known, ring: ring.reverse(), group, filled: group, opened: EPOCH };
}

/** How many permits are free at an instant, and, when there is none, from when on there is one. Without a limit only the closing counts. */
export function permitsAt(
  log: WindowLog | null,
  limit: RateLimit | null,
  at: Date,
): { free: number; next: Date | null } {
  const closed = log?.closed_until ?? null;
  const after = (next: Date): { free: 0; next: Date } => ({
    free: 0,
    next: closed !== null && closed > next ? closed : next,
  });
  if (limit === null)
    return closed !== null && closed > at ? after(closed) : { free: Number.POSITIVE_INFINITY, next: null };
  const laid = withLayout(log, limit.max);
  const { entries } = layoutFor(limit.max);
  const window = windowMs(limit);
  const seen = laid.ring.slice(-entries);
  const begun = laid.filled < laid.group;
  const first = begun ? laid.opened : plusMs(seen[0] ?? EPOCH, window);
  if (closed !== null && closed > at) return after(first > closed ? first : closed);
  const freed = seen.filter((d) => d.getTime() + window <= at.getTime()).length;
  const free = begun && laid.opened > at ? 0 : freed * laid.group + (begun ? laid.group - laid.filled : 0);
  return free > 0 ? { free, next: null } : after(first);
}
