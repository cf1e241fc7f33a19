import { GRANT_VALID_MS } from "../../../shared/contracts/scheduler.ts";

/** At most `max` calls in any sliding window of this length. */
export interface RateLimit {
  max: number;
  window_ms: number;
}

/**
 * The last grants of a limit, oldest first. Every entry stands for `group` grants by the time of their last one; the newest holds `filled` of them and was
 * opened at `opened`. Up to RING_ENTRIES grants are kept one by one. `closed_until`: nothing is granted before.
 */
export interface RingState {
  ring: Date[];
  group: number;
  filled: number;
  opened: Date;
  closed_until: Date | null;
  closed_why: string | null;
}

/** Most entries of a ring: 1,000 dates are 13 kB. */
export const RING_ENTRIES = 1000;
/** Entries of a ring for more grants than that: an entry counts whole, which gives away at most one part in 64. */
export const COARSE_ENTRIES = 64;
/** Before every grant. */
export const EPOCH = new Date(0);

/** How a ring for at most `max` grants is laid out. Never more than `max` in all. */
export function layoutOf(max: number): { group: number; entries: number } {
  const group = max <= RING_ENTRIES ? 1 : Math.ceil(max / COARSE_ENTRIES);
  return { group, entries: Math.floor(max / group) };
}

/** The window with the time in which a grant may still be used: so dials, not only grants, keep the limit. */
export const widened = (limit: RateLimit): number => limit.window_ms + GRANT_VALID_MS;

/** Whether the ring can serve this limit as it is laid out. A ring of single grants may be longer than asked: its newest entries are looked at. */
export const fits = (state: RingState, max: number): boolean => {
  const { group, entries } = layoutOf(max);
  return state.group === group && (group === 1 ? state.ring.length >= entries : state.ring.length === entries);
};

/** Single grants, newest first, at most `most`. */
function singles(state: RingState, most: number): Date[] {
  const out: Date[] = [];
  for (let i = state.ring.length - 1; i >= 0 && out.length < most; i--) {
    const at = state.ring[i] ?? EPOCH;
    const count = i === state.ring.length - 1 ? state.filled : state.group;
    for (let k = 0; k < count && out.length < most; k++) out.push(at);
  }
  return out;
}

/** The ring laid out for this limit: newest grants kept, so that a lowered limit holds at once and a raised one forgets nothing. */
export function laidOutFor(state: RingState | null, max: number): RingState {
  const { group, entries } = layoutOf(max);
  const known = state ?? { ring: [], group: 1, filled: 1, opened: EPOCH, closed_until: null, closed_why: null };
  if (state && fits(state, max)) return state;
  const keep =
    group === 1 ? Math.max(entries, Math.min(RING_ENTRIES, known.ring.length * known.group)) : entries * group;
  const grants = singles(known, keep);
  const ring: Date[] = [];
  for (let i = 0; i < keep; i += group) ring.push(grants[i] ?? EPOCH);
  return { ...known, ring: ring.reverse(), group, filled: group, opened: EPOCH };
}

/** How many grants are to be had at an instant, and, when there is none, from when on there is one. A limit of null knows only the closing. */
export function roomAt(
  state: RingState | null,
  limit: RateLimit | null,
  at: Date,
): { free: number; next: Date | null } {
  const closed = state?.closed_until ?? null;
  const after = (next: Date): { free: 0; next: Date } => ({
    free: 0,
    next: closed !== null && closed > next ? closed : next,
  });
  if (limit === null)
    return closed !== null && closed > at ? after(closed) : { free: Number.POSITIVE_INFINITY, next: null };
  const laid = laidOutFor(state, limit.max);
  const { entries } = layoutOf(limit.max);
  const window = widened(limit);
  const seen = laid.ring.slice(-entries);
  const begun = laid.filled < laid.group;
  const first = begun ? laid.opened : new Date((seen[0] ?? EPOCH).getTime() + window);
  if (closed !== null && closed > at) return after(first > closed ? first : closed);
  const freed = seen.filter((d) => d.getTime() + window <= at.getTime()).length;
  const free = begun && laid.opened > at ? 0 : freed * laid.group + (begun ? laid.group - laid.filled : 0);
  return free > 0 ? { free, next: null } : after(first);
}
