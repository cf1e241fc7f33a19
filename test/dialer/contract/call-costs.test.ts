import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import type { Price } from "../../../services/dialer/carriers/carrier-port.ts";
import { plusMs, plusSeconds } from "../../../shared/time/clock.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { asMerchant } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { callIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";
import { leadsStage, M, R, type LeadsStage } from "../../fixtures/leads-stage.ts";

const clock = virtualClock();
let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({ clock, env: { CALL_PRICES: "US=0.014,GB=0.02", COST_CURRENCY: "USD" } });
});
afterAll(() => d.stop());
beforeEach(() => {
  d.reset();
  clock.set(new Date());
});

const pass = () => clock.advance(200);
const charges = (order: DialJob): unknown[] =>
  d
    .toldOf(order)
    .filter((t) => t.params["cost_breakdown"] !== undefined)
    .map(({ params: { cost, cost_breakdown } }) => ({ cost, ...(cost_breakdown as object) }));
const item = (what: string, amount: number, minutes: number, price_per_minute: number | null, currency = "USD") => ({
  what,
  minutes,
  price_per_minute,
  amount,
  currency,
});

/** A call that ended, of which the carrier knows nothing any more, after so many looks for its price. */
async function over(
  talk_seconds: number,
  cost_looks: number,
  more: Partial<CallDoc> = {},
  to = "+14155550111",
): Promise<DialJob> {
  const order = d.order("01", { to });
  const now = clock.now();
  const { payload: _payload, pre_checks: _checks, pre_check_defers: _defers, rate_limit: _limit, ...kept } = order;
  await d.calls.insertOne({
    _id: refOf(order),
    lead_id: order.lead_id,
    claim_no: 1,
    state: "ENDED",
    rank: 9,
    created_at: now,
    order: kept,
    provider: "PROVIDER_ONE",
    carrier_call_id: `CA${randomUUID().replaceAll("-", "")}`,
    placed_at: now,
    answered_at: now,
    ended_at: plusSeconds(now, talk_seconds),
    ended: "completed",
    talk_seconds,
    closed_at: now,
    cost_looks,
    due_at: now,
    ...more,
  });
  return order;
}

/** A callback that told a price, as it is stored; its receiver died before it acted on it. */
async function told(order: DialJob, cost: Price, call_id?: string): Promise<void> {
  const call = await d.calls.findOne({ _id: refOf(order) });
  await d.events.insertOne({
    _id: randomUUID(),
    provider: "PROVIDER_ONE",
    kind: "event",
    ref: refOf(order),
    carrier_call_id: call_id ?? call?.carrier_call_id ?? "",
    progress: [],
    cost,
    body: "",
    received_at: plusMs(clock.now(), -10_000),
    applied: false,
  });
}
const priced = (order: DialJob, cost: number) => callIs(d, order, "a price", (c) => c.cost === cost, pass);

describe("the price table", () => {
  test.each([
    [59, "+14155550121", 0.014, 1, 0.014],
    [61, "+14155550122", 0.028, 2, 0.014],
    [600, "+442079460123", 0.2, 10, 0.02],
  ])("%d s to %s after the last look", async (seconds, to, cost, minutes, price) => {
    const order = await over(seconds, 2, {}, to);
    expect(await callIs(d, order, "a price", (c) => c.cost === cost && c.cost_looks === 3, pass)).toMatchObject({
      cost_currency: "USD",
      cost_what: "price_table",
    });
    expect(charges(order)).toEqual([{ cost, items: [item("price_table", cost, minutes, price)] }]);
    expect(await d.calls.findOne({ _id: refOf(order) })).not.toHaveProperty("due_at");
  });
  test("not before the last look, not without a price, not for a call to us", async () => {
    const early = await over(60, 0);
    expect((await callIs(d, early, "a look", (c) => c.cost_looks === 1, pass)).cost).toBeUndefined();
    for (const order of [await over(60, 2, {}, "+4930123456"), await over(60, 2, { direction: "INBOUND" })]) {
      expect(
        await callIs(d, order, "the last look", (c) => c.cost_looks === 3 && c.due_at === undefined, pass),
      ).not.toHaveProperty("cost");
      expect(charges(order)).toEqual([]);
    }
  });
});

describe("the carrier's own figure, told by callback", () => {
  test("is itemised and summed, once, and not asked for any more", async () => {
    const order = await over(61, 0, { due_at: plusMs(clock.now(), 5_000) });
    await told(order, { amount: 0.017, currency: "USD" });
    await told(order, { amount: 0.017, currency: "USD" });
    await priced(order, 0.017);
    await callIs(
      d,
      order,
      "nothing owed",
      (c) => c.due_at === undefined,
      () => clock.advance(2_000),
    );
    expect(charges(order)).toEqual([{ cost: 0.017, items: [item("carrier", 0.017, 2, null)] }]);
  });
  test("takes the place of the table's", async () => {
    const order = await over(60, 2);
    await priced(order, 0.014);
    await told(order, { amount: 0.02, currency: "USD" });
    expect(await priced(order, 0.02)).toMatchObject({ cost_what: "carrier" });
    expect(charges(order)).toEqual([
      { cost: 0.014, items: [item("price_table", 0.014, 1, 0.014)] },
      { cost: 0.02, items: [item("carrier", 0.02, 1, null)] },
    ]);
  });
  test("in another currency it is itemised and not summed", async () => {
    const order = await over(60, 0, { due_at: plusMs(clock.now(), 60_000) });
    await told(order, { amount: 0.5, currency: "EUR" });
    expect(await priced(order, 0.5)).toMatchObject({ cost_currency: "EUR" });
    expect(charges(order)).toEqual([{ cost: undefined, items: [item("carrier", 0.5, 1, null, "EUR")] }]);
  });
  test("of another call is not believed", async () => {
    const order = await over(60, 0, { due_at: plusMs(clock.now(), 3_600_000) });
    await told(order, { amount: 9, currency: "USD" }, "CA-another");
    await clock.advance(1_000);
    expect([(await d.calls.findOne({ _id: refOf(order) }))?.cost, charges(order)]).toEqual([undefined, []]);
  });
});

describe("the lead's record", () => {
  let it: LeadsStage;
  beforeAll(async () => {
    it = await leadsStage();
  });
  afterAll(() => it.stop());
  const record = (lead_id: string) => it.stage.bus.call("leads.get", { by: asMerchant(R, M), lead_id });
  const annotate = (
    lead_id: string,
    claim_no: number,
    what: "carrier" | "price_table",
    amount: number,
    currency = "USD",
  ) =>
    it.stage.bus.call("leads.annotate", {
      lead_id,
      claim_no,
      ...(currency === "USD" ? { cost: amount } : {}),
      cost_breakdown: { items: [{ what, minutes: 1, price_per_minute: null, amount, currency }] },
    });

  test("itemises every attempt, the late ones too, and sums what is in its currency", async () => {
    const { lead_call_tracker_id: id } = await it.push();
    await it.db.collection<{ _id: string }>("leads").updateOne({ _id: id }, { $set: { claim_no: 3, status: "RETRY" } });
    expect(await record(id)).toMatchObject({ cost: null, metaData: {} });
    await annotate(id, 3, "price_table", 0.03);
    await annotate(id, 3, "carrier", 0.04);
    expect(await annotate(id, 1, "carrier", 0.01)).toEqual({ done: true });
    expect(await annotate(id, 2, "carrier", 0.5, "EUR")).toEqual({ done: true });
    const of = (claim_no: number, amount: number, currency = "USD") => ({
      claim_no,
      ...item("carrier", amount, 1, null, currency),
    });
    expect(await record(id)).toMatchObject({
      cost: 0.05,
      metaData: { cost_breakdown: { items: [of(1, 0.01), of(2, 0.5, "EUR"), of(3, 0.04)] } },
    });
  });

  test("takes an address of a recording, and gives it back", async () => {
    const { lead_call_tracker_id: id } = await it.push();
    await it.db.collection<{ _id: string }>("leads").updateOne({ _id: id }, { $set: { claim_no: 1 } });
    const said: unknown[] = [];
    for (const recording_url of ["https://calls.example.com/r/CA1", null]) {
      await it.stage.bus.call("leads.annotate", { lead_id: id, claim_no: 1, recording_url });
      said.push((await record(id)).recording_url);
    }
    expect(said).toEqual(["https://calls.example.com/r/CA1", null]);
  });
});
