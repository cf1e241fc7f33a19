import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import type { SpendCeilings } from "../../../shared/contracts/records/spend.ts";
import { uuidOf } from "../../../shared/ids.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { asAdmin, until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { callIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";
import { hotline } from "../fixtures/inbound-plan.ts";
import { spendRecords, type SpendRecords } from "../fixtures/spend-records.ts";

/** What inbound calls, transfers and redirects take of a spend ceiling, and at which price a call counts in the end. */
const clock = virtualClock();
const OURS = "+14155550100";
const ELSEWHERE = "+14155550111";
const BUSY = "06";
const CONFIRMS = "01";
const NOTHING = { calls: 0, minutes: 0, micros: 0, reserved: 0 };
/** A call of ten minutes at the most: with what it may overrun, twelve started minutes. */
const WORST_MINUTES = 12;
/** Of CALL_PRICES, of SPEND_DEFAULT_PRICE, and of the simulated carrier; in millionths a minute. */
const [OWN_PRICE, INBOUND_PRICE, CARRIERS_PRICE] = [30_000, 5000, 14_000];
const lines: Record<string, unknown>[] = [];
let d: DialerStage;
let records: SpendRecords;
const tick = () => clock.advance(200);
beforeAll(async () => {
  d = await setDialerStage({
    clock,
    env: { CALL_PRICES: "US=0.03", SPEND_DEFAULT_PRICE: "0.005", COST_CURRENCY: "USD", LOG_LEVEL: "warn" },
    onLog: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  records = await spendRecords(d, tick);
  const voice = `${d.stage.env.PUBLIC_HTTP_URL}/carriers/PROVIDER_ONE`;
  const addresses = { carrier: "twilio", url: `${voice}/inbound/new`, status_url: `${voice}/status/new` };
  await fetch(`${d.carrier}/inbound-address`, { method: "POST", body: JSON.stringify(addresses) });
});
afterAll(async () => {
  await records.close();
  await d.stop();
});
beforeEach(() => {
  d.reset();
  lines.length = 0;
});

let people = 0;
const tenant = () => ({ reseller_id: randomUUID(), merchant_id: randomUUID() });
type Tenant = ReturnType<typeof tenant>;
const hangUp = (order: DialJob) => d.stage.bus.call("dialer.hangUp", { call_ref: refOf(order) });
const closed = (order: DialJob) => callIs(d, order, "its close", (c) => c.closed_at !== undefined, tick);

/** A call to us is under way for this tenant, under this ceiling of its merchant; a row of GET /inbound-calls says what became of it. */
async function called(of: Tenant, merchant: SpendCeilings["merchant"], over: Parameters<typeof hotline>[2] = {}) {
  d.script.called = { id: randomUUID(), ...of, inbound_template_id: null };
  d.script.plan = { ...hotline(randomUUID(), of.merchant_id, over), reseller_id: of.reseller_id };
  d.script.ceilings = merchant ? [{ id: of.merchant_id, spend_ceiling: merchant }] : [];
  const from = `+1415777${String(people++).padStart(2, "0")}05`;
  const body = JSON.stringify({ carrier: "twilio", from, to: OURS });
  const { sid } = (await (await fetch(`${d.carrier}/inbound`, { method: "POST", body })).json()) as { sid: string };
  return until(`the verdict on ${sid}`, async () => {
    await tick();
    const { inbound_calls } = await d.stage.bus.call("dialer.inboundCalls", { by: asAdmin, limit: 500 });
    return inbound_calls.find((c) => c.call_id === sid && c.verdict !== null);
  });
}

describe("an inbound call", () => {
  test("takes a call and its minutes at the price of a leg without one; the one that does not fit is blocked with its reason", async () => {
    const of = tenant();
    d.script.hold = true;
    const first = await called(of, { per_day: { calls: 1 } });
    expect(first).toMatchObject({ verdict: "ACCEPTED" });
    await until("the talk", () => d.joins.find((j) => j.ref === `${first.lead_id}.1`));
    const worst = { calls: 1, minutes: WORST_MINUTES, micros: WORST_MINUTES * INBOUND_PRICE };
    expect(await records.taken(of.merchant_id)).toEqual({ ...worst, reserved: 1 });

    const second = await called(of, { per_day: { calls: 1 } });
    expect(second).toMatchObject({ verdict: "REJECTED", reason: "spend_ceiling", lead_id: null });
    expect(await records.taken(of.merchant_id)).toEqual({ ...worst, reserved: 1 });

    await d.stage.bus.call("dialer.hangUp", { call_ref: `${first.lead_id}.1` });
    expect(first.lead_id).toBe(uuidOf(`PROVIDER_ONE:${first.call_id}`));
    const { calls, minutes } = await records.settled(of.merchant_id);
    expect([calls, minutes >= 1 && minutes < WORST_MINUTES]).toEqual([1, true]);
    // what it took stays taken
    expect(await called(of, { per_day: { calls: 1 } })).toMatchObject({ reason: "spend_ceiling" });
  });

  test("that is redirected counts as a call; under a ceiling of how long calls last it is turned away", async () => {
    const away = {
      enable_inbound: false,
      inbound_block_action: "REDIRECT" as const,
      inbound_redirect_number: ELSEWHERE,
    };
    const of = tenant();
    expect(await called(of, { per_day: { calls: 1 } }, away)).toMatchObject({ verdict: "REDIRECTED" });
    expect(await records.taken(of.merchant_id)).toMatchObject({ calls: 1 });
    expect(await called(of, { per_day: { calls: 1 } }, away)).toMatchObject({ verdict: "REJECTED" });
    const other = tenant();
    expect(await called(other, { per_day: { minutes: 1000 } }, away)).toMatchObject({ verdict: "REJECTED" });
    expect(await records.taken(other.merchant_id)).toEqual(NOTHING);
  });
});

describe("a transfer", () => {
  /** A call of this tenant that holds its conversation. */
  async function held(of: Tenant, merchant: SpendCeilings["merchant"]): Promise<DialJob> {
    d.script.hold = true;
    const order = d.order(CONFIRMS, { ...of, spend_ceilings: merchant ? { merchant } : {} });
    await d.dial(order);
    await until("the talk", async () => {
      await tick();
      return d.joins.find((j) => j.ref === refOf(order));
    });
    return order;
  }
  const transfer = (order: DialJob) => d.stage.bus.call("dialer.transfer", { call_ref: refOf(order), to: ELSEWHERE });

  test("reserves its worst case beside the call's; one that does not fit is refused and nothing is asked of the carrier", async () => {
    const of = tenant();
    const order = await held(of, { per_day: { calls: 2, minutes: 3 * WORST_MINUTES } });
    const asked = () => d.changes.filter(({ form }) => form["Twiml"]?.includes(ELSEWHERE)).length;
    const before = asked();
    await transfer(order);
    const both = { calls: 2, minutes: 2 * WORST_MINUTES, micros: 2 * WORST_MINUTES * OWN_PRICE, reserved: 2 };
    expect([await records.taken(of.merchant_id), asked()]).toEqual([both, before + 1]);
    await tick();
    await expect(transfer(order)).rejects.toMatchObject({
      type: "FORBIDDEN",
      message: "The call is not transferred: the number can't be called under the merchant's spend ceiling (calls).",
    });
    expect([await records.taken(of.merchant_id), asked()]).toEqual([both, before + 1]);
    await hangUp(order);
    const { calls, minutes } = await records.settled(of.merchant_id);
    expect([calls, minutes >= 2 && minutes < 2 * WORST_MINUTES]).toEqual([2, true]);
  });

  test("that the carrier refuses gives its reservation back", async () => {
    const of = tenant();
    const order = await held(of, { per_day: { calls: 2 } });
    const { carrier_call_id } = await callIs(d, order, "its name", (c) => c.carrier_call_id !== undefined);
    // the carrier does not know this one
    await d.calls.updateOne({ _id: refOf(order) }, { $set: { carrier_call_id: `CA${"0".repeat(32)}` } });
    await expect(transfer(order)).rejects.toMatchObject({ type: "CALL_REFUSED" });
    expect(await records.taken(of.merchant_id)).toMatchObject({ calls: 1, reserved: 1 });
    await d.calls.updateOne({ _id: refOf(order) }, { $set: { carrier_call_id: carrier_call_id ?? "" } });
    await hangUp(order);
    await closed(order);
  });
});

describe("the price of a call", () => {
  test("is the carrier's once it names one, whatever ours was", async () => {
    const of = tenant();
    const order = d.order(CONFIRMS, { ...of, spend_ceilings: { merchant: { per_day: { money: 1 } } } });
    await d.dial(order);
    await until("the end to be counted at our own price", async () => {
      await tick();
      const { day, reserved } = (await records.ledgers.findOne({ _id: of.merchant_id })) ?? {};
      return (day?.calls === 0 && reserved?.[0]?.unpriced === true) || undefined;
    });
    const { minutes, micros } = await records.taken(of.merchant_id);
    expect([minutes > 0, micros]).toEqual([true, minutes * OWN_PRICE]);
    await clock.advance(6000);
    expect(await records.settled(of.merchant_id)).toEqual({
      calls: 1,
      minutes,
      micros: minutes * CARRIERS_PRICE,
      reserved: 0,
    });
  });

  test("is the one that was reserved where ours has changed since, so that no price passes the ceiling", async () => {
    const of = tenant();
    // by a dialer whose CALL_PRICES were lower
    const former = { calls: 1, minutes: WORST_MINUTES, micros: WORST_MINUTES * 1000 };
    const order = await ended(of, 150);
    await records.reserved(of.merchant_id, { ref: refOf(order), ...former, until: clock.now() }, clock.now());
    expect(await records.settled(of.merchant_id)).toEqual({ calls: 1, minutes: 3, micros: 3000, reserved: 0 });
  });

  test("named after the price table had to stand in is counted in place of that", async () => {
    const of = tenant();
    const order = await ended(of, 150, { cost_looks: 2, due_at: clock.now() });
    const until = plusSeconds(clock.now(), 3600);
    const own = { calls: 1, minutes: 3, micros: 3 * OWN_PRICE, unpriced: true as const };
    await records.reserved(of.merchant_id, { ref: refOf(order), ...own, until }, clock.now());
    await callIs(d, order, "the table's price", (c) => c.cost_what === "price_table" && c.due_at === undefined, tick);
    expect(await records.taken(of.merchant_id)).toMatchObject({ micros: 3 * OWN_PRICE, reserved: 1 });
    await d.events.insertOne({
      _id: randomUUID(),
      provider: "PROVIDER_ONE",
      kind: "event",
      ref: refOf(order),
      carrier_call_id: carrierId(order),
      progress: [],
      cost: { amount: 0.07, currency: "USD" },
      body: "",
      received_at: plusSeconds(clock.now(), -10),
      applied: false,
    });
    expect(await records.settled(of.merchant_id)).toEqual({ calls: 1, minutes: 3, micros: 70_000, reserved: 0 });
  });

  const carrierId = ({ lead_id }: DialJob): string => `CA${lead_id.replaceAll("-", "")}`;
  /** A closed call of this tenant that lasted so long, of which the carrier knows nothing any more. */
  async function ended(of: Tenant, talk_seconds: number, more: object = {}): Promise<DialJob> {
    const order = d.order(CONFIRMS, { ...of, spend_ceilings: { merchant: { per_day: { money: 1 } } } });
    const { payload: _payload, pre_checks: _checks, pre_check_defers: _defers, rate_limit: _limit, ...kept } = order;
    const now = clock.now();
    await d.calls.insertOne({
      _id: refOf(order),
      lead_id: order.lead_id,
      claim_no: 1,
      state: "ENDED",
      rank: 9,
      created_at: now,
      order: kept,
      provider: "PROVIDER_ONE",
      carrier_call_id: carrierId(order),
      placed_at: now,
      answered_at: now,
      ended_at: plusSeconds(now, talk_seconds),
      ended: "completed",
      talk_seconds,
      closed_at: now,
      ...more,
    });
    return order;
  }
});

test("that a ceiling is reached is logged once a period, with whose, in what and until when", async () => {
  const of = tenant();
  const spend_ceilings = { reseller: { per_day: { calls: 1 } } };
  const first = d.order(BUSY, { ...of, spend_ceilings });
  await d.dial(first);
  await closed(first);
  await records.settled(of.reseller_id);
  const waiting = [1, 2, 3].map(() => d.order(BUSY, { ...of, spend_ceilings }));
  for (const order of waiting) await d.dial(order);
  await until("all to wait", async () => {
    await tick();
    return waiting.every((o) => d.toldOf(o).some((t) => t.what === "leads.release")) || undefined;
  });
  const said = lines.filter((line) => line["event"] === "spend.reached");
  expect(said).toMatchObject([
    { level: "warn", owner: of.reseller_id, period: "day", what: "calls", until: expect.stringMatching(/T00:00:00/) },
  ]);
  expect(JSON.stringify(said)).not.toContain(waiting[0]?.to);
});
