import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { callIs, toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";

const clock = virtualClock();
let d: DialerStage;
beforeAll(async () => {
  // slow enough that no phone stops ringing by itself: a call's 20 s are walked on the virtual clock, and rung in real time
  d = await setDialerStage({ clock, timeScale: 2 });
});
afterAll(() => d.stop());
beforeEach(() => {
  d.reset();
  clock.set(new Date());
});

const dial = (order: DialJob) => d.dial(order);
const send = (raw: ReturnType<DialerStage["callback"]>) => d.stage.bus.call("dialer.carrierEvent", raw);
const names = (order: DialJob) => d.toldOf(order).map((t) => t.what);

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

describe("the fence at answer", () => {
  test("the window closed while it rang: nobody may join, the carrier is told, the attempt reads canceled", async () => {
    const { order, say } = await silentCall({ dial_until: plusSeconds(clock.now(), 30).toISOString() });
    await send(say("in-progress", 2));
    await callIs(d, order, "answer", (c) => c.state === "ANSWERED");
    clock.set(plusSeconds(clock.now(), 31));
    expect(await d.stage.bus.call("dialer.joined", { call_ref: refOf(order), node_id: "services" })).toEqual({
      go: false,
      reason: "window_closed",
      answered_at: null,
      machine: false,
      beep: false,
      tells_beep: false,
    });
    await until("the carrier's hang-up", async () => (await d.ledger(order))[0]?.ended_by === "api" || undefined);
    await send(say("completed", 3, { CallDuration: "1" }));
    expect(await toldIs(d, order, "leads.settle")).toMatchObject({
      facts: { ended: "canceled", error: { code: "WINDOW_CLOSED" }, talk: null },
    });
  });
  test("still ringing when the window closes: ended without anyone joining", async () => {
    const { order } = await silentCall({ dial_until: plusSeconds(clock.now(), 20).toISOString() });
    await until("the carrier's hang-up", async () => {
      await clock.advance(1000);
      return (await d.ledger(order))[0]?.ended_by === "api" || undefined;
    });
    expect(clock.now() >= new Date(order.dial_until ?? "")).toBe(true);
    expect(await toldIs(d, order, "leads.settle", () => clock.advance(1000))).toMatchObject({
      facts: { ended: "canceled", error: { code: "WINDOW_CLOSED" } },
    });
  });
  test("nobody joins an ended call, or one that never was", async () => {
    const { order, say } = await silentCall();
    await send(say("busy", 1));
    await toldIs(d, order, "numbers.releaseMany");
    expect(await d.stage.bus.call("dialer.joined", { call_ref: refOf(order), node_id: "n" })).toEqual({
      go: false,
      reason: "ended",
      answered_at: null,
      machine: false,
      beep: false,
      tells_beep: false,
    });
    expect(await d.stage.bus.call("dialer.joined", { call_ref: refOf(d.order("01")), node_id: "n" })).toEqual({
      go: false,
      reason: "unknown_call",
      answered_at: null,
      machine: false,
      beep: false,
      tells_beep: false,
    });
  });
  test("answered, and its sound could not be connected: ended at once, and it is said why", async () => {
    const { order, CallSid, say } = await silentCall();
    await send(say("in-progress", 2));
    await callIs(d, order, "answer", (c) => c.state === "ANSWERED");
    const { body } = await send(
      d.callback(order, "stream", { CallSid, CallStatus: "in-progress", Direction: "outbound-api" }),
    );
    expect(body).toContain("<Hangup/>");
    await callIs(d, order, "hang-up", (c) => c.hang_up === "media_failed");
    expect(await toldIs(d, order, "leads.settle", () => clock.advance(1000))).toMatchObject({
      facts: { talk: null, error: { code: "MEDIA_FAILED" } },
    });
  });
  describe("a stream that is over while the call goes on, after the talk joined", () => {
    const joined = async (node_id: string) => {
      const call = await silentCall();
      await send(call.say("in-progress", 2));
      expect(await d.stage.bus.call("dialer.joined", { call_ref: refOf(call.order), node_id })).toMatchObject({
        go: true,
      });
      const over = async (): Promise<void> => {
        const { CallSid } = call;
        await send(d.callback(call.order, "stream", { CallSid, CallStatus: "in-progress", Direction: "outbound-api" }));
      };
      return { ...call, over };
    };
    const askedOf = (order: DialJob) => d.toldOf(order).filter(({ what }) => what === "conversation.alive");
    const hangUpOf = async (order: DialJob) => (await d.calls.findOne({ _id: refOf(order) }))?.hang_up;
    /** Callbacks are applied after they were answered. */
    const applied = (order: DialJob) =>
      until(
        "callbacks to be applied",
        async () => (await d.events.countDocuments({ ref: refOf(order), applied: false })) === 0 || undefined,
      );

    test("is the talk's business while its process lives", async () => {
      const { order, over, say } = await joined("services");
      await over();
      await applied(order);
      expect([askedOf(order).length, await hangUpOf(order)]).toEqual([1, undefined]);
      await send(say("completed", 3));
      await callIs(d, order, "end", (c) => c.state === "ENDED");
      expect(await hangUpOf(order)).toBeUndefined();
    });
    test("releases the callee where its process is gone, or does not say within two seconds that it lives", async () => {
      for (const [node, alive] of [
        ["dead-node", true],
        ["services", false],
        ["services", new Promise<boolean>(() => undefined)],
      ] as const) {
        const { order, over } = await joined(node);
        d.script.alive = alive;
        const began = performance.now();
        await over();
        await callIs(d, order, "hang-up", (c) => c.hang_up === "conversation_lost");
        expect(performance.now() - began).toBeLessThan(2000);
        await until("the carrier to be told", async () => (await d.ledger(order))[0]?.ended_at ?? undefined);
      }
    });
    test("releases the callee also after a transfer that the carrier refused", async () => {
      const { order, over } = await joined("services");
      await expect(
        d.stage.bus.call("dialer.transfer", { call_ref: refOf(order), to: "+14155550106" }),
      ).rejects.toMatchObject({ type: "CALL_REFUSED" });
      d.script.alive = false;
      await over();
      await callIs(d, order, "hang-up", (c) => c.hang_up === "conversation_lost");
    });
    test("means nothing once the call was handed on to another number, which goes on without its conversation", async () => {
      const order = d.order("01");
      d.script.hold = true;
      await dial(order);
      await until("the talk", () => d.joins.find((j) => j.ref === refOf(order)));
      const { carrier_call_id: CallSid = "" } = await callIs(d, order, "answer", (c) => c.holder !== undefined);
      await d.stage.bus.call("dialer.transfer", { call_ref: refOf(order), to: "+14155550106" });
      d.script.alive = false;
      await send(d.callback(order, "stream", { CallSid, CallStatus: "in-progress", Direction: "outbound-api" }));
      await applied(order);
      expect([askedOf(order).length, await hangUpOf(order)]).toEqual([0, undefined]);
      await d.stage.bus.call("dialer.hangUp", { call_ref: refOf(order) });
      await toldIs(d, order, "numbers.releaseMany");
    });
  });
  test("answered, and media never comes: ended after the grace", async () => {
    const { order, say } = await silentCall();
    await send(say("in-progress", 2));
    await callIs(d, order, "answer", (c) => c.state === "ANSWERED");
    await callIs(
      d,
      order,
      "hang-up",
      (c) => c.hang_up === "media_missing",
      () => clock.advance(1000),
    );
    expect(await toldIs(d, order, "leads.settle", () => clock.advance(1000))).toMatchObject({
      facts: { error: { code: "MEDIA_MISSING" } },
    });
  });
});

describe("leases", () => {
  test("kept while it rings; taken away, the phone stops ringing; the conversation keeps its own", async () => {
    const [ringing, joined] = [await silentCall(), await silentCall()];
    await d.stage.bus.call("dialer.joined", { call_ref: refOf(joined.order), node_id: "services" });
    const extends_ = (order: DialJob) => names(order).filter((n) => n === "leads.extend").length;
    const before = extends_(joined.order);
    await until("the lease to be kept", async () => {
      await clock.advance(1000);
      return extends_(ringing.order) >= 3 || undefined;
    });
    expect(extends_(joined.order)).toBe(before);
    d.script.extend = () => false;
    await callIs(
      d,
      ringing.order,
      "hang-up",
      (c) => c.hang_up === "baton_lost",
      () => clock.advance(1000),
    );
    await until(
      "the carrier's hang-up",
      async () => (await d.ledger(ringing.order))[0]?.ended_by === "api" || undefined,
    );
  });
});
