import * as fc from "fast-check";
import {
  CAP_AT_LEAST,
  fairShares,
  newTurns,
  type Candidate,
  type Supply,
} from "../../../services/scheduler/fairness/fair-shares.ts";

const candidate = (
  reseller_id: string,
  merchant_id: string,
  queue: string,
  over: Partial<Candidate> = {},
): Candidate => ({ queue, reseller_id, merchant_id, template_id: queue, pools: [], ...over });
const supply = (budget: number, over: Partial<Supply> = {}): Supply => ({
  budget,
  pools: new Map(),
  in_flight: { total: 0, templates: new Map() },
  ...over,
});
const sum = (shares: Map<string, number>): number => [...shares.values()].reduce((a, b) => a + b, 0);

describe("round robin", () => {
  test("ten equal tenants: Jain's index over any few passes is at least 0.95", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 10, max: 100 }), { minLength: 10, maxLength: 40 }), (budgets) => {
        const turns = newTurns();
        const got = new Map<string, number>();
        for (const budget of budgets) {
          const shares = fairShares(
            turns,
            Array.from({ length: 10 }, (_, i) => candidate(`r${i}`, "m", `q${i}`)),
            supply(budget),
          );
          for (const [queue, n] of shares) got.set(queue, (got.get(queue) ?? 0) + n);
        }
        const x = Array.from({ length: 10 }, (_, i) => got.get(`q${i}`) ?? 0);
        const jain = x.reduce((a, b) => a + b, 0) ** 2 / (10 * x.reduce((a, b) => a + b * b, 0));
        expect(jain).toBeGreaterThanOrEqual(0.95);
      }),
    );
  });

  test("a template whose callees are in many time zones gets the share of one", () => {
    const zones = Array.from({ length: 9 }, (_, i) => candidate("r", "m", `a~${i}`, { template_id: "a" }));
    const shares = fairShares(newTurns(), [...zones, candidate("r", "m", "b")], supply(20));
    expect([shares.get("b"), sum(shares)]).toEqual([10, 20]);
  });

  const world = fc.array(
    fc.record({
      r: fc.integer({ min: 0, max: 3 }),
      m: fc.integer({ min: 0, max: 2 }),
      wants: fc.integer({ min: 0, max: 50 }),
      pool: fc.constantFrom("a", "b", null),
    }),
    { minLength: 1, maxLength: 30 },
  );
  const of = (w: { r: number; m: number; wants: number; pool: string | null }[]): Candidate[] =>
    w.map((c, i) =>
      candidate(`r${c.r}`, `m${c.m}`, `q${i}`, {
        wants: c.wants,
        pools: c.pool === null ? [] : [c.pool],
      }),
    );

  test("work-conserving: budget is left only when no queue could take more; never more than budget, wants and pools", () => {
    fc.assert(
      fc.property(
        world,
        fc.integer({ min: 0, max: 200 }),
        fc.integer({ min: 0, max: 60 }),
        fc.integer({ min: 0, max: 200 }),
        (w, budget, pool, flying) => {
          const candidates = of(w);
          const in_flight = { total: flying, templates: new Map([["q0", flying]]) };
          const shares = fairShares(
            newTurns(),
            candidates,
            supply(budget, {
              pools: new Map([
                ["a", pool],
                ["b", 5],
              ]),
              in_flight,
            }),
          );
          expect(sum(shares)).toBeLessThanOrEqual(budget);
          const drawn = (name: string): number =>
            candidates.filter((c) => c.pools.includes(name)).reduce((n, c) => n + (shares.get(c.queue) ?? 0), 0);
          expect(drawn("a")).toBeLessThanOrEqual(pool);
          expect(drawn("b")).toBeLessThanOrEqual(5);
          for (const c of candidates) expect(shares.get(c.queue) ?? 0).toBeLessThanOrEqual(c.wants ?? 0);
          const couldTake = candidates.filter(
            (c) =>
              (shares.get(c.queue) ?? 0) < (c.wants ?? 0) && c.pools.every((p) => drawn(p) < (p === "a" ? pool : 5)),
          );
          if (sum(shares) < budget) expect(couldTake).toEqual([]);
        },
      ),
    );
  });

  test("no queue starves: with a budget of one, every queue that wants is served within a bounded number of passes", () => {
    fc.assert(
      fc.property(world, (w) => {
        const candidates = of(w)
          .map((c) => ({ ...c, pools: [] }))
          .filter((c) => (c.wants ?? 0) > 0);
        const turns = newTurns();
        const served = new Set<string>();
        for (let i = 0; i < 4 * 3 * 30 * 6; i++)
          for (const queue of fairShares(turns, candidates, supply(1)).keys()) served.add(queue);
        expect(served.size).toBe(candidates.length);
      }),
      { numRuns: 10 },
    );
  });

  test("one tenant with a million due beside a quiet one: the quiet one is served in the same pass", () => {
    const shares = fairShares(
      newTurns(),
      [candidate("busy", "m", "q1", { wants: 1_000_000 }), candidate("quiet", "m", "q2", { wants: 1 })],
      supply(100),
    );
    expect(Object.fromEntries(shares)).toEqual({ q1: 99, q2: 1 });
  });

  test("turns go to resellers first, then their merchants, then their queues", () => {
    const shares = fairShares(
      newTurns(),
      [candidate("a", "1", "q1"), candidate("a", "1", "q2"), candidate("a", "2", "q3"), candidate("b", "1", "q4")],
      supply(40),
    );
    expect(Object.fromEntries(shares)).toEqual({ q1: 5, q2: 5, q3: 10, q4: 20 });
  });

  test("a small budget goes on where the last pass ended", () => {
    const turns = newTurns();
    const candidates = ["a", "b", "c"].map((r) => candidate(r, "m", `q-${r}`));
    expect(Array.from({ length: 6 }, () => [...fairShares(turns, candidates, supply(1)).keys()][0])).toEqual([
      "q-a",
      "q-b",
      "q-c",
      "q-a",
      "q-b",
      "q-c",
    ]);
  });
});

describe("the cap of one template", () => {
  const busy = candidate("a", "1", "busy");
  const other = candidate("b", "1", "other", { wants: 10 });
  test("beyond it a template gets only what no other takes", () => {
    const in_flight = { total: 100, templates: new Map([["busy", 25]]) };
    expect(
      Object.fromEntries(fairShares(newTurns(), [busy, { ...other, wants: 32 }], supply(40, { in_flight }))),
    ).toEqual({ busy: 8, other: 32 });
    expect(Object.fromEntries(fairShares(newTurns(), [busy, other], supply(60, { in_flight })))).toEqual({
      busy: 50,
      other: 10,
    });
    expect(
      Object.fromEntries(
        fairShares(newTurns(), [busy], supply(60, { in_flight: { total: 500, templates: new Map([["busy", 400]]) } })),
      ),
    ).toEqual({ busy: 60 });
  });
  test("it is a tenth of all under way, but thirty at least", () => {
    const in_flight = { total: 1000, templates: new Map([["busy", 90]]) };
    const shares = fairShares(newTurns(), [busy, { ...other, wants: 1000 }], supply(100, { in_flight }));
    expect(shares.get("busy")).toBe(10);
    expect(CAP_AT_LEAST).toBe(30);
  });
});

test("twenty thousand queues that share a dry pool cost little", () => {
  const candidates = Array.from({ length: 20_000 }, (_, i) =>
    candidate(`r${i % 50}`, `m${i % 500}`, `q${i}`, { pools: ["carrier"] }),
  );
  const began = performance.now();
  expect(sum(fairShares(newTurns(), candidates, supply(100, { pools: new Map([["carrier", 3]]) })))).toBe(3);
  expect(performance.now() - began).toBeLessThan(3000);
});
