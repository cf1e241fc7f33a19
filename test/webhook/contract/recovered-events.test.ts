import { freshDatabase, until, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { deliveryOf, enqueueReports, illReceiver, webhookAlone, type IllReceiver } from "../fixtures/ill-receiver.ts";

/** An event goes out so soon after its receiver is well; its own plan has it in minutes. */
const WITHIN_MS = 10_000;
const STEP_MS = 500;
const PLAN_MS = 300_000;
const FIRST_RETRY_MS = 5500;
/** Longer than a receiver may take. */
const HANGS_MS = 20_000;

const clock = virtualClock(new Date());
let database: Awaited<ReturnType<typeof freshDatabase>>;
let stage: Stage;
let sink: IllReceiver;

beforeEach(async () => {
  database = await freshDatabase();
  stage = await webhookAlone(clock, database.uri);
  sink = await illReceiver();
});
afterEach(async () => {
  await stage.stop();
  sink.close();
  await database.drop();
});

const restart = async (): Promise<void> => {
  await stage.stop();
  stage = await webhookAlone(clock, database.uri);
};
const stateOf = async (id: string) => (await deliveryOf(stage, id)).state;
/** Waits until an event waits for the next try of its plan, minutes away. */
const planned = (id: string): Promise<true> =>
  until("the plan's next try", async () => {
    const { next_try_at } = await deliveryOf(stage, id);
    const inMs = Date.parse(next_try_at ?? "") - clock.now().getTime();
    return (inMs > PLAN_MS / 2 && inMs < PLAN_MS * 2) || undefined;
  });
const delivered = (id: string, step = 0): Promise<true> =>
  until("the event to be delivered", async () => {
    if (step > 0) await clock.advance(step);
    return (await stateOf(id)) === "delivered" || undefined;
  });
/** Whether these are delivered before the time is over. */
const deliveredInTime = async (ids: readonly string[]): Promise<void> => {
  const well = clock.now().getTime();
  for (const id of ids) await delivered(id, STEP_MS / 10);
  expect(clock.now().getTime() - well).toBeLessThan(WITHIN_MS);
};
/** An event that failed twice at a receiver that had answered well shortly before, so that it waits by its own plan. */
async function waitingByPlan(): Promise<string> {
  sink.state.ill = false;
  const [first = ""] = await enqueueReports(stage, sink.url, 1);
  await delivered(first);
  sink.state.ill = true;
  const [id = ""] = await enqueueReports(stage, sink.url, 1);
  await until("its first try", async () => (await deliveryOf(stage, id)).tries.length === 1 || undefined);
  await clock.advance(FIRST_RETRY_MS);
  await planned(id);
  return id;
}

test("an event that waits by its own plan is sent when its receiver, of which others found that it was down, is well", async () => {
  const id = await waitingByPlan();
  const others = await enqueueReports(stage, sink.url, 8);
  await until("the receiver to be paused", async () => (await deliveryOf(stage, id)).host_paused_until ?? undefined);
  sink.state.ill = false;
  await deliveredInTime([...others, id]);
});

test("an event that waits by its own plan is sent when a process starts whose receiver is well, whatever the one before knew", async () => {
  const id = await waitingByPlan();
  sink.state.ill = false;
  await restart();
  await deliveredInTime([id]);
});

test("an event that fails first of its receiver's in a process that was just started is sent when the receiver is well", async () => {
  const id = await waitingByPlan();
  await restart();
  const before = sink.state.requests;
  await until("its first try there", async () => {
    await clock.advance(STEP_MS);
    return sink.state.requests > before || undefined;
  });
  sink.state.ill = false;
  await deliveredInTime([id]);
});

test("an event whose request hung while its receiver became well is sent again at once", async () => {
  const id = await waitingByPlan();
  sink.hangs.add(`msg_${id}`);
  const before = sink.state.underWay;
  const { next_try_at } = await deliveryOf(stage, id);
  await clock.advance(Date.parse(next_try_at ?? "") - clock.now().getTime());
  // in steps so small that its time is not over before it arrives, however late that is
  await until("its next try to hang", async () => {
    await clock.advance(1);
    return sink.state.underWay > before || undefined;
  });
  sink.state.ill = false;
  const [other = ""] = await enqueueReports(stage, sink.url, 1);
  await delivered(other);
  sink.hangs.clear();
  await clock.advance(HANGS_MS);
  await deliveredInTime([id]);
});

test("an address that hangs at a receiver that is well is tried twice for each try of its plan, and no more", async () => {
  const id = await waitingByPlan();
  sink.state.ill = false;
  sink.hangs.add(`msg_${id}`);
  const before = sink.state.requests;
  for (let hours = 0; hours < 2; hours++)
    for (let ms = 0; ms < PLAN_MS * 12; ms += PLAN_MS / 5) {
      const [other = ""] = await enqueueReports(stage, sink.url, 1);
      await delivered(other);
      await clock.advance(PLAN_MS / 5);
    }
  const { tries } = await deliveryOf(stage, id);
  const others = (PLAN_MS * 12 * 2) / (PLAN_MS / 5);
  expect(tries.length).toBeGreaterThan(2);
  expect(sink.state.requests - before - others).toBeLessThanOrEqual((tries.length - 1) * 2);
});
