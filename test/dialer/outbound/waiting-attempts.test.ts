import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";

const clock = virtualClock();
let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({ clock });
});
afterAll(() => d.stop());
beforeEach(() => d.reset());

const RATE = { configuration_id: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff", max_calls: 5, window_seconds: 60 };
const renewals = (order: DialJob) => d.toldOf(order).filter((t) => t.what === "leads.extend").length;
const dialled = (order: DialJob) => d.dials.filter((to) => to === order.to).length;

/** An attempt whose scheduler is silent: its answer comes when the test says. */
async function waiting(): Promise<{ order: DialJob; answer(): void }> {
  const silence = Promise.withResolvers<void>();
  let asked = false;
  d.script.grant = async () => {
    asked = true;
    await silence.promise;
    return { granted: true, send_in_ms: 0 };
  };
  const order = d.order("06", { rate_limit: RATE });
  await d.dial(order);
  await until("the permit to be asked for", () => asked || undefined);
  return { order, answer: silence.resolve };
}

/** Lets time pass until the lease is renewed once more. */
async function renewed(order: DialJob): Promise<void> {
  const before = renewals(order);
  await until("the lease to be renewed", async () => {
    await clock.advance(MS_PER_SECOND);
    return renewals(order) > before || undefined;
  });
}

describe("an attempt that waits for its permit", () => {
  test("keeps its lead's lease, however long a scheduler is silent", async () => {
    const { order, answer } = await waiting();
    for (let times = 0; times < 4; times++) await renewed(order);
    answer();
    expect(await toldIs(d, order, "leads.release")).toMatchObject({
      reason: "the right to place the call came too late",
    });
    await toldIs(d, order, "numbers.releaseMany");
    expect(dialled(order)).toBe(0);
  });
  test("asks nothing where it is quick", async () => {
    d.script.grant = () => ({ granted: true, send_in_ms: 0 });
    const order = d.order("06", { rate_limit: RATE });
    await d.dial(order);
    await toldIs(d, order, "leads.settle");
    expect([renewals(order), dialled(order)]).toEqual([0, 1]);
  });
  test("dials nothing once the lease is another's, and gives its permit back", async () => {
    const { order, answer } = await waiting();
    d.script.extend = () => false;
    await renewed(order);
    answer();
    await toldIs(d, order, "numbers.releaseMany");
    expect([dialled(order), await d.calls.findOne({ _id: refOf(order) })]).toEqual([0, null]);
  });
});
