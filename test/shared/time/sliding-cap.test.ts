import * as fc from "fast-check";
import { callsThatDecide, judgeCap } from "../../../shared/time/sliding-cap.ts";
import type { CalleeCap } from "../../../shared/contracts/merchants.ts";
import { plusMs, plusSeconds } from "../../../shared/time/clock.ts";

/** How often a callee was called, and when it may be called again. */
const NOW = new Date("2026-11-23T12:00:00.000Z");
const HOUR = 3600;
const hoursAgo = (...hours: number[]): Date[] => hours.map((h) => plusSeconds(NOW, -h * HOUR));
const inHours = (hours: number): Date => plusSeconds(NOW, hours * HOUR);

test.each<[string, CalleeCap, Date[], object]>([
  ["nobody was called", { per_day: 1 }, [], { day: 0, week: 0, free_at: null }],
  ["one call of one today", { per_day: 1 }, hoursAgo(1), { day: 1, week: 1, free_at: inHours(23) }],
  ["one call of two", { per_day: 2 }, hoursAgo(1), { day: 1, week: 1, free_at: null }],
  ["a call of exactly 24 hours ago counts no more", { per_day: 1 }, hoursAgo(24), { day: 0, week: 1, free_at: null }],
  ["three of two: the second newest must leave", { per_day: 2 }, hoursAgo(3, 1, 2), { day: 3, free_at: inHours(22) }],
  ["the week holds when the day does not", { per_day: 1, per_week: 2 }, hoursAgo(30, 50), { day: 0, week: 2, free_at: inHours(118) }], // prettier-ignore
  ["the day holds longer than the week", { per_day: 1, per_week: 2 }, hoursAgo(1, 160), { day: 1, week: 2, free_at: inHours(23) }], // prettier-ignore
  ["only the week is capped", { per_week: 1 }, hoursAgo(1), { day: 1, week: 1, free_at: inHours(167) }],
  ["a call a moment ahead counts", { per_day: 1 }, hoursAgo(-0.01), { day: 1, week: 1, free_at: inHours(24.01) }],
])("%s", (_what, cap, calls, judged) => {
  expect(judgeCap(cap, calls, NOW)).toMatchObject(judged);
});

const most = fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined });
const anyCap = fc
  .tuple(most, most)
  .filter(([d, w]) => d !== undefined || w !== undefined)
  .map(([d, w]): CalleeCap => ({
    ...(d === undefined ? {} : { per_day: d }),
    ...(w === undefined ? {} : { per_week: w }),
  }));
const anyCalls = fc.array(fc.integer({ min: -10 * 24 * HOUR, max: 30 }), { maxLength: 12 });

test("whatever was called: it may be called again at the first instant at which the cap has room, not one millisecond before; older calls decide nothing", () => {
  fc.assert(
    fc.property(anyCap, anyCalls, (cap, seconds) => {
      const calls = seconds.map((s) => plusSeconds(NOW, s));
      const judged = judgeCap(cap, calls, NOW);
      const roomAt = (at: Date): boolean => {
        const within = (days: number): number => calls.filter((c) => plusSeconds(c, days * 24 * HOUR) > at).length;
        return within(1) < (cap.per_day ?? Infinity) && within(7) < (cap.per_week ?? Infinity);
      };
      const at = judged.free_at ?? NOW;
      expect(roomAt(at)).toBe(true);
      if (judged.free_at !== null) expect(roomAt(plusMs(at, -1))).toBe(false);
      const newest = [...calls].sort((a, b) => b.getTime() - a.getTime()).slice(0, callsThatDecide(cap));
      expect(judgeCap(cap, newest, NOW).free_at).toEqual(judged.free_at);
    }),
  );
});
