import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { FORMER_CALL_OPEN } from "../../../shared/contracts/records/explanation.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { callIs, toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";

const clock = virtualClock();
let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({ clock });
});
afterAll(() => d.stop());
beforeEach(async () => {
  d.reset();
  await clock.advance(61_000);
  clock.set(new Date());
});

const tick = () => clock.advance(500);
/** The next attempt of the same lead. */
const nextOf = (order: DialJob): DialJob => ({ ...order, claim_no: order.claim_no + 1 });
const settledFor = (order: DialJob) => d.stage.bus.call("dialer.hangUp", { call_ref: refOf(order) });
const dialled = (to: string): number => d.dials.filter((number) => number === to).length;

/** A conversation on a call whose end the carrier does not report, nor obey. */
async function talking(over: Partial<DialJob> = {}): Promise<DialJob> {
  const order = d.order("07", over);
  await d.fault("lose_callbacks", order);
  await d.dial(order);
  await callIs(d, order, "carrier id", (c) => c.carrier_call_id !== undefined);
  await d.stage.bus.call("dialer.joined", { call_ref: refOf(order), node_id: "services" });
  return order;
}

describe("a call whose attempt is over and whose end the carrier has not confirmed", () => {
  test("keeps the lead's next attempt from being dialled, and names itself", async () => {
    const order = await talking();
    const next = nextOf(order);
    await d.dial(next);
    const release = await toldIs(d, next, "leads.release", tick);
    expect(release).toMatchObject({ claim_no: next.claim_no, reason: FORMER_CALL_OPEN });
    expect(Date.parse(String(release["due_at"]))).toBeGreaterThan(clock.now().getTime());
    expect(dialled(order.to)).toBe(1);
  });

  test("keeps any attempt to that number from being dialled once it is to end, but not while its conversation goes on", async () => {
    const order = await talking();
    await d.calls.updateOne({ _id: refOf(order) }, { $set: { hang_up: "asked" } });
    const other = d.order("07", { to: order.to, reseller_id: "another", merchant_id: null });
    await d.dial(other);
    expect(await toldIs(d, other, "leads.release", tick)).toMatchObject({ reason: FORMER_CALL_OPEN });
    await d.calls.updateOne({ _id: refOf(order) }, { $unset: { hang_up: 1 } });
    const meanwhile = d.order("07", { to: order.to, reseller_id: "another", merchant_id: null });
    await d.dial(meanwhile);
    await callIs(d, meanwhile, "its intent", () => true);
  });

  test("stands in nobody's way from the carrier's word on", async () => {
    const order = await talking();
    await settledFor(order);
    await callIs(d, order, "the end", (c) => c.state === "ENDED", tick);
    expect(await d.calls.findOne({ _id: refOf(order) })).not.toHaveProperty("open_until");
    const next = nextOf(order);
    await d.dial(next);
    await callIs(d, next, "its intent", () => true);
  });

  test("stands in nobody's way past the limit that the carrier was given, whatever the carrier says", async () => {
    const order = await talking();
    await d.calls.updateOne({ _id: refOf(order) }, { $set: { open_until: plusSeconds(clock.now(), -1) } });
    const next = nextOf(order);
    await d.dial(next);
    await callIs(d, next, "its intent", () => true);
  });

  test("is asked to end again and again, each time a little later", async () => {
    const order = await talking();
    await d.calls.updateOne({ _id: refOf(order) }, { $set: { hang_up: "asked", due_at: clock.now() } });
    await d.fault("ignore_hang_up", order).catch(() => undefined);
    await until("a further request", async () => {
      await tick();
      const call = await d.calls.findOne({ _id: refOf(order) });
      return (call?.hang_ups ?? 0) > 0 || call?.state === "ENDED" || undefined;
    });
  });
});
