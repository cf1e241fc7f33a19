import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { intent } from "../../../services/dialer/call/new-calls.ts";
import { plusMs, plusSeconds } from "../../../shared/time/clock.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { callIs, toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";

const clock = virtualClock();
let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({ clock, timeScale: 20 }); // a ring of 30 s, which a busy machine finds, too
});
afterAll(() => d.stop());
/** Longer than a carrier is left alone for the faults of the test before. */
const PAUSE_MS = 61_000;
beforeEach(async () => {
  d.reset();
  await clock.advance(PAUSE_MS);
  clock.set(new Date());
});

const tick = () => clock.advance(500);
const dial = (order: DialJob) => d.dial(order);
const reconcile = (order: DialJob) =>
  d.stage.bus.call("dialer.reconcile", { lead_id: order.lead_id, claim_no: order.claim_no });
const names = (order: DialJob) => d.toldOf(order).map((t) => t.what);
const rings = async (order: DialJob) => (await d.ledger(order)).reduce((n, row) => n + row.rings, 0);
const talk = {
  decided: "confirmed",
  ended_by: "error" as const,
  user_turns: 2,
  idle_out: false,
  time_limit: false,
  machine: false,
  message_left: false,
  transcription: [],
  node_traversal: ["a"],
  variables: {},
  errors: [],
};

describe("the carrier's reply is lost", () => {
  test.each([
    ["drop_reply", "cut off"],
    ["error_after_placing", "a 500 after placing"],
  ])("%s (%s): found again, adopted, one ring", async (fault) => {
    const order = d.order("06");
    await Promise.all([d.fault(fault, order), d.fault("lose_callbacks", order)]);
    await dial(order);
    expect(await toldIs(d, order, "leads.settle", tick)).toMatchObject({
      facts: { ended: "busy", call_id: (await d.ledger(order))[0]?.sid },
    });
    await toldIs(d, order, "numbers.releaseMany");
    expect([d.dials.filter((to) => to === order.to).length, (await d.ledger(order)).length]).toEqual([1, 1]);
  });
  test("a callback names the call before the search does", async () => {
    const order = d.order("07");
    await d.fault("drop_reply", order);
    await dial(order);
    const call = await callIs(d, order, "ringing", (c) => c.state === "RINGING");
    expect(call.carrier_call_id).toBe((await d.ledger(order))[0]?.sid);
    expect(await rings(order)).toBe(1);
  });
  test("hanging for ever: after the time-out the call is looked for and adopted, still one request", async () => {
    const order = d.order("07");
    await Promise.all([d.fault("hang_reply", order, { seconds: 6 }), d.fault("lose_callbacks", order)]);
    await dial(order);
    await until("the ring", async () => (await rings(order)) === 1 || undefined);
    const call = await callIs(d, order, "adoption", (c) => c.carrier_call_id !== undefined, tick);
    const { sid } = (await d.ledger(order))[0]!;
    expect([call.carrier_call_id, d.dials.filter((to) => to === order.to).length]).toEqual([sid, 1]);
    const ringing = (): unknown =>
      d.toldOf(order).find(({ params }) => "ringing" in params || "ringing_at" in params)?.params;
    await until("leads to be told that it rings", async () => (await tick(), ringing()));
  });
  test("never placed: looked for until hope ends, then settled as unknown; a ring that comes later is cut", async () => {
    const order = d.order("01");
    d.script.onDial = async (_request, response) => {
      response.destroy();
      return true;
    };
    await dial(order);
    const from = clock.now();
    expect(await toldIs(d, order, "leads.settle", () => clock.advance(1000))).toMatchObject({
      facts: { ended: "unknown", call_id: null, talk: null },
    });
    expect((clock.now().getTime() - from.getTime()) / 1000).toBeGreaterThan(110);
    expect(await reconcile(order)).toMatchObject({ verdict: "ended", facts: { ended: "unknown" } });

    d.reset();
    const other = d.order("07");
    await d.fault("lose_callbacks", other);
    await dial(other);
    const { carrier_call_id: CallSid = "" } = await callIs(
      d,
      other,
      "carrier id",
      (c) => c.carrier_call_id !== undefined,
    );
    await d.stage.bus.call(
      "dialer.carrierEvent",
      d.callback(order, "status", { CallSid, CallStatus: "ringing", SequenceNumber: "1" }),
    );
    await until("the stray ring to be cut", async () => (await d.ledger(other))[0]?.ended_by === "api" || undefined);
    expect((await d.calls.findOne({ _id: refOf(order) }))?.ended).toBe("unknown");
  });
});

describe("reconciliation", () => {
  test("nothing was dialled: a tombstone, and a dial that comes late dials nothing", async () => {
    const order = d.order("01");
    expect(await reconcile(order)).toEqual({ verdict: "never_dialled" });
    expect(await reconcile(order)).toEqual({ verdict: "never_dialled" });
    await until(
      "the number to be freed",
      () => names(order).filter((n) => n === "numbers.releaseMany").length >= 2 || undefined,
    );
    await dial(order);
    await until(
      "the late dial to free its number",
      () => names(order).filter((n) => n === "numbers.releaseMany").length >= 3 || undefined,
    );
    expect([
      d.dials.includes(order.to),
      (await d.calls.findOne({ _id: refOf(order) }))?.state,
      names(order).includes("leads.settle"),
    ]).toEqual([false, "VOID", false]);
  });
  test("died between intent and dial: live while there is hope, then unknown, never dialled again", async () => {
    const order = d.order("01");
    const now = clock.now();
    await d.calls.insertOne(intent(order, "dead-node", now, plusMs(now, 10_000)));
    expect(await reconcile(order)).toEqual({ verdict: "live", lease_seconds: 30 });
    await clock.advance(114_000);
    expect(await reconcile(order)).toEqual({ verdict: "live", lease_seconds: 30 });
    await clock.advance(2000);
    await until("the verdict", async () => {
      const v = await reconcile(order);
      return v.verdict === "ended" ? v : undefined;
    });
    expect(await reconcile(order)).toMatchObject({ verdict: "ended", facts: { ended: "unknown" } });
    expect(d.dials).not.toContain(order.to);
  });
  test("died between dial and record: the call is adopted, this node tends it, and its end is settled", async () => {
    const order = d.order("07");
    await d.fault("lose_callbacks", order);
    await dial(order);
    const { carrier_call_id: CallSid = "" } = await callIs(
      d,
      order,
      "carrier id",
      (c) => c.carrier_call_id !== undefined,
    );
    await d.calls.updateOne(
      { _id: refOf(order) },
      { $set: { tended_by: "dead-node" }, $unset: { carrier_call_id: 1, placed_at: 1 } },
    );
    expect(await reconcile(order)).toEqual({ verdict: "live", lease_seconds: 30 });
    expect(await d.calls.findOne({ _id: refOf(order) })).toMatchObject({
      carrier_call_id: CallSid,
      tended_by: "services",
    });
    await d.stage.bus.call(
      "dialer.carrierEvent",
      d.callback(order, "status", { CallSid, CallStatus: "no-answer", SequenceNumber: "4" }),
    );
    expect(await toldIs(d, order, "leads.settle")).toMatchObject({ facts: { ended: "no_answer" } });
    expect(d.dials.filter((to) => to === order.to)).toHaveLength(1);
  });
  test("all callbacks lost: the carrier is asked and the facts come from there", async () => {
    const order = d.order("06");
    await d.fault("lose_callbacks", order);
    await dial(order);
    await until("the end at the carrier", async () => (await d.ledger(order))[0]?.ended_at ?? undefined);
    expect(await reconcile(order)).toMatchObject({
      verdict: "ended",
      facts: { ended: "busy", call_id: (await d.ledger(order))[0]?.sid },
    });
    await toldIs(d, order, "numbers.releaseMany");
  });
  describe("a conversation whose node no longer renews the lease", () => {
    const LEASE_SECONDS = 30;
    /** Its phones ring for ten minutes of the machine's time, however slow it is. */
    let d: DialerStage;
    beforeAll(async () => {
      d = await setDialerStage({ clock, timeScale: 1 });
    });
    beforeEach(() => d.reset());
    afterAll(() => d.stop());
    const reconcile = (order: DialJob) =>
      d.stage.bus.call("dialer.reconcile", { lead_id: order.lead_id, claim_no: order.claim_no });
    const joined = async (node_id: string): Promise<DialJob> => {
      const order = d.order("07");
      await d.fault("lose_callbacks", order);
      d.script.talk = talk;
      await d.dial(order);
      await callIs(d, order, "carrier id", (c) => c.carrier_call_id !== undefined);
      await d.stage.bus.call("dialer.joined", { call_ref: refOf(order), node_id });
      return order;
    };
    /** The dialer has bus and database, without a break, for a whole lease. */
    const wholeLease = async (): Promise<void> => {
      const probes = (): number => d.told.filter(({ what }) => what === "leads.reachable").length;
      for (const from = clock.monotonicMs(); clock.monotonicMs() - from < (LEASE_SECONDS + 2) * 1000;) {
        const before = probes();
        await until("a probe", async () => {
          await tick();
          return probes() > before || undefined;
        });
      }
      await tick();
    };
    const lost = { ended: "completed", error: { code: "CONVERSATION_LOST" } };

    test("and lives, asked by its name: nothing is hung up", async () => {
      const order = await joined("services");
      await wholeLease();
      expect(await reconcile(order)).toEqual({ verdict: "live", lease_seconds: LEASE_SECONDS });
      expect((await d.ledger(order))[0]?.ended_at).toBeNull();
      d.script.alive = false;
      expect(await reconcile(order)).toMatchObject({ verdict: "ended", facts: lost });
    });
    test("and lives, its call over: the attempt is left to it, for it knows all that was said; what it left counts once it is gone", async () => {
      const order = await joined("services");
      const CallSid = (await d.calls.findOne({ _id: refOf(order) }))?.carrier_call_id ?? "";
      const over = { CallSid, CallStatus: "completed", SequenceNumber: "4" };
      await d.stage.bus.call("dialer.carrierEvent", d.callback(order, "status", over));
      await callIs(d, order, "over", (c) => c.state === "ENDED");
      expect(await reconcile(order)).toEqual({ verdict: "live", lease_seconds: LEASE_SECONDS });
      expect(d.toldOf(order).map((t) => t.what)).not.toContain("conversation.salvage");
      d.script.alive = false;
      const left = { ...lost, talk: { decided: "confirmed", node_traversal: ["a"] } };
      expect(await reconcile(order)).toMatchObject({ verdict: "ended", facts: left });
    });
    test("and is silent, while this dialer itself was without bus or database a moment ago: live, asked again soon", async () => {
      const order = await joined("dead-node");
      await clock.advance(60_000);
      expect(await reconcile(order)).toEqual({ verdict: "live", lease_seconds: 10 });
      expect((await d.ledger(order))[0]?.ended_at).toBeNull();
    });
    test("and is silent for good: hung up, what was said is salvaged, conversation_lost", async () => {
      const order = await joined("dead-node");
      await wholeLease();
      expect(await reconcile(order)).toMatchObject({
        verdict: "ended",
        facts: { ...lost, talk: { decided: "confirmed", node_traversal: ["a"] } },
      });
      expect((await d.ledger(order))[0]?.ended_by).toBe("api");
      await toldIs(d, order, "numbers.releaseMany", tick);
      expect(d.toldOf(order).map((t) => t.what)).not.toContain("leads.settle");
      expect(await reconcile(order)).toMatchObject({ verdict: "ended", facts: { error: lost.error } });
    });
  });

  test("nobody told us of the end: the watchdog asks, once the ring time is over", async () => {
    const order = d.order("15");
    await d.fault("lose_callbacks", order);
    await dial(order);
    await until("the end at the carrier", async () => (await d.ledger(order))[0]?.ended_at ?? undefined);
    await clock.advance(600_000);
    expect(names(order)).not.toContain("leads.settle");
    await clock.advance(31_000);
    expect(await toldIs(d, order, "leads.settle", tick)).toMatchObject({ facts: { ended: "failed" } });
  });
});

describe("a carrier that can't be reached", () => {
  let away: DialerStage;
  beforeAll(async () => {
    away = await setDialerStage({ clock, env: { TWILIO_API_BASE: "http://127.0.0.1:1" } });
  });
  afterAll(() => away.stop());

  test("is no call: each time given back a little later, no attempt spent", async () => {
    const pauses: number[] = [];
    for (let i = 0; i < 4; i++) {
      const order = away.order("01");
      await away.dial(order);
      const { due_at } = (await toldIs(away, order, "leads.release")) as { due_at: string };
      await toldIs(away, order, "numbers.releaseMany");
      pauses.push(Math.round((Date.parse(due_at) - clock.now().getTime()) / 1000));
      expect((await away.calls.findOne({ _id: refOf(order) }))?.ended).toBe("not_dialled");
      await clock.advance((pauses.at(-1) ?? 0) * 1000);
    }
    expect(pauses).toEqual([2, 4, 8, 16]);
  });
  test("is no verdict either: live, and asked again soon", async () => {
    const order = away.order("01");
    const long_ago = plusSeconds(clock.now(), -3600);
    await away.calls.insertOne(intent(order, "dead-node", long_ago, plusMs(long_ago, 10_000)));
    expect(await away.stage.bus.call("dialer.reconcile", { lead_id: order.lead_id, claim_no: 1 })).toEqual({
      verdict: "live",
      lease_seconds: 10,
    });
    expect((await away.calls.findOne({ _id: refOf(order) }))?.state).toBe("DIALING");
  });
});
