import scheduler from "../../../services/scheduler/scheduler.service.ts";
import { rateWindowSchema } from "../../../services/scheduler/limits/rate-windows.model.ts";
import { rateWindows, type RateWindows } from "../../../services/scheduler/limits/rate-windows.repository.ts";
import {
  layoutFor,
  permitsAt,
  windowMs,
  type RateLimit,
} from "../../../services/scheduler/limits/rules/sliding-window.ts";
import type { ResultOf } from "../../../shared/bus/bus.ts";
import { openStore, type Store } from "../../../shared/database/mongo.ts";
import { freshDatabase, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";

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

/** So often something is tried that a machine standing still can spoil, but never bring about. */
const GOES = 4;

/** Askers side by side, each asking as fast as it can for `ms`; the instants of all grants, in order. */
async function drive(
  id: string,
  limit: RateLimit,
  askers: number,
  ms: number,
  slack_ms: () => number,
): Promise<number[]> {
  const end = performance.now() + ms;
  const grants: number[] = [];
  await Promise.all(
    Array.from({ length: askers }, async () => {
      while (performance.now() < end) {
        const taken = await rates.acquire(id, limit, { not_before: null, slack_ms: slack_ms() });
        if (taken.granted) {
          grants.push(taken.at.getTime());
          expect(taken.at.getTime()).toBeGreaterThanOrEqual(taken.asked_at.getTime());
        } else await rest(Math.min(50, taken.next.getTime() - Date.now()));
      }
    }),
  );
  return grants.sort((a, b) => a - b);
}

/** The shortest time in which max + 1 grants lie. */
const tightest = (grants: readonly number[], max: number): number =>
  Math.min(Number.POSITIVE_INFINITY, ...grants.slice(max).map((at, i) => at - (grants[i] ?? 0)));

describe("many askers at once", () => {
  const LIMITS: RateLimit[] = [
    { max: 1, window_ms: 200 },
    { max: 3, window_ms: 250 },
    { max: 7, window_ms: 500 },
    { max: 40, window_ms: 300 },
    { max: 150, window_ms: 400 },
  ];
  /** The grants of each limit, asked for side by side. */
  let granted: number[][];
  beforeAll(async () => {
    granted = await Promise.all(
      LIMITS.map((limit) =>
        drive(`w:${limit.max}:${limit.window_ms}`, limit, 12, 1800, () =>
          Math.random() < 0.5 ? 0 : Math.floor(Math.random() * limit.window_ms),
        ),
      ),
    );
  });

  test.each(LIMITS.map((limit, i) => ({ ...limit, i })))(
    "at most $max in any window of $window_ms ms, with many askers at once",
    ({ i, ...limit }) => {
      const grants = granted[i] ?? [];
      expect(tightest(grants, limit.max)).toBeGreaterThanOrEqual(windowMs(limit));
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
  expect(tightest(grants, limit.max)).toBeGreaterThanOrEqual(windowMs(limit));
  const begin = grants[0] ?? 0;
  expect(grants.filter((at) => at < begin + windowMs(limit)).length).toBeGreaterThanOrEqual(limit.max * 0.97);
});

test("nearly all of the limit can be used", async () => {
  const limit = { max: 20, window_ms: 2000 };
  // what askers that a full machine holds up leave unused is not the limit's: they get another go
  let most = 0;
  for (let go = 0; go < GOES && most < Math.floor(0.95 * 3 * limit.max); go++) {
    const began = Date.now();
    const grants = await drive(`used:${go}`, limit, 4, 6500, () => 1000);
    expect(tightest(grants, limit.max)).toBeGreaterThanOrEqual(windowMs(limit));
    most = Math.max(most, grants.filter((at) => at >= began && at < began + 3 * 2000).length);
  }
  expect(most).toBeGreaterThanOrEqual(Math.floor(0.95 * 3 * limit.max));
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

/** The database's clock counts whole milliseconds, and is known to a part of a round trip. */
const CLOCKS_MS = 10;
/** What the scheduler knows of the database's clock may be late by a round trip, which takes this long on a machine that is busy with other tests. */
const ROUND_TRIP_MS = 200;

describe("grants over the bus", () => {
  let stage: Stage;
  const configuration_id = "44444444-4444-4444-8444-444444444444";
  /** Asked for within this time, all grants lie in one second of the account. */
  const WITHIN_MS = 900;
  const started = async (perSecond: number): Promise<void> => {
    stage = await setStage({
      env: { PROVIDER_ONE_CALLS_PER_SECOND: String(perSecond), PROVIDER_TWO_CALLS_PER_SECOND: "0" },
      services: [
        scheduler,
        standIn("leads", { heads: () => ({ heads: [], next: null }) }),
        ...(["config", "merchants", "blacklist", "numbers", "dialer"] as const).map((name) => standIn(name, {})),
      ],
    });
  };
  afterEach(() => stage.stop());
  const ask = (
    provider: "PROVIDER_ONE" | "PROVIDER_TWO",
    max_calls: number | null,
    max_wait_ms = 0,
  ): Promise<ResultOf<"scheduler.grant">> =>
    stage.bus.call("scheduler.grant", {
      provider,
      rate_limit: max_calls === null ? null : { configuration_id, max_calls, window_seconds: 60 },
      max_wait_ms,
    });

  test("without limits always; with a limit of the configuration up to it; its refusal takes no token of the account", async () => {
    for (let go = 1; ; go++) {
      await started(5);
      expect(await ask("PROVIDER_TWO", null)).toEqual({ granted: true, send_in_ms: 0 });
      const began = performance.now();
      for (let i = 0; i < 3; i++) expect(await ask("PROVIDER_ONE", 3)).toMatchObject({ granted: true });
      for (let i = 0; i < 10; i++)
        expect(await ask("PROVIDER_ONE", 3)).toMatchObject({ granted: false, why: "rate_limit" });
      expect(await ask("PROVIDER_ONE", null)).toMatchObject({ granted: true });
      expect(await ask("PROVIDER_ONE", null)).toMatchObject({ granted: true });
      const refused = await ask("PROVIDER_ONE", null);
      // past its second the account may dial again
      if (performance.now() - began < WITHIN_MS || go === GOES) {
        expect(refused).toMatchObject({ granted: false, why: "carrier_limit" });
        if (!refused.granted) expect(Date.parse(refused.retry_at) - Date.now()).toBeLessThanOrEqual(1200);
        return;
      }
      await stage.stop();
    }
  });

  test("who can wait is paced: the grants lie apart as the account allows", async () => {
    await started(5);
    const sends: number[] = [];
    const began = performance.now();
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const answer = await ask("PROVIDER_ONE", 1000, 2500);
        if (answer.granted) sends.push(performance.now() + answer.send_in_ms);
      }),
    );
    expect(sends.length).toBeGreaterThanOrEqual(11);
    // an answer may come late, never early: after every five calls at least a second and what a grant is good for
    sends.sort((a, b) => a - b);
    expect(sends[5]).toBeGreaterThanOrEqual(began + 1100 - CLOCKS_MS);
    expect(sends[10]).toBeGreaterThanOrEqual(began + 2200 - CLOCKS_MS);
  });

  test.each([
    ["of the account", "PROVIDER_ONE", null],
    ["of the configuration", "PROVIDER_TWO", 50],
    ["of both", "PROVIDER_ONE", 50],
    ["of none", "PROVIDER_TWO", null],
  ] as const)(
    "an asker that needs time to get ready is given a later instant: limit %s",
    async (_name, provider, max_calls) => {
      await started(50);
      const rate_limit = max_calls === null ? null : { configuration_id, max_calls, window_seconds: 60 };
      for (let i = 0; i < 5; i++) {
        const answer = await stage.bus.call("scheduler.grant", {
          provider,
          rate_limit,
          max_wait_ms: 4000,
          min_wait_ms: 2000,
        });
        expect(answer).toMatchObject({ granted: true });
        if (answer.granted) {
          expect(answer.send_in_ms).toBeGreaterThan(100);
          expect(answer.send_in_ms).toBeLessThanOrEqual(2000 + ROUND_TRIP_MS);
        }
      }
    },
  );

  test("an account that asked for a pause gets none", async () => {
    await started(0);
    await stage.bus.call("scheduler.slow", {
      provider: "PROVIDER_TWO",
      until: new Date(Date.now() + 60_000).toISOString(),
      why: "429",
    });
    expect(await ask("PROVIDER_TWO", null)).toMatchObject({ granted: false, why: "carrier_limit" });
    expect(await ask("PROVIDER_TWO", 3)).toMatchObject({ granted: false, why: "carrier_limit" });
    expect(await ask("PROVIDER_ONE", 3)).toMatchObject({ granted: true });
  });
});
