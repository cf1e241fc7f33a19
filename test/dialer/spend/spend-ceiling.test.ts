import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { ServiceBroker } from "moleculer";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { SPEND_CEILING } from "../../../shared/contracts/records/explanation.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { callIs, toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";
import { startSecondDialer } from "../fixtures/dialer-stage/second-dialer.ts";
import { spendRecords, type SpendRecords } from "../fixtures/spend-records.ts";

/** Spend ceilings at two dialers with one database and a simulated carrier. */
const clock = virtualClock();
const NODES = ["services", "dialer-2"];
const BUSY = "06";
const REFUSED = "10";
const UNANSWERED = "02";
/** A call of ten minutes at the most: with what it may overrun, twelve started minutes. */
const WORST_MINUTES = 12;
const PRICE = 14_000;
let d: DialerStage;
let second: ServiceBroker;
let records: SpendRecords;
beforeAll(async () => {
  d = await setDialerStage({ clock, env: { CALL_PRICES: "US=0.014", COST_CURRENCY: "USD" } });
  records = await spendRecords(d, tick);
  second = await startSecondDialer(d, clock);
});
afterAll(async () => {
  await second.stop();
  await records.close();
  await d.stop();
});
beforeEach(async () => {
  d.reset();
  await clock.advance(61_000);
  clock.set(new Date());
});

const tick = () => clock.advance(200);
const releaseOf = (order: DialJob) => toldIs(d, order, "leads.release", tick);
const closed = (order: DialJob) => callIs(d, order, "its close", (c) => c.closed_at !== undefined, tick);
async function dialAt(node: string, order: DialJob): Promise<void> {
  const { taken } = await d.stage.bus.call("dialer.dialMany", { orders: [order] }, { node });
  expect(taken).toEqual([true]);
}
/** Ids of a merchant and its reseller of which nothing was called before. */
const tenant = () => ({ reseller_id: randomUUID(), merchant_id: randomUUID() });
const taken = (id: string) => records.taken(id);
const settled = (id: string) => records.settled(id);

describe("a spend ceiling", () => {
  test("of many attempts at one instant at two dialers as many are placed as fit; the others wait with its reason", async () => {
    const of = tenant();
    const spend_ceilings = { merchant: { per_day: { calls: 3 } }, reseller: { per_month: { calls: 100 } } };
    const orders = Array.from({ length: 10 }, () => d.order(UNANSWERED, { ...of, spend_ceilings }));
    await Promise.all(orders.map((order, i) => dialAt(NODES[i % 2] ?? "", order)));
    await until("all to be decided", async () => {
      await tick();
      const placed = orders.filter((o) => d.dials.includes(o.to)).length;
      const told = d.told.filter(
        (t) => t.what === "leads.release" && orders.some((o) => o.lead_id === t.params["lead_id"]),
      );
      return placed + told.length >= orders.length || undefined;
    });
    expect(orders.filter((o) => d.dials.includes(o.to))).toHaveLength(3);
    const reasons = orders.flatMap((o) => d.toldOf(o).filter((t) => t.what === "leads.release"));
    expect(reasons.map((t) => t.params["reason"])).toEqual(Array.from({ length: 7 }, () => SPEND_CEILING));
    expect(await taken(of.merchant_id)).toMatchObject({ calls: 3 });
    // what the merchant's ceiling refused is not reserved with the reseller
    expect(await taken(of.reseller_id)).toMatchObject({ calls: 3 });
  });

  test("where the reseller's is reached the merchant's reservation ends again", async () => {
    const of = tenant();
    const spend_ceilings = {
      merchant: { per_day: { calls: 9 } },
      reseller: { per_day: { minutes: WORST_MINUTES - 1 } },
    };
    const order = d.order(BUSY, { ...of, spend_ceilings });
    await d.dial(order);
    expect(await releaseOf(order)).toMatchObject({ reason: SPEND_CEILING });
    expect(await taken(of.merchant_id)).toEqual({ calls: 0, minutes: 0, micros: 0, reserved: 0 });
    expect(d.dials).not.toContain(order.to);
  });

  test("a call that ended counts what it took, and gives back the rest", async () => {
    const of = tenant();
    const order = d.order(BUSY, { ...of, spend_ceilings: { merchant: { per_day: { minutes: WORST_MINUTES } } } });
    await d.dial(order);
    await closed(order);
    expect(await settled(of.merchant_id)).toEqual({ calls: 1, minutes: 0, micros: 0, reserved: 0 });
  });

  test("a call that the carrier refused, and an attempt that got no permit, take nothing", async () => {
    const of = tenant();
    const spend_ceilings = { merchant: { per_day: { calls: 1 } } };
    const refused = d.order(REFUSED, { ...of, spend_ceilings });
    await d.dial(refused);
    await closed(refused);
    expect(await settled(of.merchant_id)).toMatchObject({ calls: 0 });
    d.script.grant = () => Promise.reject(new Error("the scheduler is away"));
    const unpermitted = d.order(BUSY, {
      ...of,
      spend_ceilings,
      rate_limit: { configuration_id: randomUUID(), max_calls: 1, window_seconds: 60 },
    });
    await d.dial(unpermitted);
    await releaseOf(unpermitted);
    expect(await settled(of.merchant_id)).toMatchObject({ calls: 0 });
    expect((await d.calls.findOne({ _id: refOf(unpermitted) }))?.state).toBe("VOID");
  });

  test("a ceiling in money holds for the price of the number; one without a price waits, nothing is reserved", async () => {
    const of = tenant();
    const spend_ceilings = { merchant: { per_day: { money: (2 * WORST_MINUTES * PRICE) / 1e6 } } };
    const orders = Array.from({ length: 3 }, () => d.order(UNANSWERED, { ...of, spend_ceilings }));
    await Promise.all(orders.map((order) => d.dial(order)));
    const released = () => orders.filter((o) => d.toldOf(o).some((t) => t.params["reason"] === SPEND_CEILING));
    await until("one to wait and two to be dialled", async () => {
      await tick();
      return released().length + orders.filter((o) => d.dials.includes(o.to)).length === 3 || undefined;
    });
    expect(released()).toHaveLength(1);
    expect((await taken(of.merchant_id)).micros).toBeLessThanOrEqual(2 * WORST_MINUTES * PRICE);
    const abroad = d.order(BUSY, {
      ...of,
      to: "+4930901820",
      spend_ceilings: { merchant: { per_day: { money: 1000 } } },
    });
    await d.dial(abroad);
    expect(await releaseOf(abroad)).toMatchObject({ reason: SPEND_CEILING });
    expect(await taken(of.merchant_id)).toMatchObject({ calls: 2 });
  });

  test("a reservation whose attempt died before its intent is given back by the sweep, and nothing is dialled for it any more", async () => {
    const of = tenant();
    const spend_ceilings = { merchant: { per_day: { calls: 1 } } };
    const dead = d.order(BUSY, { ...of, spend_ceilings });
    const now = clock.now();
    const amounts = { calls: 1, minutes: 1, micros: 0 };
    await records.reserved(of.merchant_id, { ref: refOf(dead), ...amounts, until: plusMs(now, -1) }, now);
    expect(await settled(of.merchant_id)).toEqual({ calls: 0, minutes: 0, micros: 0, reserved: 0 });
    await d.dial(dead);
    await until("the order to be over", async () => {
      await tick();
      return d.told.some((t) => t.what === "numbers.releaseMany" && t.params["holder"] === refOf(dead)) || undefined;
    });
    expect(d.dials).not.toContain(dead.to);
  });

  test("without one no ledger is read or written", async () => {
    const of = tenant();
    const order = d.order(BUSY, of);
    await d.dial(order);
    await closed(order);
    expect(await records.ledgers.countDocuments({ _id: { $in: [of.merchant_id, of.reseller_id] } })).toBe(0);
    expect((await d.calls.findOne({ _id: refOf(order) }))?.order).not.toHaveProperty("spend_ceilings");
  });

  test("the scheduler is told the room of each, and what is reached until when", async () => {
    const of = tenant();
    const ask = (spend_ceilings: object, to: string | null = null) =>
      d.stage.bus.call("dialer.spendRoom", { calls: [{ ...of, spend_ceilings, max_call_seconds: 600, to }] });
    const ceilings = { merchant: { per_day: { calls: 2 } }, reseller: { per_day: { minutes: 5 * WORST_MINUTES } } };
    expect(await ask(ceilings)).toEqual({ calls: [{ room: { merchant: 2, reseller: 5 }, reached: null }] });
    const order = d.order(BUSY, { ...of, spend_ceilings: ceilings });
    await d.dial(order);
    await closed(order);
    await settled(of.merchant_id);
    expect(await ask({ merchant: { per_day: { calls: 1 } } })).toEqual({
      calls: [
        {
          room: { merchant: 0 },
          reached: {
            whose: "merchant",
            period: "day",
            what: "calls",
            until: expect.stringMatching(/T00:00:00\.000Z$/),
          },
        },
      ],
    });
    expect(await ask({ merchant: { per_month: { money: 5 } } }, "+4930901820")).toEqual({
      calls: [{ room: { merchant: 0 }, reached: { whose: "merchant", period: null, what: "price", until: null } }],
    });
  });
});
