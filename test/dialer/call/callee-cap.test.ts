import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { ServiceBroker } from "moleculer";
import { lastAnswerAt } from "../../../services/dialer/call/call-deadlines.ts";
import { acceptInbound, calleeKeyOf } from "../../../services/dialer/call/new-calls.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { CALLEE_BUSY, CALLEE_CAPPED } from "../../../shared/contracts/records/explanation.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { until } from "../../../local/harness/stage.ts";
import { needing } from "../../fixtures/database-abilities.ts";
import { servedBy } from "../../fixtures/query-plan.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { callIs, toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";
import { startSecondDialer } from "../fixtures/dialer-stage/second-dialer.ts";

const clock = virtualClock();
const NODES = ["services", "dialer-2"];
let d: DialerStage;
let second: ServiceBroker;
beforeAll(async () => {
  d = await setDialerStage({ clock });
  second = await startSecondDialer(d, clock);
});
afterAll(async () => {
  await second.stop();
  await d.stop();
});
beforeEach(async () => {
  d.reset();
  await clock.advance(61_000);
  clock.set(new Date());
});

const HOUR = 3600;
const RECHECK_HOURS = 6;
const BUSY = "06";
const REFUSED = "10";
const tick = () => clock.advance(200);
const dialled = (to: string): number => d.dials.filter((number) => number === to).length;
const endOf = (order: DialJob) => callIs(d, order, "the end", (c) => c.state === "ENDED", tick);
const releaseOf = (order: DialJob) => toldIs(d, order, "leads.release", tick);
async function dialAt(node: string, order: DialJob): Promise<void> {
  const { taken } = await d.stage.bus.call("dialer.dialMany", { orders: [order] }, { node });
  expect(taken).toEqual([true]);
}
/** A call to the number that ended so many hours ago; when it was counted from. */
async function called(to: string, hours_ago: number, over: Partial<DialJob> = {}, node = "services"): Promise<Date> {
  const order = d.order(BUSY, { to, ...over });
  await dialAt(node, order);
  await endOf(order);
  const created_at = plusSeconds(clock.now(), -hours_ago * HOUR);
  const deadline_at = plusSeconds(created_at, 10);
  await d.calls.updateOne({ _id: refOf(order) }, { $set: { created_at, deadline_at } });
  return lastAnswerAt(deadline_at);
}

const callsOf = (to: string, max_calls_per_callee: object) =>
  d.stage.bus.call("dialer.calleeCalls", {
    callees: [{ reseller_id: "r1", merchant_id: null, to, max_calls_per_callee }],
  });

needing("plans", () => {
  test("calls to a callee are counted by an index, newest first, without a sort", async () => {
    const { to } = d.order(BUSY);
    expect(await servedBy(d.stage.uri, "calls", () => callsOf(to, { per_week: 3 }))).toEqual({
      index: "counted_by_callee",
      sorted: false,
    });
  });
});

describe("a merchant's cap on calls per callee", () => {
  const max_calls_per_callee = { per_day: 1 };

  test("a call to the other spelling of its phone counts, also one that was written before they were known as one", async () => {
    const free_at = await called("+5491123456706", 1);
    for (const to of ["+541123456706", "+5491123456706"])
      expect((await callsOf(to, max_calls_per_callee)).callees).toMatchObject([
        { day: 1, free_at: expect.any(String) },
      ]);
    expect(free_at.getTime()).toBeLessThan(clock.now().getTime());
  });

  test("while one spelling of a phone is called the other waits", async () => {
    const [one, other] = [d.order(BUSY, { to: "+525512345706" }), d.order(BUSY, { to: "+5215512345706" })];
    await Promise.all([dialAt("services", one), dialAt("services", other)]);
    await until("one of them to be dialled", async () => {
      await tick();
      return dialled(one.to) + dialled(other.to) > 0 || undefined;
    });
    expect((await releaseOf(dialled(one.to) === 1 ? other : one))["reason"]).toBe(CALLEE_BUSY);
    expect(dialled(one.to) + dialled(other.to)).toBe(1);
    await endOf(dialled(one.to) === 1 ? one : other);
  });

  test("of many leads with one number at one instant at two dialers, one call is placed; the others wait, each until one more fits", async () => {
    const orders = Array.from({ length: 10 }, () => d.order(BUSY, { max_calls_per_callee }));
    const to = orders[0]?.to ?? "";
    const same = orders.map((order) => ({ ...order, to }));
    await Promise.all(same.map((order, i) => dialAt(NODES[i % 2] ?? "", order)));
    const decided = async () => {
      await tick();
      const told = d.told.filter((t) => t.what === "leads.release" || t.what === "leads.settle");
      return same.every((o) => told.some((t) => t.params["lead_id"] === o.lead_id)) || undefined;
    };
    await until("all to be decided", decided);
    expect(dialled(to)).toBe(1);
    const reasons = d.told
      .filter((t) => t.what === "leads.release" && same.some((o) => o.lead_id === t.params["lead_id"]))
      .map((t) => t.params["reason"]);
    expect(reasons).toHaveLength(9);
    expect([CALLEE_BUSY, CALLEE_CAPPED]).toEqual(expect.arrayContaining([...new Set(reasons)]));
    const again = same.map((order) => ({ ...order, lead_id: randomUUID() }));
    await Promise.all(again.map((order, i) => dialAt(NODES[i % 2] ?? "", order)));
    for (const order of again) expect(await releaseOf(order)).toMatchObject({ reason: CALLEE_CAPPED });
    expect(dialled(to)).toBe(1);
  });

  test.each(NODES)("an attempt that was checked before another one called is not dialled (%s)", async (node) => {
    const late = d.order(BUSY, { max_calls_per_callee });
    const gate = Promise.withResolvers<void>();
    d.script.prepare = () => gate.promise;
    await dialAt(node, late);
    await toldIs(d, late, "conversation.prepareMany", tick);
    d.script.prepare = () => undefined;
    // preparations of one dialer wait for each other
    await called(
      late.to,
      0,
      { max_calls_per_callee },
      NODES.find((other) => other !== node),
    );
    gate.resolve();
    expect(await releaseOf(late)).toMatchObject({ reason: CALLEE_CAPPED });
    expect(await callIs(d, late, "its end", (c) => c.ended === "not_dialled", tick)).not.toHaveProperty("cap_key");
    expect(dialled(late.to)).toBe(1);
  });

  test("a lead over the cap comes back at the first instant at which it fits", async () => {
    const { to } = d.order(BUSY);
    const counts_from = await called(to, 20);
    const order = d.order(BUSY, { to, max_calls_per_callee });
    await d.dial(order);
    expect(await releaseOf(order)).toMatchObject({ due_at: plusSeconds(counts_from, 24 * HOUR).toISOString() });
  });

  test("and is looked at again before, for the cap may be raised", async () => {
    const { to } = d.order(BUSY);
    await called(to, 1);
    const order = d.order(BUSY, { to, max_calls_per_callee });
    await d.dial(order);
    const { due_at } = await releaseOf(order);
    const hours = (Date.parse(String(due_at)) - clock.now().getTime()) / (HOUR * 1000);
    expect(hours).toBeGreaterThan(RECHECK_HOURS - 0.1);
    expect(hours).toBeLessThanOrEqual(RECHECK_HOURS);
    const raised = d.order(BUSY, { to, max_calls_per_callee: { per_day: 2 } });
    await d.dial(raised);
    await endOf(raised);
    expect(dialled(to)).toBe(2);
  });

  test("counts the last seven days for the week", async () => {
    const { to } = d.order(BUSY);
    const cap = { max_calls_per_callee: { per_day: 5, per_week: 2 } };
    await called(to, 30);
    const second_counts_from = await called(to, 164);
    const order = d.order(BUSY, { to, ...cap });
    await d.dial(order);
    expect(await releaseOf(order)).toMatchObject({
      reason: CALLEE_CAPPED,
      due_at: plusSeconds(second_counts_from, 7 * 24 * HOUR).toISOString(),
    });
    await d.calls.updateMany(
      { cap_key: calleeKeyOf(order) },
      { $set: { created_at: plusSeconds(clock.now(), -170 * HOUR) } },
    );
    const next = d.order(BUSY, { to, ...cap });
    await d.dial(next);
    await endOf(next);
  });

  test("a call that the carrier refused, and one that never left, give their place back", async () => {
    const refused = d.order(REFUSED, { max_calls_per_callee });
    await d.dial(refused);
    expect(await endOf(refused)).not.toHaveProperty("cap_key");
    const again = d.order(REFUSED, { to: refused.to, max_calls_per_callee });
    await d.dial(again);
    await endOf(again);
    expect(dialled(refused.to)).toBe(2);
  });

  test("calls of another tenant, and calls that came from the callee, do not count", async () => {
    const order = d.order(BUSY, { max_calls_per_callee });
    await called(order.to, 1, { reseller_id: "another" });
    const { payload: _payload, pre_checks: _checks, pre_check_defers: _defers, rate_limit: _limit, ...kept } = order;
    const inbound = acceptInbound({ ...kept, lead_id: randomUUID() }, { call_id: `CA${randomUUID()}`, leg_id: null }, "node", clock.now(), true); // prettier-ignore
    expect(inbound).not.toHaveProperty("cap_key");
    await d.dial(order);
    await endOf(order);
    expect(dialled(order.to)).toBe(2);
  });

  test("the scheduler is told how many calls count, and when one more fits", async () => {
    const { to } = d.order(BUSY);
    const counts_from = await called(to, 1);
    await called(to, 30);
    const ask = (cap: object) => callsOf(to, cap);
    expect(await ask({ per_day: 1, per_week: 9 })).toEqual({
      callees: [{ day: 1, week: 2, free_at: plusSeconds(counts_from, 24 * HOUR).toISOString() }],
    });
    expect(await ask({ per_week: 3 })).toEqual({ callees: [{ day: 1, week: 2, free_at: null }] });
  });
});
