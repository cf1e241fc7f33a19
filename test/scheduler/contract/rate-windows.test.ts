import scheduler from "../../../services/scheduler/scheduler.service.ts";
import { rateWindowSchema } from "../../../services/scheduler/limits/rate-windows.model.ts";
import { rateWindows, type RateWindows } from "../../../services/scheduler/limits/rate-windows.repository.ts";
import type { RateLimit } from "../../../services/scheduler/limits/rules/sliding-window.ts";
import type { ResultOf } from "../../../shared/bus/bus.ts";
import { openStore, type Store } from "../../../shared/database/mongo.ts";
import { setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { clockedStore, type ClockedStore } from "../fixtures/clocked-store.ts";
import { askOnce, expectKept, LIMITS } from "../fixtures/grants.ts";

/** Rate limits by a database whose time moves when told to; rate-windows.slow.test.ts has the same on any database, in real time. */
let database: ClockedStore;
let store: Store;
let rates: RateWindows;
beforeAll(async () => {
  database = await clockedStore();
  store = openStore(database.uri);
  rates = rateWindows(store.model("rate_windows", rateWindowSchema), () => null);
  await database.opening(() => store.open());
});
afterAll(async () => {
  await store.close();
  await database.close();
});

/** Between two questions of one asker. */
const STEP_MS = 100;

/** So many askers at once ask again and again for `ms`; the instants of all grants. */
async function drive(
  id: string,
  limit: RateLimit,
  askers: number,
  ms: number,
  slack_ms: () => number,
): Promise<number[]> {
  const grants: number[] = [];
  const asker = async (): Promise<void> => {
    // until there is none for it
    while ((await askOnce(rates, id, limit, slack_ms(), grants)) === null);
  };
  for (let at = 0; at < ms; at += STEP_MS) {
    await Promise.all(Array.from({ length: askers }, asker));
    await database.clock.advance(STEP_MS);
  }
  return grants;
}

test.each(LIMITS)("at most $max in any window of $window_ms ms, with many askers at once", async (limit) => {
  const slack = (): number => (Math.random() < 0.5 ? 0 : Math.floor(Math.random() * limit.window_ms));
  const grants = await drive(`w:${limit.max}:${limit.window_ms}`, limit, 6, 1200, slack);
  expectKept(limit, grants);
  expect(grants.length).toBeGreaterThanOrEqual(2 * limit.max);
});

test("nearly all of the limit can be used", async () => {
  const limit = { max: 20, window_ms: 2000 };
  const began = database.clock.now().getTime();
  const grants = await drive("used", limit, 4, 6500, () => 1000);
  expectKept(limit, grants);
  expect(grants.filter((at) => at < began + 3 * 2000).length).toBeGreaterThanOrEqual(Math.floor(0.95 * 3 * limit.max));
});

describe("grants over the bus", () => {
  let stage: Stage;
  const configuration_id = "44444444-4444-4444-8444-444444444444";
  /** What the account takes. */
  const PER_SECOND = 5;
  /** The database's clock counts whole milliseconds, and is known to one of them. */
  const CLOCKS_MS = 2;
  beforeAll(async () => {
    stage = await database.opening(() =>
      setStage({
        clock: database.clock,
        env: {
          MONGODB_URI: database.uri,
          PROVIDER_ONE_CALLS_PER_SECOND: String(PER_SECOND),
          PROVIDER_TWO_CALLS_PER_SECOND: "0",
        },
        services: [
          scheduler,
          standIn("leads", { heads: () => ({ heads: [], next: null }) }),
          ...(["config", "merchants", "blacklist", "numbers", "dialer"] as const).map((name) => standIn(name, {})),
        ],
      }),
    );
  });
  afterAll(() => stage.stop());
  // what was granted before has left every window
  beforeEach(() => database.clock.pass(61_000));
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
    expect(await ask("PROVIDER_TWO", null)).toEqual({ granted: true, send_in_ms: 0 });
    for (let i = 0; i < 3; i++) expect(await ask("PROVIDER_ONE", 3)).toMatchObject({ granted: true });
    for (let i = 0; i < 10; i++)
      expect(await ask("PROVIDER_ONE", 3)).toMatchObject({ granted: false, why: "rate_limit" });
    expect(await ask("PROVIDER_ONE", null)).toMatchObject({ granted: true });
    expect(await ask("PROVIDER_ONE", null)).toMatchObject({ granted: true });
    const refused = await ask("PROVIDER_ONE", null);
    expect(refused).toMatchObject({ granted: false, why: "carrier_limit" });
    if (!refused.granted)
      expect(Date.parse(refused.retry_at) - database.clock.now().getTime()).toBeLessThanOrEqual(1100 + CLOCKS_MS);
  });

  test("who can wait is paced: the grants lie apart as the account allows", async () => {
    const sends: number[] = [];
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const answer = await ask("PROVIDER_ONE", 1000, 2500);
        if (answer.granted) sends.push(answer.send_in_ms);
      }),
    );
    expect(sends.length).toBeGreaterThanOrEqual(11);
    // after every five calls at least a second and what a grant is good for
    sends.sort((a, b) => a - b);
    expect(sends[5]).toBeGreaterThanOrEqual(1100 - CLOCKS_MS);
    expect(sends[10]).toBeGreaterThanOrEqual(2200 - CLOCKS_MS);
  });

  test.each([
    ["of the account", "PROVIDER_ONE", null],
    ["of the configuration", "PROVIDER_TWO", 50],
    ["of both", "PROVIDER_ONE", 50],
    ["of none", "PROVIDER_TWO", null],
  ] as const)(
    "an asker that needs time to get ready is given a later instant: limit %s",
    async (_name, provider, max_calls) => {
      const rate_limit = max_calls === null ? null : { configuration_id, max_calls, window_seconds: 60 };
      for (let i = 0; i < PER_SECOND; i++) {
        const answer = await stage.bus.call("scheduler.grant", {
          provider,
          rate_limit,
          max_wait_ms: 4000,
          min_wait_ms: 2000,
        });
        expect(answer).toMatchObject({ granted: true });
        if (answer.granted) {
          expect(answer.send_in_ms).toBeGreaterThanOrEqual(2000 - CLOCKS_MS);
          expect(answer.send_in_ms).toBeLessThanOrEqual(2000 + CLOCKS_MS);
        }
      }
    },
  );

  test("an account that asked for a pause gets none", async () => {
    await stage.bus.call("scheduler.slow", {
      provider: "PROVIDER_TWO",
      until: new Date(database.clock.now().getTime() + 60_000).toISOString(),
      why: "429",
    });
    expect(await ask("PROVIDER_TWO", null)).toMatchObject({ granted: false, why: "carrier_limit" });
    expect(await ask("PROVIDER_TWO", 3)).toMatchObject({ granted: false, why: "carrier_limit" });
    expect(await ask("PROVIDER_ONE", 3)).toMatchObject({ granted: true });
  });
});
