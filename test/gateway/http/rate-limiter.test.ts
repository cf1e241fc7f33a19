import { fixedWindowLimiter } from "../../../services/gateway/http/rate-limiter.ts";

describe("the fixed-window limiter", () => {
  test("at most the limit in a window, whatever other keys use; then a new window", () => {
    const limiter = fixedWindowLimiter(2, 60_000, 10);
    expect([0, 10, 20].map((at) => limiter.acquirePermit("a", at))).toEqual([
      { allowed: true, limit: 2, remaining: 1, reset_seconds: 60 },
      { allowed: true, limit: 2, remaining: 0, reset_seconds: 60 },
      { allowed: false, limit: 2, remaining: 0, reset_seconds: 60 },
    ]);
    expect(limiter.acquirePermit("b", 30).allowed).toBe(true);
    expect(limiter.acquirePermit("a", 59_999)).toMatchObject({ allowed: false, reset_seconds: 1 });
    expect(limiter.acquirePermit("a", 60_000)).toMatchObject({ allowed: true, remaining: 1, reset_seconds: 60 });
  });
  test("a cost counts in full, and what comes while anything is left may overdraw it", () => {
    const limiter = fixedWindowLimiter(10, 60_000, 10);
    expect([8, 500, 1, 0].map((cost) => limiter.acquirePermit("a", 0, cost).allowed)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(limiter.acquirePermit("a", 60_000, 3)).toMatchObject({ allowed: true, remaining: 7 });
  });
  test("a refund counts no more, and never goes below zero", () => {
    const limiter = fixedWindowLimiter(1, 1000, 10);
    limiter.refund("a");
    expect(limiter.acquirePermit("a", 0).allowed).toBe(true);
    limiter.refund("a");
    limiter.refund("a");
    expect([limiter.acquirePermit("a", 1).allowed, limiter.acquirePermit("a", 2).allowed]).toEqual([true, false]);
  });
  test("it holds no more keys than its bound: the key used longest ago goes", () => {
    const limiter = fixedWindowLimiter(1, 1000, 2);
    for (const key of ["a", "b", "c"]) limiter.acquirePermit(key, 0);
    expect(["b", "c", "a"].map((key) => limiter.acquirePermit(key, 1).allowed)).toEqual([false, false, true]);
  });
});
