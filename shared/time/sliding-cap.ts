import type { CalleeCap } from "../contracts/merchants.ts";
import { plusMs } from "./clock.ts";

/** How many calls count at an instant, and from when one more fits; null: it does now. */
export interface CapJudgement {
  day: number;
  week: number;
  free_at: Date | null;
}

const DAY_MS = 86_400_000;
/** The longest window of a cap, ms: a call that is older counts in none. */
export const LONGEST_CAP_WINDOW_MS = 7 * DAY_MS;

/** The newest calls that decide a cap: older ones change nothing. */
export const callsThatDecide = ({ per_day = 0, per_week = 0 }: CalleeCap): number => Math.max(per_day, per_week);

/**
 * Judges a cap by the instants of the calls that count, in any order. Its windows slide: a call counts for 24 hours, and for 7 days, from its instant. `free_at` is
 * the first instant at which one more call fits, if none is placed before. Pure.
 */
export function judgeCap({ per_day, per_week }: CalleeCap, calls: readonly Date[], at: Date): CapJudgement {
  const newest = [...calls].sort((a, b) => b.getTime() - a.getTime());
  const within = (window_ms: number): Date[] => newest.filter((call) => plusMs(call, window_ms) > at);
  const day = within(DAY_MS);
  const week = within(LONGEST_CAP_WINDOW_MS);
  const frees = (counted: readonly Date[], most: number | undefined, window_ms: number): Date[] => {
    const leaves = most === undefined ? undefined : counted[most - 1];
    return leaves === undefined ? [] : [plusMs(leaves, window_ms)];
  };
  const untils = [...frees(day, per_day, DAY_MS), ...frees(week, per_week, LONGEST_CAP_WINDOW_MS)];
  const free_at = untils.length === 0 ? null : new Date(Math.max(...untils.map((d) => d.getTime())));
  return { day: day.length, week: week.length, free_at };
}
