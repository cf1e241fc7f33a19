import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { until } from "../../../local/harness/stage.ts";
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
beforeEach(() => {
  d.reset();
  clock.set(new Date());
});

type Action = DialJob["voicemail_action"];

/** An answered call whose carrier says nothing by itself. */
async function answeredCall(
  voicemail_action: Action,
): Promise<{ order: DialJob; tell: (kind: string, fields: Record<string, string>) => Promise<unknown> }> {
  const order = d.order("07", { voicemail_action });
  await d.fault("lose_callbacks", order);
  await d.dial(order);
  const { carrier_call_id: CallSid = "" } = await callIs(
    d,
    order,
    "carrier id",
    (c) => c.carrier_call_id !== undefined,
  );
  const tell = async (kind: string, fields: Record<string, string>): Promise<void> => {
    await d.stage.bus.call("dialer.carrierEvent", d.callback(order, kind, { CallSid, ...fields }));
    await until(
      "all callbacks to be applied",
      async () => (await d.events.countDocuments({ ref: refOf(order), applied: false })) === 0 || undefined,
    );
  };
  await tell("status", { CallStatus: "in-progress", SequenceNumber: "2" });
  return { order, tell };
}
const join = (order: DialJob) => d.stage.bus.call("dialer.joined", { call_ref: refOf(order), node_id: "services" });
const stops = (order: DialJob) =>
  d
    .toldOf(order)
    .filter((t) => t.what === "conversation.stop")
    .map((t) => t.params["reason"]);
const END = { CallStatus: "completed", SequenceNumber: "3", CallDuration: "9" };

test.each<[Action, string[]]>([
  ["hangup", ["machine"]],
  ["leave_message", ["machine", "beep"]],
  ["continue", []],
])("%s: a talk that goes on is told %j", async (action, told) => {
  const { order, tell } = await answeredCall(action);
  expect(await join(order)).toMatchObject({ go: true, machine: false, beep: false });
  await tell("amd", { AnsweredBy: "machine_end_beep" });
  expect([stops(order), (await d.calls.findOne({ _id: refOf(order) }))?.hang_up]).toEqual([told, undefined]);
  await tell("status", END);
  await toldIs(d, order, "numbers.releaseMany");
});

test.each<[Action, object]>([
  ["leave_message", { go: true, machine: true, beep: true }],
  ["continue", { go: true, machine: true, beep: true }],
  ["hangup", { go: false, reason: "machine" }],
])("%s: a talk that joins after the verdict", async (action, answer) => {
  const { order, tell } = await answeredCall(action);
  await tell("amd", { AnsweredBy: "machine_end_silence" });
  expect(await join(order)).toMatchObject(answer);
  expect(stops(order)).toEqual([]);
});

test("left alone by its talk, a machine's call is ended for want of media, and settled as a machine", async () => {
  const { order, tell } = await answeredCall("leave_message");
  await tell("amd", { AnsweredBy: "machine_start" });
  await callIs(
    d,
    order,
    "end",
    (c) => c.hang_up === "media_missing",
    async () => {
      await clock.advance(11_000);
    },
  );
  await tell("status", END);
  expect(await toldIs(d, order, "leads.settle")).toMatchObject({ facts: { machine: true, talk: null } });
});

test.each<[Action, string]>([
  ["hangup", "Enable"],
  ["continue", "Enable"],
  ["leave_message", "DetectMessageEnd"],
])("%s asks the carrier for %s", async (voicemail_action, mode) => {
  const order = d.order("06", { voicemail_action, record: false });
  let form = new URLSearchParams();
  d.script.onDial = async (_request, _response, body) => {
    form = new URLSearchParams(body);
    return false;
  };
  await d.dial(order);
  await toldIs(d, order, "numbers.releaseMany");
  expect([form.get("MachineDetection"), form.get("AsyncAmd"), form.get("Record")]).toEqual([mode, "true", null]);
});

describe("a conversation that ends and can't tell who answered asks for the carrier's verdict", () => {
  const endOf = (order: DialJob) => d.stage.bus.call("dialer.hangUp", { call_ref: refOf(order), verdict: true });

  test("whose callback was lost: it is looked up", async () => {
    const order = d.order("09", { voicemail_action: "continue" });
    d.script.hold = true;
    await d.fault("lose_callbacks", order);
    await d.dial(order);
    await until("the talk", () => d.joins.find((j) => j.ref === refOf(order)));
    await until("the carrier to know", async () => {
      const { entries } = (await (await fetch(`${d.carrier}/ledger?since=0&limit=10000`)).json()) as {
        entries: { kind: string; to?: string }[];
      };
      return entries.some(({ kind, to }) => kind === "amd" && to === order.to) || undefined;
    });
    expect((await d.calls.findOne({ _id: refOf(order) }))?.machine).toBeUndefined();
    expect(await endOf(order)).toMatchObject({ machine: true });
    await toldIs(d, order, "numbers.releaseMany", () => clock.advance(5000));
  });
  test("that came: it is the call's", async () => {
    for (const [AnsweredBy, machine] of [
      ["machine_start", true],
      ["human", false],
    ] as const) {
      const { order, tell } = await answeredCall("continue");
      await join(order);
      await tell("amd", { AnsweredBy });
      expect(await endOf(order)).toEqual({ machine });
      await tell("status", END);
      await toldIs(d, order, "numbers.releaseMany");
    }
  });
  test("that nobody has: the answer says nothing", async () => {
    const { order, tell } = await answeredCall("continue");
    await join(order);
    expect(await endOf(order)).toEqual({});
    await tell("status", END);
    await toldIs(d, order, "numbers.releaseMany");
  });
});
