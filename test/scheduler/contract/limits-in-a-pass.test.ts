import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { clockedStore, type ClockedStore } from "../fixtures/clocked-store.ts";
import { id, schedulerStage, type SchedulerStage } from "../fixtures/scheduler-world.ts";

type Order = ParamsOf<"dialer.dialMany">["orders"][number];
let database: ClockedStore;
let s: SchedulerStage;
const asked: Promise<unknown>[] = [];
const refused: string[] = [];

beforeAll(async () => {
  // rate windows go by the database's clock
  database = await clockedStore();
  s = await database.opening(() =>
    schedulerStage({ PROVIDER_TWO_CALLS_PER_SECOND: "2", MONGODB_URI: database.uri }, database.clock),
  );
});
afterAll(async () => {
  await s.stage.stop();
  await database.close();
});
beforeEach(() => {
  s.reset();
  asked.length = 0;
  refused.length = 0;
  // a dialler asks for its grant when its own checks are done, some passes later
  s.dial = (orders) =>
    orders.map((o) => {
      asked.push(grantLater(o));
      return true;
    });
});

async function grantLater({ provider, rate_limit, lead_id }: Order): Promise<void> {
  await s.clock.wait(150);
  const answer = await s.stage.bus.call("scheduler.grant", { provider, rate_limit, max_wait_ms: 2000 });
  if (!answer.granted) refused.push(lead_id);
}

test("no more is claimed than the rate limit permits, also while permits are still to be asked for; callees on the whitelist don't wait", async () => {
  s.configure({
    id: "33333333-3333-4333-8333-333333333333",
    rate_limit_enabled: true,
    rate_limit_max_calls: 3,
    rate_limit_window_seconds: 3600,
    rate_limit_whitelist: ["+14155552655"],
  });
  for (let n = 0; n < 20; n++) s.put(n);
  s.put(90, { phone_number: "+14155552655", due_at: new Date(s.clock.now().getTime() + 1).toISOString() });
  await s.run("three and the one on the whitelist", () => s.dialled().length >= 4, 10);
  await s.pass(6000);
  await Promise.all(asked);
  expect(s.dialled()).toHaveLength(4);
  expect(s.dialled()).toContain(id(90));
  expect(s.of("dial").find((o) => o["lead_id"] === id(90))).toMatchObject({ rate_limit: null });
  expect(s.of("dial").find((o) => o["lead_id"] === id(0))).toMatchObject({
    rate_limit: { max_calls: 3, window_seconds: 3600 },
  });
  expect(refused).toEqual([]);
});

test("no more is claimed than the account takes: two a second, and no permit is refused; the carrier's back-off stops all", async () => {
  s.configure({ calling_provider: "PROVIDER_TWO" });
  for (let n = 100; n < 120; n++) s.put(n);
  const began = s.clock.monotonicMs();
  await s.run("six dials", () => s.dialled().length >= 6, 10);
  expect(s.clock.monotonicMs() - began).toBeGreaterThanOrEqual(2000);
  expect(s.dialled().length).toBeLessThanOrEqual(8);
  await s.stage.bus.call("scheduler.slow", {
    provider: "PROVIDER_TWO",
    until: new Date(s.clock.now().getTime() + 600_000).toISOString(),
    why: "429",
  });
  const before = s.dialled().length;
  await s.pass(3000);
  expect(s.dialled().length).toBeLessThanOrEqual(before + 2);
});
