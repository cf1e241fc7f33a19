import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { acceptInbound } from "../../../services/dialer/call/new-calls.ts";
import type { StoredOrder } from "../../../services/dialer/call/calls.model.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { CALLEE_BUSY } from "../../../shared/contracts/records/explanation.ts";
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

const AT_ONCE = 20;
const tick = () => clock.advance(200);
const dialled = (to: string): number => d.dials.filter((number) => number === to).length;
const releases = (order: DialJob) =>
  d.told.filter((t) => t.what === "leads.release" && t.params["lead_id"] === order.lead_id);
const inbound = ({
  payload: _payload,
  pre_checks: _checks,
  pre_check_defers: _defers,
  rate_limit: _limit,
  ...order
}: DialJob): StoredOrder => ({ ...order, lead_id: randomUUID() });
const callerOf = (order: DialJob, alone: boolean) =>
  acceptInbound(inbound(order), { call_id: `CA${randomUUID()}`, leg_id: null }, "node", clock.now(), alone);
/** A phone that rings and whose carrier is silent. */
async function ringing(): Promise<DialJob> {
  const order = d.order("07");
  await d.fault("lose_callbacks", order);
  await d.dial(order);
  await callIs(d, order, "carrier id", (c) => c.carrier_call_id !== undefined);
  return order;
}

describe("one callee is in one call of a tenant at a time", () => {
  test("of many leads with one number at one instant, one is dialled and the others come back", async () => {
    const first = d.order("07");
    await d.fault("lose_callbacks", first);
    const orders = Array.from({ length: AT_ONCE }, () => d.order("07", { to: first.to }));
    await Promise.all(orders.map((order) => d.dial(order)));
    await until(
      "all to be decided",
      () => orders.filter((o) => releases(o).length > 0).length === AT_ONCE - 1 || undefined,
    );
    expect(dialled(first.to)).toBe(1);
    for (const { params } of orders.flatMap(releases))
      expect(params).toMatchObject({ reason: CALLEE_BUSY, due_at: expect.any(String) });
    for (const order of orders.filter((o) => releases(o).length > 0)) await toldIs(d, order, "numbers.releaseMany");
  });

  test("the same number is called for another tenant meanwhile", async () => {
    const order = await ringing();
    const other = d.order("07", { to: order.to, reseller_id: "another", merchant_id: null });
    await d.dial(other);
    await callIs(d, other, "its intent", () => true);
    const own = d.order("07", { to: order.to });
    await d.dial(own);
    expect(await toldIs(d, own, "leads.release", tick)).toMatchObject({ reason: CALLEE_BUSY });
  });

  test("the next is dialled once the call is over", async () => {
    const order = await ringing();
    await d.stage.bus.call("dialer.hangUp", { call_ref: refOf(order) });
    await callIs(d, order, "the end", (c) => c.state === "ENDED", tick);
    const next = d.order("07", { to: order.to });
    await d.dial(next);
    await callIs(d, next, "its intent", () => true);
  });

  test("also where a version before 0.3.0 ended it, which leaves the callee in its record", async () => {
    const order = await ringing();
    await d.calls.updateOne({ _id: refOf(order) }, { $set: { state: "ENDED", rank: 9, ended: "completed" } });
    const next = d.order("07", { to: order.to });
    await d.dial(next);
    await callIs(d, next, "its intent", () => true);
  });

  test("or once the limit that the carrier was given has passed", async () => {
    const order = await ringing();
    await d.calls.updateOne({ _id: refOf(order) }, { $set: { open_until: plusSeconds(clock.now(), -1) } });
    const next = d.order("07", { to: order.to });
    await d.dial(next);
    await callIs(d, next, "its intent", () => true);
  });

  test.each([
    ["alone", true],
    ["while we call them, too", false],
  ])("whoever calls us, %s, is not called meanwhile", async (_name, alone) => {
    const order = d.order("07");
    await d.calls.insertOne(callerOf(order, alone));
    await d.dial(order);
    expect(await toldIs(d, order, "leads.release", tick)).toMatchObject({ reason: CALLEE_BUSY });
    expect(dialled(order.to)).toBe(0);
  });
});
