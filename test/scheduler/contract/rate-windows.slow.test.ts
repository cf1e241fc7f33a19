import { rateWindowSchema } from "../../../services/scheduler/limits/rate-windows.model.ts";
import { rateWindows, type RateWindows } from "../../../services/scheduler/limits/rate-windows.repository.ts";
import {
  layoutFor,
  permitsAt,
  windowMs,
  type RateLimit,
} from "../../../services/scheduler/limits/rules/sliding-window.ts";
import { openStore, type Store } from "../../../shared/database/mongo.ts";
import { freshDatabase } from "../../../local/harness/stage.ts";
import { askOnce, expectKept, LIMITS } from "../fixtures/grants.ts";

/** The windows on the database of the tests, whichever it is, by its own clock. */
let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;
let rates: RateWindows;
beforeAll(async () => {
  database = await freshDatabase();
  store = openStore(database.uri);
  rates = rateWindows(store.model("rate_windows", rateWindowSchema), () => null);
  await store.open();
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

/** Askers side by side, each asking as fast as it can for `ms`; the instants of all grants. */
async function drive(id: string, limit: RateLimit, askers: number, ms: number): Promise<number[]> {
  const end = performance.now() + ms;
  const grants: number[] = [];
  await Promise.all(
    Array.from({ length: askers }, async () => {
      while (performance.now() < end) {
        const slack_ms = Math.random() < 0.5 ? 0 : Math.floor(Math.random() * limit.window_ms);
        const next = await askOnce(rates, id, limit, slack_ms, grants);
        if (next !== null) await rest(Math.min(50, next.getTime() - Date.now()));
      }
    }),
  );
  return grants;
}

describe("many askers at once", () => {
  /** The grants of each limit, asked for side by side. */
  let granted: number[][];
  beforeAll(async () => {
    granted = await Promise.all(LIMITS.map((limit) => drive(`w:${limit.max}:${limit.window_ms}`, limit, 12, 1800)));
  });

  test.each(LIMITS.map((limit, i) => ({ ...limit, i })))(
    "in real time: at most $max in any window of $window_ms ms, with many askers at once",
    ({ i, ...limit }) => {
      const grants = granted[i] ?? [];
      expectKept(limit, grants);
      expect(grants.length).toBeGreaterThanOrEqual(Math.min(2, limit.max) * 2);
    },
  );
});

test("more than 1,000 are kept in coarse entries: never more than the limit, and nearly all of it", async () => {
  const limit = { max: 1300, window_ms: 60_000 };
  const { group, entries } = layoutFor(limit.max);
  expect(entries * group).toBeGreaterThanOrEqual(limit.max * 0.98);
  const grants: number[] = [];
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (grants.length < 1700) {
        const taken = await rates.acquire("coarse", limit, { not_before: null, slack_ms: 200_000 });
        expect(taken.granted).toBe(true);
        if (taken.granted) grants.push(taken.at.getTime());
      }
    }),
  );
  grants.sort((a, b) => a - b);
  expectKept(limit, grants);
  const begin = grants[0] ?? 0;
  expect(grants.filter((at) => at < begin + windowMs(limit)).length).toBeGreaterThanOrEqual(limit.max * 0.97);
});

test("a lowered limit holds at once, a raised one forgets nothing, also when both are asked for in turns", async () => {
  const take = (max: number) => rates.acquire("turns", { max, window_ms: 60_000 }, { not_before: null, slack_ms: 0 });
  for (let i = 0; i < 8; i++) expect(await take(10)).toMatchObject({ granted: true });
  expect(await take(3)).toMatchObject({ granted: false });
  expect(await take(10)).toMatchObject({ granted: true });
  expect(await take(3)).toMatchObject({ granted: false });
  expect(await take(10)).toMatchObject({ granted: true });
  expect(await take(10)).toMatchObject({ granted: false });
  expect(await take(11)).toMatchObject({ granted: true });
  for (let i = 0; i < 20; i++) await take(1200);
  expect(await take(11)).toMatchObject({ granted: false });
});

test("a closed ring grants nothing before, a longer closing stays, and a look shows it", async () => {
  const until = new Date(Date.now() + 60_000);
  await rates.closeUntil("provider:x", until, "429 Retry-After");
  await rates.closeUntil("provider:x", new Date(until.getTime() - 30_000), "sooner");
  expect(await rates.acquire("provider:x", { max: 5, window_ms: 1000 }, { not_before: null, slack_ms: 5000 })).toEqual({
    granted: false,
    next: until,
  });
  const state = (await rates.read(["provider:x"])).get("provider:x") ?? null;
  expect(permitsAt(state, { max: 5, window_ms: 1000 }, new Date())).toEqual({ free: 0, next: until });
  expect(permitsAt(state, null, new Date())).toEqual({ free: 0, next: until });
  expect(state?.closed_why).toBe("429 Retry-After");
});
