import * as fc from "fast-check";
import {
  EPOCH,
  layoutFor,
  permitsAt,
  validMs,
  windowMs,
  withLayout,
  type WindowLog,
} from "../../../services/scheduler/limits/rules/sliding-window.ts";

test.each([
  [1000, 2000, 0, 100],
  [60_000, 2000, 0, 2000],
  [60_000, 0, 0, 100],
  [10_000, 2000, 0, 500],
  [86_400_000, 2000, 0, 2000],
  [1000, 2000, 75, 250],
])(
  "a permit of a window of %i ms that is wanted for %i ms, by a clock that may be wrong by %i ms, is valid for %i ms",
  (window_ms, wanted, uncertain, valid) => {
    expect(validMs({ max: 1, window_ms }, wanted, uncertain)).toBe(valid);
  },
);

describe("a sliding-window log", () => {
  const permits = fc
    .array(fc.integer({ min: 0, max: 5000 }), { maxLength: 60 })
    .map((ats) => ats.sort((a, b) => a - b).map((at) => new Date(1_800_000_000_000 + at)));
  const logOf = (ats: Date[], max: number): WindowLog =>
    withLayout(
      {
        ring: ats.length === 0 ? [EPOCH] : ats,
        group: 1,
        filled: 1,
        opened: EPOCH,
        closed_until: null,
        closed_why: null,
      },
      max,
    );
  test("its free permits are what the limit leaves of those in the window, and the next one is at the first instant with a free one", () => {
    fc.assert(
      fc.property(
        permits,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 100, max: 3000 }),
        fc.integer({ min: 0, max: 6000 }),
        (ats, max, window_ms, now) => {
          const limit = { max, window_ms };
          const at = new Date(1_800_000_000_000 + now);
          const state = logOf(ats, max);
          const live = ats.filter((d) => d.getTime() + windowMs(limit) > at.getTime()).length;
          const { free, next } = permitsAt(state, limit, at);
          expect(free).toBe(Math.max(0, max - live));
          expect(next === null).toBe(free > 0);
          if (next) {
            expect(permitsAt(state, limit, next).free).toBeGreaterThan(0);
            expect(permitsAt(state, limit, new Date(next.getTime() - 1)).free).toBe(0);
          }
        },
      ),
    );
  });
  test("laid out anew it never shows more free permits than before for the same limit", () => {
    fc.assert(
      fc.property(
        permits,
        fc.array(fc.constantFrom(1, 3, 10, 40, 1200, 5000), { minLength: 1, maxLength: 4 }),
        (ats, limits) => {
          const limit = { max: 10, window_ms: 1000 };
          const at = new Date(1_800_000_002_000);
          const state = logOf(ats, 60);
          const turned = limits.reduce<WindowLog>((s, max) => withLayout(s, max), state);
          expect(permitsAt(turned, limit, at).free).toBeLessThanOrEqual(permitsAt(state, limit, at).free);
        },
      ),
    );
  });
  test("its layout never holds more than the limit, and nearly all of it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (max) => {
        const { group, entries } = layoutFor(max);
        expect(group * entries).toBeLessThanOrEqual(max);
        expect(group * entries).toBeGreaterThanOrEqual(max * 0.98);
        expect(entries).toBeLessThanOrEqual(1000);
      }),
    );
  });
});
