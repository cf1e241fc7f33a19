import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { CallDoc } from "../../../../services/dialer/call/calls.model.ts";
import { LEASE_MS } from "../../../../services/dialer/recordings/recording-state-machine.ts";
import type { StoredRecording } from "../../../../services/dialer/call/calls.model.ts";
import { fail } from "../../../../shared/errors.ts";
import { plusMs } from "../../../../shared/time/clock.ts";
import type { DialJob } from "../../../../shared/contracts/dialer.ts";
import { virtualClock } from "../../../fixtures/virtual-clock.ts";
import { callIs } from "../../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../../fixtures/dialer-stage/dial-orders.ts";
import { addressesTold } from "../../fixtures/told-addresses.ts";
import { setDialerStage, type DialerStage } from "../../fixtures/dialer-stage/dialer-stage.ts";

const clock = virtualClock();
let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({ clock });
});
afterAll(() => d.stop());
beforeEach(() => {
  d.reset();
  clock.set(new Date());
});

const pass = () => clock.advance(200);
const stored = (order: DialJob): unknown[] =>
  d
    .toldOf(order)
    .map((t) => t.params["recording_stored"])
    .filter((told) => told !== undefined);
const isIn =
  (state: string) =>
  (c: CallDoc): boolean =>
    c.recording?.state === state;
const recorded = async (
  order: DialJob,
  state: string,
  stage = d,
): Promise<CallDoc & { recording: StoredRecording }> => {
  const call = await callIs(stage, order, `the recording to be ${state}`, isIn(state), pass);
  if (!call.recording) throw new Error("it has no recording");
  return { ...call, recording: call.recording };
};

/** A call that is over, with a recording as given, as a node would have left it. */
async function left(
  recording: Partial<StoredRecording> & Pick<StoredRecording, "state">,
  over: Partial<CallDoc> = {},
): Promise<{ order: DialJob; call: CallDoc }> {
  const order = d.order("01");
  const call: CallDoc = {
    _id: refOf(order),
    lead_id: order.lead_id,
    claim_no: 1,
    state: "ENDED",
    rank: 9,
    created_at: clock.now(),
    provider: "PROVIDER_ONE",
    carrier_call_id: `CA${randomUUID().replaceAll("-", "")}`,
    closed_at: clock.now(),
    ended: "completed",
    recording: { tries: 0, due_at: clock.now(), ...recording },
    ...over,
  };
  await d.calls.insertOne(call);
  return { order, call };
}

describe("holders that are gone", () => {
  test("a recording that a dead node was fetching is fetched by another when its hold ends, not before", async () => {
    const order = d.order("01");
    await d.dial(order);
    const { recording, ...call } = await recorded(order, "stored");
    await callIs(d, order, "nothing owed", (c) => c.recording?.due_at === undefined, pass);
    const { key: _key, bytes: _bytes, ...source } = recording;
    await d.calls.updateOne(
      { _id: call._id },
      { $set: { recording: { ...source, state: "fetching", tries: 1, due_at: plusMs(clock.now(), 60_000) } } },
    );
    for (let i = 0; i < 3; i += 1) await pass();
    expect((await d.calls.findOne({ _id: call._id }))?.recording?.state).toBe("fetching");
    await callIs(d, order, "the recording", isIn("stored"), () => clock.advance(20_000));
  });

  test("one that nobody ever told of, and that the carrier has not when it is asked, is given up", async () => {
    const { order } = await left({ state: "wanted", told: true, looks: 0 });
    const looked = await callIs(d, order, "a look in vain", (c) => c.recording?.looks === 1, pass);
    const waits = Number(looked.recording?.due_at) - clock.now().getTime();
    expect([looked.recording?.state, waits > 500_000, waits <= 600_000]).toEqual(["wanted", true, true]);
    const call = await callIs(
      d,
      order,
      "given up",
      (c) => isIn("absent")(c) && c.recording?.told === false,
      () => clock.advance(LEASE_MS / 2),
    );
    expect([addressesTold(d, order), call.recording?.looks, call.recording?.error]).toEqual([
      [null],
      3,
      expect.stringContaining("never told"),
    ]);
  });

  test("a carrier that can't be asked is asked again, and given up only after many times", async () => {
    const { order } = await left({ state: "wanted", told: true, looks: 2 }, { provider: "PROVIDER_THREE" }); // there is no such account here
    const failed = await callIs(d, order, "a try that failed", (c) => c.recording?.tries === 1, pass);
    expect(failed.recording).toMatchObject({ state: "wanted", looks: 2, error: expect.any(String) });
    await callIs(
      d,
      order,
      "given up",
      (c) => isIn("absent")(c) && c.recording?.told === false,
      () => clock.advance(3_600_000),
    );
  });

  test("leads is told that a recording is stored, again until it has answered, and then no more", async () => {
    let away = 2;
    d.script.onTold = (what) => {
      if (what === "leads.annotate" && away-- > 0) fail("DEPENDENCY_DOWN", "leads is away");
    };
    const { order, call } = await left({ state: "stored", told: true, key: "k", bytes: 1, content_type: "audio/wav" });
    const done = await callIs(
      d,
      order,
      "told",
      (c) => c.recording?.stored_told === true,
      () => clock.advance(5_000),
    );
    const recording_url = expect.stringContaining(`/leads/recording/${call.carrier_call_id}`);
    const recording_stored = { call_id: call.carrier_call_id, recording_url };
    const notice = { lead_id: order.lead_id, claim_no: 1, recording_stored };
    expect(d.toldOf(order).map(({ params }) => params)).toEqual([notice, notice, notice]);
    expect(done.recording?.due_at).toBeUndefined();
  });

  test("one that its teller died of is told again: leads knows it by its attempt", async () => {
    const kept = { told: true, key: "k", bytes: 1, content_type: "audio/wav" };
    const due_at = plusMs(clock.now(), LEASE_MS);
    const { order } = await left({ state: "stored", ...kept, due_at });
    for (let i = 0; i < 3; i += 1) await pass();
    expect(stored(order)).toEqual([]);
    await callIs(
      d,
      order,
      "told",
      (c) => c.recording?.stored_told === true,
      () => clock.advance(LEASE_MS / 2),
    );
    expect(stored(order)).toHaveLength(1);
  });

  test("one whose lead was not told is told later", async () => {
    const { order, call } = await left({ state: "stored", key: "k", bytes: 1, content_type: "audio/wav" });
    await callIs(d, order, "told", (c) => c.recording?.told === true && c.recording.due_at === undefined, pass);
    expect(addressesTold(d, order)).toEqual([expect.stringContaining(String(call.carrier_call_id))]);
  });

  test("whoever settles for a holder that is gone learns the address with the facts", async () => {
    for (const [state, address] of [
      ["wanted", { recording_url: expect.stringContaining("/leads/recording/CA") }],
      ["absent", {}],
    ] as const) {
      const { order, call } = await left({ state, due_at: plusMs(clock.now(), LEASE_MS) });
      const { lead_id, claim_no } = order;
      expect(await d.stage.bus.call("dialer.reconcile", { lead_id, claim_no })).toEqual({
        verdict: "ended",
        facts: expect.objectContaining({ call_id: call.carrier_call_id }),
        placed: { call_id: call.carrier_call_id, placed_at: expect.any(String), ringing_at: null, ...address },
      });
    }
  });
});
