import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { twilioStream } from "../../../services/dialer/carriers/twilio/stream.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { fail } from "../../../shared/errors.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { callIs, toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";

/** Calls whose talks carry sound, here recorded by the conversation service. */
const clock = virtualClock();
let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({ clock, env: { RECORDING_SOURCE: "own" } });
});
afterAll(() => d.stop());
beforeEach(() => {
  d.reset();
  d.script.kind = "audio";
  clock.set(new Date());
});

/** A dialled call whose carrier says nothing by itself, and the form it was dialled with. */
async function dialled(over: Partial<DialJob> = {}): Promise<{
  order: DialJob;
  form: URLSearchParams;
  tell: (kind: string, fields: Record<string, string>) => Promise<unknown>;
}> {
  const order = d.order("07", over);
  let form = new URLSearchParams();
  d.script.onDial = async (_request, _response, body) => {
    form = new URLSearchParams(body);
    return false;
  };
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
  return { order, form, tell };
}
const ANSWERED = { CallStatus: "in-progress", SequenceNumber: "2" };
const END = { CallStatus: "completed", SequenceNumber: "3", CallDuration: "9" };

test("the preparation says whose stream it will be, which engine is wished for, and that we record; the carrier then does not", async () => {
  const { order, form, tell } = await dialled({ engine: "cascade" });
  expect(d.toldOf(order).find((t) => t.what === "conversation.prepareMany")?.params).toMatchObject({
    carrier: "twilio",
    stream: twilioStream,
    engine: "cascade",
    record: true,
  });
  expect(form.get("Twiml")).toContain(
    `<Stream url="${d.stage.env.PUBLIC_WS_URL}/media/PROVIDER_ONE/${refOf(order)}"/>`,
  );
  expect([form.get("Record"), (await d.calls.findOne({ _id: refOf(order) }))?.media]).toEqual([null, "audio"]);
  await tell("status", { ...END, CallStatus: "no-answer" });
  await toldIs(d, order, "numbers.releaseMany");
});

test("a talk that travels as text is recorded by the carrier all the same", async () => {
  d.script.kind = "text";
  const { order, form, tell } = await dialled();
  expect([form.get("Record"), form.get("Twiml")]).toEqual(["true", expect.stringContaining("<ConversationRelay")]);
  expect(d.toldOf(order).find((t) => t.what === "conversation.prepareMany")?.params).toMatchObject({
    engine: null,
    record: true,
  });
  await tell("status", { ...END, CallStatus: "no-answer" });
  await toldIs(d, order, "numbers.releaseMany");
});

test("a machine's verdict and beep reach a talk that carries sound", async () => {
  const { order, tell } = await dialled({ voicemail_action: "leave_message" });
  await tell("status", ANSWERED);
  expect(await d.stage.bus.call("dialer.joined", { call_ref: refOf(order), node_id: "services" })).toMatchObject({
    go: true,
    tells_beep: true,
  });
  await tell("amd", { AnsweredBy: "machine_end_beep" });
  expect(
    d
      .toldOf(order)
      .filter((t) => t.what === "conversation.stop")
      .map((t) => t.params["reason"]),
  ).toEqual(["machine", "beep"]);
  await tell("status", END);
  await toldIs(d, order, "numbers.releaseMany");
});

test("answered, and the stream never comes: ended after 10 s, an error of the call", async () => {
  const { order, tell } = await dialled();
  await tell("status", ANSWERED);
  const answered = (await d.calls.findOne({ _id: refOf(order) }))?.answered_at?.getTime() ?? 0;
  const sinceAnswer = (): number => clock.now().getTime() - answered;
  await callIs(
    d,
    order,
    "hang-up",
    (c) => c.hang_up === "media_missing",
    // once it is due, little time goes by with every look, for on a busy machine the sweep needs many of them
    () => clock.advance(sinceAnswer() < 10_000 ? 1000 : 20),
  );
  const after = sinceAnswer();
  expect([after >= 10_000, after < 30_000]).toEqual([true, true]);
  expect(await toldIs(d, order, "leads.settle", () => clock.advance(1000))).toMatchObject({
    facts: { talk: null, error: { code: "MEDIA_MISSING" } },
  });
});

test("a talk that can't be held as it should is not dialled, and its lead does not come back for ever", async () => {
  const order = d.order("07");
  d.script.prepare = () => fail("NOT_AVAILABLE", "The engine cascade needs STT_BASE_URL.");
  await d.dial(order);
  expect(await toldIs(d, order, "leads.settle")).toMatchObject({
    facts: { ended: "not_dialled", error: { code: "NOT_AVAILABLE", message: expect.stringContaining("STT_BASE_URL") } },
  });
  await toldIs(d, order, "numbers.releaseMany");
  expect([
    d.dials.includes(order.to),
    d.toldOf(order).some((t) => t.what === "leads.release"),
    await d.calls.findOne({ _id: refOf(order) }),
  ]).toEqual([false, false, null]);
});
