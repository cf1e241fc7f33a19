import * as fc from "fast-check";
import { refuseIssue } from "../../../services/auth/tokens/token-rules.ts";
import { slidingWindowLimiter } from "../../../services/auth/login/login-limiter.ts";
import { asAdmin, asMerchant, asReseller, asUser } from "../../../local/harness/stage.ts";

describe("who may issue a server-to-server token where", () => {
  const askers = {
    admin: asAdmin,
    reseller: asReseller("r1"),
    merchant: asMerchant("r1", "m1"),
    user: asUser("r1", "m1"),
  };
  const rows: [keyof typeof askers, "reseller" | "merchant" | "user", string, string | undefined, string | null][] = [
    ["admin", "reseller", "r1", undefined, null],
    ["admin", "merchant", "r2", "m2", null],
    ["admin", "user", "r2", "m2", null],
    ["admin", "merchant", "r1", undefined, "VALIDATION_FAILED"],
    ["admin", "user", "r1", undefined, "VALIDATION_FAILED"],
    ["admin", "reseller", "r1", "m1", "VALIDATION_FAILED"],
    ["reseller", "reseller", "r1", undefined, null],
    ["reseller", "merchant", "r1", "m1", null],
    ["reseller", "user", "r1", "m1", null],
    ["reseller", "user", "r1", undefined, "VALIDATION_FAILED"],
    ["reseller", "reseller", "r2", undefined, "FORBIDDEN"],
    ["reseller", "merchant", "r2", undefined, "FORBIDDEN"],
    ["merchant", "user", "r1", "m1", "FORBIDDEN"],
    ["merchant", "reseller", "r1", undefined, "FORBIDDEN"],
    ["user", "user", "r1", "m1", "FORBIDDEN"],
  ];
  test.each(rows)("%s asks for role %s in %s/%s: %s", (asker, role, reseller_id, merchant_id, code) => {
    expect(refuseIssue(askers[asker], { role, reseller_id, merchant_id })?.code ?? null).toBe(code);
  });

  test("a missing merchant_id is named by its path", () => {
    expect(refuseIssue(asAdmin, { role: "merchant", reseller_id: "r1" })?.data?.errors).toEqual([
      { path: "merchant_id", message: "is required" },
    ]);
  });

  test("no asker but an admin ever gets a token outside its reseller", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(askers.reseller, askers.merchant, askers.user),
        fc.constantFrom("reseller" as const, "merchant" as const, "user" as const),
        fc.string().filter((s) => s !== "r1"),
        fc.option(fc.string(), { nil: undefined }),
        (by, role, reseller_id, merchant_id) =>
          refuseIssue(by, { role, reseller_id, merchant_id })?.code === "FORBIDDEN",
      ),
    );
  });
});

describe("the log-in limiter", () => {
  test("admits ten attempts a minute, then gives the seconds to wait, then admits again", () => {
    const t = slidingWindowLimiter(10, 60_000, 100);
    for (let i = 0; i < 10; i++) expect(t.acquirePermit("a", i * 1000)).toBe(0);
    expect(t.acquirePermit("a", 10_000)).toBe(50);
    expect(t.acquirePermit("b", 10_000)).toBe(0);
    expect(t.acquirePermit("a", 59_999)).toBe(1);
    expect(t.acquirePermit("a", 60_000)).toBe(0);
    expect(t.acquirePermit("a", 60_001)).toBe(1);
  });

  test("successful attempts are refunded", () => {
    const t = slidingWindowLimiter(2, 60_000, 100);
    for (let i = 0; i < 50; i++) {
      expect(t.acquirePermit("a", i)).toBe(0);
      t.refund("a");
    }
    expect(t.acquirePermit("a", 100)).toBe(0);
    expect(t.acquirePermit("a", 100)).toBe(0);
    expect(t.acquirePermit("a", 100)).toBe(60);
  });

  test("no window of a minute holds more than ten attempts, whatever the times", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 }), (gaps) => {
        const t = slidingWindowLimiter(10, 60_000, 10);
        let now = 0;
        const taken: number[] = [];
        for (const gap of gaps) {
          now += gap;
          if (t.acquirePermit("a", now) === 0) taken.push(now);
        }
        return taken.every((end) => taken.filter((at) => at > end - 60_000 && at <= end).length <= 10);
      }),
    );
  });

  test("forgets the key used longest ago when it holds too many", () => {
    const t = slidingWindowLimiter(1, 60_000, 2);
    t.acquirePermit("a", 0);
    t.acquirePermit("b", 1);
    t.acquirePermit("a", 2);
    t.acquirePermit("c", 3);
    expect(t.acquirePermit("a", 4)).toBeGreaterThan(0);
    expect(t.acquirePermit("b", 5)).toBe(0);
  });
});
