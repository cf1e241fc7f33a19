import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock, type VirtualClock } from "../../fixtures/virtual-clock.ts";
import { callIs, toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";

/** What a process does after SIGKILL: nothing more. Here the attempt at hand breaks off; the loops that go on are the other replica. */
class Killed extends Error {}
let kill: jest.SpiedFunction<typeof process.kill>;
let stage: DialerStage | null = null;
beforeEach(() => {
  kill = jest.spyOn(process, "kill").mockImplementation(() => {
    throw new Killed("SIGKILL");
  });
});
afterEach(async () => {
  kill.mockRestore();
  await stage?.stop();
  stage = null;
});

/** A dialer that dies at this point of an attempt; the carrier reports nothing unless a test says so. */
async function dyingAt(
  point: string,
  ending: string,
  faults: string[] = ["lose_callbacks"],
): Promise<{ d: DialerStage; clock: VirtualClock; order: DialJob; tick: () => Promise<void> }> {
  const clock = virtualClock(new Date());
  // a phone rings for 600 s
  const d = await setDialerStage({ clock, timeScale: 3_000, env: { CRASH_AT: point } });
  stage = d;
  const order = d.order(ending);
  for (const fault of faults) await d.fault(fault, order);
  await d.dial(order);
  return { d, clock, order, tick: () => clock.advance(500) };
}
const crashed = () => until("the crash", () => kill.mock.calls[0]);
const reconcile = (d: DialerStage, { lead_id, claim_no }: DialJob) =>
  d.stage.bus.call("dialer.reconcile", { lead_id, claim_no });
const rings = async (d: DialerStage, order: DialJob) => (await d.ledger(order)).reduce((n, row) => n + row.rings, 0);
const names = (d: DialerStage, order: DialJob) => d.toldOf(order).map((t) => t.what);

describe("a process that dies", () => {
  test("K3, right to place the call taken, no intent: never dialled, and no late copy of the order can change that", async () => {
    const { d, order } = await dyingAt("K3", "06");
    expect(await crashed()).toEqual([process.pid, "SIGKILL"]);
    expect(await d.calls.findOne({ _id: refOf(order) })).toBeNull();
    expect(await reconcile(d, order)).toEqual({ verdict: "never_dialled" });
    expect([
      (await d.calls.findOne({ _id: refOf(order) }))?.state,
      d.dials,
      names(d, order).includes("leads.settle"),
    ]).toEqual(["VOID", [], false]);
  });

  test("K4, intent written, carrier not asked: nobody can know that, so it is looked for until hope ends, then counts as unknown; no ring", async () => {
    const { d, clock, order } = await dyingAt("K4", "06");
    await crashed();
    expect((await d.calls.findOne({ _id: refOf(order) }))?.state).toBe("DIALING");
    expect(await reconcile(d, order)).toMatchObject({ verdict: "live" });
    const from = clock.monotonicMs();
    expect(await toldIs(d, order, "leads.settle", () => clock.advance(5000))).toMatchObject({
      facts: { ended: "unknown", call_id: null, talk: null },
    });
    expect((clock.monotonicMs() - from) / 1000).toBeGreaterThan(110);
    await toldIs(d, order, "numbers.releaseMany");
    expect([d.dials, await d.ledger(order), await reconcile(d, order)]).toMatchObject([
      [],
      [],
      { verdict: "ended", facts: { ended: "unknown" } },
    ]);
  });

  test("K5, carrier asked, no reply heard: the call is found at the carrier and adopted; one request, one ring", async () => {
    const { d, clock, order, tick } = await dyingAt("K5", "07");
    await until("the ring", async () => (await rings(d, order)) === 1 || undefined);
    expect(kill).not.toHaveBeenCalled();
    await clock.advance(400);
    await crashed();
    expect(await d.calls.findOne({ _id: refOf(order) })).not.toHaveProperty("carrier_call_id");
    const call = await callIs(d, order, "adoption", (c) => c.carrier_call_id !== undefined, tick);
    expect([call.carrier_call_id, d.dials, await rings(d, order)]).toEqual([
      (await d.ledger(order))[0]?.sid,
      [order.to],
      1,
    ]);
    expect(await toldIs(d, order, "leads.settle", () => clock.advance(5000))).toMatchObject({
      facts: { ended: "no_answer" },
    });
  });

  test.each<[string, string[]]>([
    ["by its callbacks", []],
    ["by the look-up, where callbacks are lost too", ["lose_callbacks"]],
  ])("K6, reply there, not written down: named %s, settled once, one ring", async (_name, faults) => {
    const { d, clock, order } = await dyingAt("K6", "07", faults);
    await crashed();
    expect(
      await toldIs(d, order, "leads.settle", faults.length > 0 ? () => clock.advance(5000) : undefined),
    ).toMatchObject({ facts: { ended: "no_answer", call_id: (await d.ledger(order))[0]?.sid } });
    await toldIs(d, order, "numbers.releaseMany");
    expect([d.dials, await rings(d, order), names(d, order).filter((n) => n === "leads.settle").length]).toEqual([
      [order.to],
      1,
      1,
    ]);
  });

  test("K7, while it rings: the callbacks that follow finish the lead on another replica", async () => {
    const { d, order, tick } = await dyingAt("K7", "07", []);
    await crashed();
    expect(await toldIs(d, order, "leads.settle", tick)).toMatchObject({ facts: { ended: "no_answer" } });
    await until("the callback that was under way to be taken up again", async () => {
      await tick();
      return (await d.events.countDocuments({ ref: refOf(order), applied: false })) === 0 || undefined;
    });
    expect([await rings(d, order), names(d, order).filter((n) => n === "leads.settle").length]).toEqual([1, 1]);
  });

  test("K9, callbacks stored, none applied: the sweep applies them", async () => {
    const { d, order, tick } = await dyingAt("K9", "06", []);
    await crashed();
    expect((await d.events.findOne({ ref: refOf(order) }))?.applied).toBe(false);
    expect(await toldIs(d, order, "leads.settle", tick)).toMatchObject({ facts: { ended: "busy" } });
    await toldIs(d, order, "numbers.releaseMany", tick);
    expect(names(d, order).filter((n) => n === "leads.settle")).toHaveLength(1);
  });
});
