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
  d = await setDialerStage({ clock });
});
afterAll(() => d.stop());
/** Longer than a carrier is left alone for the faults of the test before. */
const PAUSE_MS = 61_000;
beforeEach(async () => {
  d.reset();
  await clock.advance(PAUSE_MS);
  clock.set(new Date());
});

const pass = () => clock.advance(200);
const dial = (order: DialJob) => d.dial(order);
const names = (order: DialJob) => d.toldOf(order).map((t) => t.what);
const dialled = (order: DialJob) => d.dials.filter((to) => to === order.to).length;

describe("an attempt in order", () => {
  test("checks, media, intent, dial, answer, hand-over; after the end the conversation settles and the number is freed", async () => {
    const order = d.order("01");
    let atTheDoor: unknown = null;
    d.script.onDial = async () => {
      atTheDoor = await d.calls.findOne({ _id: refOf(order) });
      return false;
    };
    expect(await d.stage.bus.call("dialer.dialMany", { orders: [order] })).toEqual({ taken: [true] });
    const release = await toldIs(d, order, "numbers.releaseMany");

    expect(atTheDoor).toMatchObject({ state: "DIALING", rank: 1, order: { to: order.to, template_version: 1 } });
    expect(atTheDoor).not.toHaveProperty("carrier_call_id");
    expect(names(order)).toEqual([
      "numbers.keepMany",
      "blacklist.check",
      "conversation.prepareMany",
      "conversation.stop",
      "leads.annotate",
      "numbers.releaseMany",
    ]);
    expect(release).toEqual({ holder: refOf(order) });
    const [row, ...more] = await d.ledger(order);
    expect([row?.rings, more.length, row?.reference, row?.answered]).toEqual([1, 0, refOf(order), true]);
    const [ended] = d
      .toldOf(order)
      .filter((t) => t.what === "leads.annotate")
      .map((t) => t.params);
    expect(ended).toMatchObject({ call_id: row?.sid, call_end_time: expect.any(String) });
    const call = await d.calls.findOne({ _id: refOf(order) });
    const { answer } = d.joins.find((j) => j.ref === refOf(order)) ?? {};
    expect(answer).toMatchObject({ go: true, reason: null, answered_at: expect.any(String) });
    // the lead, which is not told of calls that are answered at once, is told with the answer; word of the ringing may come behind that of the answer
    const [placed_at, ringing_at] = [call?.placed_at?.toISOString(), call?.ringing_at?.toISOString() ?? null];
    expect(answer).toMatchObject({ placed: { call_id: row?.sid, placed_at, ringing_at } });
    expect(d.toldOf(order).find((t) => t.what === "conversation.stop")?.params).toEqual({
      call_ref: refOf(order),
      reason: "carrier_ended",
    });
    expect(call).toMatchObject({
      state: "ENDED",
      ended: "completed",
      holder: "services",
      provider: "PROVIDER_ONE",
      carrier_call_id: row?.sid,
    });
  });

  test("the price is asked for after the talk and told once", async () => {
    const order = d.order("01");
    await dial(order);
    await callIs(d, order, "price", (c) => c.cost !== undefined, pass);
    expect(d.toldOf(order).filter((t) => t.params["cost"] !== undefined)).toMatchObject([
      {
        what: "leads.annotate",
        params: {
          cost: 0.014,
          cost_breakdown: {
            items: [{ what: "carrier", minutes: 1, price_per_minute: null, amount: 0.014, currency: "USD" }],
          },
        },
      },
    ]);
    expect(await d.calls.findOne({ _id: refOf(order) })).not.toHaveProperty("due_at");
  });

  test.each<[string, string, object]>([
    ["06", "busy", { ended: "busy", answered_at: null }],
    ["07", "no answer", { ended: "no_answer", answered_at: null }],
    ["15", "failed", { ended: "failed" }],
    [
      "10",
      "refused number",
      { ended: "invalid_number", call_id: null, error: { code: "CALL_REFUSED", carrier_code: "21211" } },
    ],
  ])("%s (%s): settled with the carrier's facts, then the number is freed", async (ending, _name, facts) => {
    const order = d.order(ending);
    await dial(order);
    await toldIs(d, order, "numbers.releaseMany");
    expect(names(order).slice(-2)).toEqual(["leads.settle", "numbers.releaseMany"]);
    expect(d.toldOf(order).find((t) => t.what === "leads.settle")?.params).toMatchObject({
      lead_id: order.lead_id,
      claim_no: 1,
      facts: { ...facts, talk: null, machine: false },
    });
    expect(names(order).filter((n) => n === "leads.settle" || n === "numbers.releaseMany")).toHaveLength(2);
  });

  test("answered and never joined: settled as completed, without a talk", async () => {
    const order = d.order("04");
    d.script.join = false;
    await dial(order);
    expect(await toldIs(d, order, "leads.settle")).toMatchObject({
      facts: { ended: "completed", answered_at: expect.any(String), talk: null },
    });
  });

  test("an answering machine that media did not join is hung up on and settled as a machine", async () => {
    const order = d.order("07");
    await d.fault("lose_callbacks", order);
    await dial(order);
    const { carrier_call_id: CallSid = "" } = await callIs(
      d,
      order,
      "carrier id",
      (c) => c.carrier_call_id !== undefined,
    );
    await d.stage.bus.call(
      "dialer.carrierEvent",
      d.callback(order, "status", { CallSid, CallStatus: "in-progress", SequenceNumber: "2" }),
    );
    await d.stage.bus.call("dialer.carrierEvent", d.callback(order, "amd", { CallSid, AnsweredBy: "machine_start" }));
    await callIs(d, order, "hang-up", (c) => c.hang_up === "machine");
    expect(await d.stage.bus.call("dialer.joined", { call_ref: refOf(order), node_id: "services" })).toEqual({
      go: false,
      reason: "machine",
      answered_at: null,
      machine: false,
      beep: false,
      tells_beep: false,
    });
    await until("the carrier's hang-up", async () => (await d.ledger(order))[0]?.ended_by === "api" || undefined);
    await d.stage.bus.call(
      "dialer.carrierEvent",
      d.callback(order, "status", { CallSid, CallStatus: "completed", SequenceNumber: "3", CallDuration: "4" }),
    );
    expect(await toldIs(d, order, "leads.settle")).toMatchObject({
      facts: { ended: "completed", machine: true, talk: null },
    });
    expect(names(order)).not.toContain("conversation.stop");
  });

  test("an answering machine found out after media joined: the node that talks is told", async () => {
    const order = d.order("07");
    await d.fault("lose_callbacks", order);
    await dial(order);
    const { carrier_call_id: CallSid = "" } = await callIs(
      d,
      order,
      "carrier id",
      (c) => c.carrier_call_id !== undefined,
    );
    expect(await d.stage.bus.call("dialer.joined", { call_ref: refOf(order), node_id: "services" })).toMatchObject({
      go: true,
    });
    expect(await d.stage.bus.call("dialer.joined", { call_ref: refOf(order), node_id: "services" })).toMatchObject({
      go: true,
    });
    expect(await d.stage.bus.call("dialer.joined", { call_ref: refOf(order), node_id: "other" })).toEqual({
      go: false,
      reason: "taken",
      answered_at: null,
      machine: false,
      beep: false,
      tells_beep: false,
    });
    await d.stage.bus.call("dialer.carrierEvent", d.callback(order, "amd", { CallSid, AnsweredBy: "fax" }));
    expect(await toldIs(d, order, "conversation.stop")).toEqual({ call_ref: refOf(order), reason: "machine" });
    expect(names(order)).not.toContain("leads.settle");
    await d.stage.bus.call("dialer.hangUp", { call_ref: refOf(order) });
    await d.stage.bus.call("dialer.hangUp", { call_ref: refOf(order) });
    expect((await d.ledger(order))[0]?.ended_by).toBe("api");
  });
});

test("a transfer sends the live call elsewhere with our caller id; one that is over can't be transferred", async () => {
  const order = d.order("01");
  d.script.hold = true;
  await dial(order);
  await until("the talk", () => d.joins.find((j) => j.ref === refOf(order)));
  for (const to of ["+2710111", "+49116117", "+8816123456789", "+19005551234", "+979123456789"])
    await expect(d.stage.bus.call("dialer.transfer", { call_ref: refOf(order), to })).rejects.toMatchObject({
      type: "INVALID_PHONE_NUMBER",
    });
  d.script.listed = true;
  await expect(
    d.stage.bus.call("dialer.transfer", { call_ref: refOf(order), to: "+14155550106" }),
  ).rejects.toMatchObject({ type: "NUMBER_BLACKLISTED" });
  d.script.listed = false;
  await d.stage.bus.call("dialer.transfer", { call_ref: refOf(order), to: "+14155550106" });
  expect(d.changes.at(-1)?.form["Twiml"]).toContain(
    `<Dial callerId="${order.from}"><Number>+14155550106</Number></Dial>`,
  );
  await d.stage.bus.call("dialer.hangUp", { call_ref: refOf(order) });
  await toldIs(d, order, "numbers.releaseMany");
  await expect(
    d.stage.bus.call("dialer.transfer", { call_ref: refOf(order), to: "+14155550106" }),
  ).rejects.toMatchObject({ type: "VALIDATION_FAILED" });
});

test("a call is transferred to no other country where those are off, and by a variable to listed numbers only", async () => {
  const order = d.order("01", { enable_international_call: false, transfer_numbers: ["+14155550106"] });
  d.script.hold = true;
  await dial(order);
  await until("the talk", () => d.joins.find((j) => j.ref === refOf(order)));
  for (const to of ["+4915112345678", "+18765551234", "+80012345678", "+14155550107"])
    await expect(
      d.stage.bus.call("dialer.transfer", { call_ref: refOf(order), to, from_variable: to.startsWith("+1415") }),
    ).rejects.toMatchObject({ type: "FORBIDDEN" });
  await d.stage.bus.call("dialer.transfer", { call_ref: refOf(order), to: "+14155550106", from_variable: true });
  await d.stage.bus.call("dialer.hangUp", { call_ref: refOf(order) });
});
test("the dial request, field by field", async () => {
  const order = d.order("06", { dial_until: plusSeconds(clock.now(), 33.5).toISOString(), max_call_seconds: 300 });
  let form = new URLSearchParams();
  d.script.onDial = async (_request, _response, body) => {
    form = new URLSearchParams(body);
    return false;
  };
  await dial(order);
  await toldIs(d, order, "numbers.releaseMany");
  const base = `${d.stage.env.PUBLIC_HTTP_URL}/carriers/PROVIDER_ONE`;
  const { Twiml, ...fields } = Object.fromEntries(form);
  expect(form.getAll("StatusCallbackEvent")).toEqual(["initiated", "ringing", "answered", "completed"]);
  expect(fields).toEqual({
    To: order.to,
    From: order.from,
    Timeout: "33",
    TimeLimit: "330",
    MachineDetection: "Enable",
    AsyncAmd: "true",
    StatusCallbackEvent: "completed",
    StatusCallback: `${base}/status/${refOf(order)}`,
    StatusCallbackMethod: "POST",
    AsyncAmdStatusCallback: `${base}/amd/${refOf(order)}`,
    AsyncAmdStatusCallbackMethod: "POST",
    Record: "true",
    RecordingChannels: "dual",
    Trim: "do-not-trim",
    RecordingStatusCallback: `${base}/recording/${refOf(order)}`,
    RecordingStatusCallbackMethod: "POST",
    RecordingStatusCallbackEvent: "absent",
  });
  expect(Twiml).toContain(
    `<Connect action="${base}/relay-end/${refOf(order)}"><ConversationRelay url="${d.stage.env.PUBLIC_WS_URL}/media/PROVIDER_ONE/${refOf(order)}" language="en-US" dtmfDetection="true" interruptible="any" reportInputDuringAgentSpeech="any" events="speaker-events"/>`,
  );
});

describe("the carrier says no", () => {
  test("429: not placed, the attempt is given back until Retry-After", async () => {
    const order = d.order("01");
    await d.fault("rate_limit", order, { seconds: 7 });
    await dial(order);
    const { due_at } = (await toldIs(d, order, "leads.release")) as { due_at: string };
    expect(Math.round((Date.parse(due_at) - clock.now().getTime()) / 1000)).toBe(7);
    await toldIs(d, order, "numbers.releaseMany");
    expect([(await d.calls.findOne({ _id: refOf(order) }))?.ended, dialled(order), await d.ledger(order)]).toEqual([
      "not_dialled",
      1,
      [],
    ]);
  });
  test("another 4xx settles as failed, with the carrier's code and without the number", async () => {
    const order = d.order("01");
    d.script.onDial = async (_request, response) => {
      response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ code: 21215, message: `Account not authorized to call ${order.to}.`, status: 400 }));
      return true;
    };
    await dial(order);
    const { facts } = (await toldIs(d, order, "leads.settle")) as { facts: object };
    expect(facts).toMatchObject({ ended: "failed", error: { code: "CALL_REFUSED", carrier_code: "21215" } });
    expect(JSON.stringify(facts)).not.toContain(order.to);
  });
});
