import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { fail } from "../../../shared/errors.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { callIs, toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { TOLD_AFTER_MS } from "../../../services/dialer/call/tell-placed.ts";
import { idleProcess } from "../../fixtures/idle-process.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";

const clock = virtualClock();
let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({ clock, timeScale: 20 });
});
afterAll(() => d.stop());
beforeEach(() => {
  d.reset();
  clock.set(new Date());
});

const pass = () => clock.advance(200);
const dial = (order: DialJob) => d.dial(order);
const send = (raw: ReturnType<DialerStage["callback"]>) => d.stage.bus.call("dialer.carrierEvent", raw);
const names = (order: DialJob) => d.toldOf(order).map((t) => t.what);
const rings = (order: DialJob): unknown[] =>
  d
    .toldOf(order)
    .map((t) => t.params["ringing"])
    .filter((ring) => ring !== undefined);

/** A phone that rings, whose carrier sends nothing by itself: the test speaks for it. */
async function silentCall(over: Partial<DialJob> = {}): Promise<{
  order: DialJob;
  CallSid: string;
  say: (status: string, sequence: number, more?: object) => ReturnType<DialerStage["callback"]>;
}> {
  const order = d.order("07", over);
  await d.fault("lose_callbacks", order);
  await dial(order);
  const { carrier_call_id: CallSid = "" } = await callIs(
    d,
    order,
    "carrier id",
    (c) => c.carrier_call_id !== undefined,
  );
  return {
    order,
    CallSid,
    say: (CallStatus, sequence, more = {}) =>
      d.callback(order, "status", { CallSid, CallStatus, SequenceNumber: String(sequence), ...more }),
  };
}
const applied = (order: DialJob) =>
  until(
    "all callbacks to be applied",
    async () => (await d.events.countDocuments({ ref: refOf(order), applied: false })) === 0 || undefined,
  );

describe("callbacks", () => {
  test("fifty copies at once: all answered, one stored, one effect", async () => {
    const { order, say } = await silentCall();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => send(say("busy", 2, { SipResponseCode: "486" }))),
    );
    expect(new Set(answers.map((a) => a.body))).toEqual(
      new Set(['<?xml version="1.0" encoding="UTF-8"?><Response></Response>']),
    );
    await toldIs(d, order, "numbers.releaseMany");
    await idleProcess(); // nothing more comes of it
    expect([
      await d.events.countDocuments({ ref: refOf(order) }),
      names(order).filter((n) => n === "leads.settle").length,
    ]).toEqual([1, 1]);
  });

  const FOUR = ["initiated", "ringing", "in-progress", "completed"];
  const orders = (items: string[]): string[][] =>
    items.length < 2 ? [items] : items.flatMap((x) => orders(items.filter((y) => y !== x)).map((rest) => [x, ...rest]));
  test("all 24 orders of the four events end the same, settled once", async () => {
    await Promise.all(
      orders(FOUR).map(async (sequence) => {
        const { order, say } = await silentCall();
        for (const status of sequence) {
          await send(say(status, FOUR.indexOf(status), status === "completed" ? { CallDuration: "3" } : {}));
          await applied(order);
        }
        const { facts } = (await toldIs(d, order, "leads.settle")) as { facts: object };
        await toldIs(d, order, "numbers.releaseMany");
        expect([sequence, facts]).toEqual([
          sequence,
          expect.objectContaining({ ended: "completed", answered_at: expect.any(String), talk: null }),
        ]);
        expect(await d.calls.findOne({ _id: refOf(order) })).toMatchObject({
          state: "ENDED",
          ended: "completed",
          talk_seconds: 3,
        });
        expect(names(order).filter((n) => n === "leads.settle")).toHaveLength(1);
      }),
    );
  });

  test("nothing forged is stored: no signature, another token, a byte, a path, a query", async () => {
    const { order, say } = await silentCall();
    const good = say("completed", 3);
    const unsigned = { ...good, headers: { "content-type": "application/x-www-form-urlencoded" } };
    const forged = [
      unsigned,
      { ...good, headers: { ...unsigned.headers, "x-twilio-signature": "AAAAAAAAAAAAAAAAAAAAAAAAAAA=" } },
      { ...good, body: good.body.replace("completed", "completee") },
      { ...good, path: `${good.path}?a=1` },
      { ...good, path: good.path.replace(".1", ".2"), ref: good.ref.replace(".1", ".2") },
    ];
    for (const raw of forged) await expect(send(raw)).rejects.toMatchObject({ type: "SIGNATURE_INVALID" });
    expect(await d.events.countDocuments({ ref: { $in: [refOf(order), refOf({ ...order, claim_no: 2 })] } })).toBe(0);
    expect((await d.calls.findOne({ _id: refOf(order) }))?.state).toBe("DIALING");
    expect(
      await d.stage.bus.call("dialer.verifyUpgrade", {
        provider: "PROVIDER_ONE",
        path: "/media/x",
        headers: { "x-twilio-signature": "AAAA" },
      }),
    ).toEqual({ valid: false });
  });
  test("a signed callback of an unknown kind, or for no attempt, is refused; a relay that ended is told to hang up", async () => {
    const { order, CallSid } = await silentCall();
    await expect(send(d.callback(order, "poke", { CallSid }))).rejects.toMatchObject({ type: "VALIDATION_FAILED" });
    await expect(
      send(d.callback(order, "status", { CallSid: "nonsense", CallStatus: "ringing" })),
    ).rejects.toMatchObject({ type: "VALIDATION_FAILED" });
    expect(await d.events.countDocuments({ ref: refOf(order) })).toBe(0);
    expect((await send(d.callback(order, "relay-end", { CallSid, HandoffData: "{}" }))).body).toContain("<Hangup/>");
    expect(await d.events.countDocuments({ ref: refOf(order) })).toBe(1);
  });
  test("a callback for a call nobody knows is answered, kept and marked; no call comes of it", async () => {
    const order = d.order("07");
    await send(
      d.callback(order, "status", { CallSid: `CA${"a".repeat(32)}`, CallStatus: "ringing", SequenceNumber: "1" }),
    );
    await applied(order);
    expect(await d.events.findOne({ ref: refOf(order) })).toMatchObject({ applied: true, note: "unknown_call" });
    expect(await d.calls.findOne({ _id: refOf(order) })).toBeNull();
  });
  test("callbacks that come before the carrier's own answer to the dial request find the call by its address", async () => {
    const order = d.order("07");
    const CallSid = `CA${"d".repeat(32)}`;
    const say = (CallStatus: string, sequence: number) =>
      send(d.callback(order, "status", { CallSid, CallStatus, SequenceNumber: String(sequence) }));
    d.script.onDial = async (_request, response) => {
      await say("ringing", 1);
      await say("busy", 2);
      await toldIs(d, order, "leads.settle");
      response
        .writeHead(201, { "content-type": "application/json" })
        .end(JSON.stringify({ sid: CallSid, status: "queued" }));
      return true;
    };
    await dial(order);
    expect(await toldIs(d, order, "leads.settle")).toMatchObject({
      facts: { ended: "busy", call_id: CallSid },
      placed: { call_id: CallSid, ringing_at: expect.any(String) },
    });
    await toldIs(d, order, "numbers.releaseMany");
    expect(await d.calls.findOne({ _id: refOf(order) })).toMatchObject({
      state: "ENDED",
      ended: "busy",
      carrier_call_id: CallSid,
    });
    expect(names(order).filter((n) => n === "leads.settle")).toHaveLength(1);
  });
  test("callbacks of the first attempt during the second: they end the first alone", async () => {
    const first = await silentCall();
    const second = await silentCall({
      lead_id: first.order.lead_id,
      claim_no: 2,
      to: `${first.order.to.slice(0, -4)}9907`,
    });
    await send(second.say("ringing", 1));
    await callIs(d, second.order, "ring", (c) => c.state === "RINGING");
    await send(first.say("ringing", 1));
    await send(first.say("busy", 2));
    await callIs(d, first.order, "end", (c) => c.closed_at !== undefined);
    const settled = d.told
      .filter((t) => t.what === "leads.settle" && t.params["lead_id"] === first.order.lead_id)
      .map((t) => t.params["claim_no"]);
    expect([
      settled,
      d.told.filter((t) => t.what === "numbers.releaseMany" && t.params["holder"] === refOf(second.order)),
    ]).toEqual([[1], []]);
    expect(await d.calls.findOne({ _id: refOf(second.order) })).toMatchObject({
      state: "RINGING",
      carrier_call_id: second.CallSid,
    });
  });
  test("a callback naming another call than the attempt's changes nothing", async () => {
    const { order } = await silentCall();
    await send(
      d.callback(order, "status", { CallSid: `CA${"b".repeat(32)}`, CallStatus: "completed", SequenceNumber: "9" }),
    );
    await applied(order);
    expect([
      (await d.calls.findOne({ _id: refOf(order) }))?.state,
      (await d.events.findOne({ ref: refOf(order) }))?.note,
    ]).toEqual(["DIALING", "other_call"]);
  });
  test("stored and not applied, its receiver having died: the sweep applies it", async () => {
    const { order, CallSid } = await silentCall();
    await d.events.insertOne({
      _id: `x:${refOf(order)}`,
      provider: "PROVIDER_ONE",
      kind: "status",
      ref: refOf(order),
      carrier_call_id: CallSid,
      body: "",
      received_at: plusSeconds(clock.now(), -6),
      applied: false,
      progress: [{ type: "ended", call_id: CallSid, at: null, end: "no_answer", cause: null, seconds: 0 }],
    });
    expect(await toldIs(d, order, "leads.settle", pass)).toMatchObject({ facts: { ended: "no_answer" } });
    await applied(order);
  });
  test("leads is told of the call and that it rings by one message, soon, unless its end comes first", async () => {
    const [long, short] = [await silentCall(), await silentCall()];
    for (const { say } of [long, short]) await send(say("ringing", 1));
    for (const { order } of [long, short]) await applied(order);
    await send(short.say("busy", 2));
    expect(await toldIs(d, short.order, "leads.settle")).toMatchObject({
      placed: { call_id: short.CallSid, placed_at: expect.any(String), ringing_at: expect.any(String) },
    });
    const told = await toldIs(d, long.order, "leads.annotate", () => clock.advance(TOLD_AFTER_MS / 10));
    const call = await d.calls.findOne({ _id: refOf(long.order) });
    expect(told).toEqual({
      lead_id: long.order.lead_id,
      claim_no: long.order.claim_no,
      call_id: long.CallSid,
      call_initiated_time: call?.placed_at?.toISOString(),
      ringing_at: call?.ringing_at?.toISOString(),
    });
    await clock.advance(TOLD_AFTER_MS);
    const notes = [long, short].map(({ order }) => names(order).filter((n) => n === "leads.annotate").length);
    expect(notes).toEqual([1, 0]);
  });
  test("leads is told that the phone of a call rings that it was told of, and again until it has answered", async () => {
    const { order, CallSid, say } = await silentCall();
    await toldIs(d, order, "leads.annotate", () => clock.advance(TOLD_AFTER_MS));
    let away = true;
    d.script.onTold = (what) => {
      if (what !== "leads.annotate" || !away) return;
      away = false;
      fail("DEPENDENCY_DOWN", "away");
    };
    await send(say("ringing", 1));
    await until("the notice that is refused", () => !away || undefined);
    expect(await d.events.countDocuments({ ref: refOf(order), applied: false })).toBe(1);
    await until("the notice again", async () => {
      await clock.advance(1000);
      return rings(order).length === 2 || undefined;
    });
    expect(rings(order)).toEqual([{ call_id: CallSid }, { call_id: CallSid }]);
    await applied(order);
  });
  test("a ring that comes after the answer, and one of a call to us, is told to nobody", async () => {
    const { order, say } = await silentCall();
    await send(say("in-progress", 2));
    await callIs(d, order, "answer", (c) => c.state === "ANSWERED");
    await send(say("ringing", 1));
    await applied(order);
    const inbound = await silentCall();
    await d.calls.updateOne({ _id: refOf(inbound.order) }, { $set: { direction: "INBOUND" } });
    await send(inbound.say("ringing", 1));
    await applied(inbound.order);
    expect([...rings(order), ...rings(inbound.order)]).toEqual([]);
  });
  test("leads away at the end of the call: settled when it is back, the number freed only then", async () => {
    const { order, say } = await silentCall();
    let away = true;
    d.script.settle = () => {
      if (away) {
        away = false;
        fail("DEPENDENCY_DOWN", "away");
      }
    };
    await send(say("busy", 1));
    await callIs(d, order, "end", (c) => c.state === "ENDED");
    await until("the refused settling", () => !away || undefined);
    expect(names(order)).not.toContain("numbers.releaseMany");
    await toldIs(d, order, "numbers.releaseMany", pass);
    expect(names(order).slice(-2)).toEqual(["leads.settle", "numbers.releaseMany"]);
  });
});
