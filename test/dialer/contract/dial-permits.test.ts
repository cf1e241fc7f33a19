import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import mongoose from "mongoose";
import { intent } from "../../../services/dialer/call/new-calls.ts";
import { plusMs, plusSeconds } from "../../../shared/time/clock.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { fail } from "../../../shared/errors.ts";
import { until } from "../../../local/harness/stage.ts";
import { passUntil } from "../../fixtures/clock-steps.ts";
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
/** Longer than a carrier is left alone for the faults of the test before. */
const PAUSE_MS = 100_000;
beforeEach(async () => {
  d.reset();
  await clock.advance(PAUSE_MS);
  clock.set(new Date());
});

const dial = (order: DialJob) => d.dial(order);
const dialled = (order: DialJob) => d.dials.filter((to) => to === order.to).length;
const told = (order: DialJob, what: string) =>
  d
    .toldOf(order)
    .filter((t) => t.what === what)
    .map((t) => t.params);
const grants = () => d.told.filter((t) => t.what === "scheduler.grant").map((t) => t.params);
const slowed = () => d.told.filter((t) => t.what === "scheduler.slow").map((t) => t.params);
const RATE = { configuration_id: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff", max_calls: 5, window_seconds: 60 };
/** An order that needs a grant, and what it is answered. */
const limited = (send_in_ms: number, over: Partial<DialJob> = {}): DialJob => {
  d.script.grant = () => ({ granted: true, send_in_ms });
  return d.order("06", { rate_limit: RATE, ...over });
};
/** The intent is written this long before the instant of the permit. */
const LEAD_MS = 100;
const STEP_MS = 10;
/** Waits until the intent of an order whose permit lies so far ahead is written: not before it is time. */
async function nearlyDue(order: DialJob, send_in_ms: number): Promise<void> {
  const since = clock.now().getTime();
  await passUntil(clock, STEP_MS, "the intent", async () => {
    const call = await d.calls.findOne({ _id: refOf(order), state: "DIALING" });
    return call ?? undefined;
  });
  expect(clock.now().getTime() - since).toBeGreaterThanOrEqual(send_in_ms - LEAD_MS);
}

describe("the right to place a call", () => {
  test("is asked for where calls are counted, once, after every check; nobody asks where they are not", async () => {
    const before = grants().length;
    const [free, counted] = [d.order("06"), limited(0)];
    await dial(free);
    await toldIs(d, free, "leads.settle");
    expect(grants().length).toBe(before);
    await dial(counted);
    await toldIs(d, counted, "leads.settle");
    expect(grants().slice(before)).toEqual([
      { provider: "PROVIDER_ONE", rate_limit: RATE, max_wait_ms: 2000, waited_ms: 0, valid_ms: 2000 },
    ]);
    expect(d.told.findIndex((t) => t.what === "scheduler.grant" && t.params["rate_limit"] !== null)).toBeGreaterThan(
      d.told.findIndex((t) => t.what === "conversation.prepareMany" && t.params["lead_id"] === counted.lead_id),
    );
    expect([dialled(free), dialled(counted)]).toEqual([1, 1]);
  });
  test("a provider with calls per second asks for every call", async () => {
    const own = await setDialerStage({ clock, env: { PROVIDER_ONE_CALLS_PER_SECOND: "5" } });
    const order = own.order("06");
    await own.dial(order);
    await toldIs(own, order, "leads.settle");
    expect(own.told.filter((t) => t.what === "scheduler.grant").map((t) => t.params)).toEqual([
      { provider: "PROVIDER_ONE", rate_limit: null, max_wait_ms: 2000, waited_ms: 0, valid_ms: 2000 },
    ]);
    await own.stop();
  });
  test("lies ahead: the intent is written shortly before, the carrier asked at its instant and not before", async () => {
    const order = limited(1500);
    const since = clock.now().getTime();
    await dial(order);
    await nearlyDue(order, 1500);
    await passUntil(clock, 1, "the request", () => dialled(order) > 0 || undefined);
    expect(clock.now().getTime() - since).toBeGreaterThanOrEqual(1500);
    await toldIs(d, order, "leads.settle");
    expect(dialled(order)).toBe(1);
  });
  test.each<[string, number, Partial<DialJob>, number, string, number?]>([
    ["the process stood still past it", 1500, {}, 1600, "the right to place the call ran out", 500],
    [
      "stopped between intent and dial for long (SIGSTOP)",
      1500,
      {},
      300_000,
      "the process stood still between the intent and the dial",
    ],
    ["the window closed meanwhile", 2000, { dial_until: "soon" }, 2000, "the calling window closed"],
  ])("%s: not dialled, undone, the attempt unspent", async (_name, send_in_ms, over, pause, reason, later_ms = 0) => {
    const order = limited(
      send_in_ms,
      over.dial_until === undefined ? {} : { dial_until: plusMs(clock.now(), 6900).toISOString() },
    );
    await dial(order);
    await nearlyDue(order, send_in_ms);
    await clock.advance(pause - send_in_ms + 2 * LEAD_MS);
    expect(await toldIs(d, order, "leads.release")).toMatchObject({
      reason,
      due_at: plusMs(clock.now(), later_ms).toISOString(),
    });
    await toldIs(d, order, "numbers.releaseMany");
    expect([
      dialled(order),
      (await d.calls.findOne({ _id: refOf(order) }))?.ended,
      await d.ledger(order),
      told(order, "leads.settle"),
    ]).toEqual([0, "not_dialled", [], []]);
    expect(await d.stage.bus.call("dialer.reconcile", { lead_id: order.lead_id, claim_no: 1 })).toEqual({
      verdict: "never_dialled",
    });
  });
  test("an answer that took longer than it is good for is not used: no intent", async () => {
    const order = limited(0);
    d.script.grant = async () => {
      await clock.advance(101);
      return { granted: true, send_in_ms: 0 };
    };
    await dial(order);
    expect(await toldIs(d, order, "leads.release")).toMatchObject({
      reason: "the right to place the call came too late",
    });
    expect([dialled(order), await d.calls.findOne({ _id: refOf(order) })]).toEqual([0, null]);
  });
  test("refused: given back until it may ask again, no attempt spent; a scheduler that is away: a little later", async () => {
    const [order, alone] = [limited(0), limited(0)];
    const retry_at = plusSeconds(clock.now(), 42).toISOString();
    d.script.grant = () => ({ granted: false, why: "rate_limit", retry_at });
    await dial(order);
    expect(await toldIs(d, order, "leads.release")).toMatchObject({ due_at: retry_at, reason: "rate_limit" });
    d.script.grant = () => fail("DEPENDENCY_DOWN", "away");
    await dial(alone);
    expect(await toldIs(d, alone, "leads.release")).toMatchObject({
      due_at: plusSeconds(clock.now(), 10).toISOString(),
      reason: "DEPENDENCY_DOWN",
    });
    expect([
      dialled(order),
      dialled(alone),
      await d.calls.countDocuments({ lead_id: { $in: [order.lead_id, alone.lead_id] } }),
    ]).toEqual([0, 0, 0]);
  });
});

describe("a carrier that can't keep up", () => {
  test("429 with Retry-After: the other replicas hear of it once, and nothing more is asked of the carrier until then", async () => {
    const before = slowed().length;
    const [first, second, later] = [d.order("06"), d.order("06"), d.order("06")];
    await d.fault("rate_limit", first, { seconds: 7 });
    await dial(first);
    const { due_at } = await toldIs(d, first, "leads.release");
    const at = clock.now();
    expect(due_at).toBe(plusSeconds(at, 7).toISOString());
    await until("the others to be told", () => slowed().length > before || undefined);
    expect(slowed().slice(before)).toEqual([
      { provider: "PROVIDER_ONE", until: due_at, why: "the carrier takes no more calls at the moment" },
    ]);
    await clock.advance(3000);
    await dial(second);
    expect(await toldIs(d, second, "leads.release")).toMatchObject({
      due_at,
      reason: "the carrier takes no calls at the moment",
    });
    expect([dialled(second), await d.calls.findOne({ _id: refOf(second) })]).toEqual([0, null]);
    await clock.advance(4000);
    await dial(later);
    await toldIs(d, later, "leads.settle");
    expect([dialled(first), dialled(later), slowed().length]).toEqual([1, 1, before + 1]);
  });
  test("a long queue at the carrier stops dialling; the call that waits there is not asked for again", async () => {
    const before = slowed().length;
    const order = d.order("07");
    const sid = `CA${"c".repeat(32)}`;
    d.script.onDial = async (_request, response) => {
      response
        .writeHead(201, { "content-type": "application/json" })
        .end(JSON.stringify({ sid, status: "queued", queue_time: "90000" }));
      return true;
    };
    await dial(order);
    await callIs(d, order, "carrier id", (c) => c.carrier_call_id === sid);
    await until("the others to be told", () => slowed().length > before || undefined);
    expect(slowed().slice(before)).toEqual([
      {
        provider: "PROVIDER_ONE",
        until: plusSeconds(clock.now(), 90).toISOString(),
        why: "the carrier keeps calls waiting in its own queue",
      },
    ]);
    expect(told(order, "leads.release")).toEqual([]);
    await d.stage.bus.call(
      "dialer.carrierEvent",
      d.callback(order, "status", { CallSid: sid, CallStatus: "no-answer", SequenceNumber: "4" }),
    );
    await toldIs(d, order, "leads.settle");
  });
});

describe("writing the intent", () => {
  const model = () =>
    mongoose.connections
      .flatMap((c) => (c.models["calls"] && Number(c.readyState) === 1 ? [c.models["calls"]] : []))
      .at(-1)!;

  test("an insert that finds its own record (its answer was lost and the driver asked again) goes on; somebody else's is left alone", async () => {
    const [mine, foreign] = [d.order("06"), d.order("06")];
    await d.calls.insertMany([
      intent(mine, "services", clock.now(), plusMs(clock.now(), 10_000)),
      intent(foreign, "other-node", clock.now(), plusMs(clock.now(), 10_000)),
    ]);
    await Promise.all([dial(mine), dial(foreign)]);
    await toldIs(d, mine, "leads.settle");
    expect([dialled(mine), dialled(foreign), (await d.calls.findOne({ _id: refOf(foreign) }))?.state]).toEqual([
      1,
      0,
      "DIALING",
    ]);
    expect(told(foreign, "numbers.releaseMany")).toEqual([]);
  });
  test.each([
    ["written all the same", true],
    ["not written", false],
  ])("it fails and was %s: nothing is dialled, given back, and no late copy can ring", async (_name, applied) => {
    const order = d.order("06");
    const real = model().insertMany.bind(model());
    const broken = jest.spyOn(model(), "insertMany").mockImplementationOnce((async (
      docs: object[],
      options: object,
    ) => {
      if (applied) await real(docs, options);
      throw Object.assign(new Error("the reply was lost"), { name: "MongoNetworkError" });
    }) as never);
    await dial(order);
    expect(await toldIs(d, order, "leads.release")).toMatchObject({
      reason: "STORE_UNAVAILABLE",
      due_at: plusSeconds(clock.now(), 10).toISOString(),
    });
    await toldIs(d, order, "numbers.releaseMany");
    broken.mockRestore();
    const call = await d.calls.findOne({ _id: refOf(order) });
    expect([dialled(order), call?.state, call?.ended]).toEqual(
      applied ? [0, "ENDED", "not_dialled"] : [0, "VOID", undefined],
    );
    expect(await d.stage.bus.call("dialer.reconcile", { lead_id: order.lead_id, claim_no: 1 })).toEqual({
      verdict: "never_dialled",
    });
  });
});
