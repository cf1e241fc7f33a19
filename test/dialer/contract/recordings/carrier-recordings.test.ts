import { randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { CallDoc } from "../../../../services/dialer/call/calls.model.ts";
import type { StoredRecording } from "../../../../services/dialer/call/calls.model.ts";
import type { DialJob } from "../../../../shared/contracts/dialer.ts";
import { virtualClock } from "../../../fixtures/virtual-clock.ts";
import { callIs } from "../../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../../fixtures/dialer-stage/dial-orders.ts";
import { addressesTold } from "../../fixtures/told-addresses.ts";
import { setDialerStage, type DialerStage } from "../../fixtures/dialer-stage/dialer-stage.ts";

const clock = virtualClock();
let d: DialerStage;
let asked = 0;
beforeAll(async () => {
  d = await setDialerStage({ clock });
});
afterAll(() => d.stop());
beforeEach(() => {
  d.reset();
  clock.set(new Date());
  asked = 0;
});

const pass = () => clock.advance(200);
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
const where = (call: CallDoc, stage = d) =>
  stage.stage.bus.call("dialer.recordingOf", { call_id: call.carrier_call_id ?? "" });

/** Has the carrier's door answer requests for bytes as told, the first times. */
const answering = (times: number, status: number, headers: Record<string, string> = {}, body = ""): void => {
  d.script.onRecording = async (_request, response) => {
    asked += 1;
    if (asked > times) return false;
    response.writeHead(status, headers).end(body);
    return true;
  };
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

describe("the road of a recording", () => {
  test("the address is told at the answer, the file is fetched when the carrier has it, and found by the call's id", async () => {
    const order = d.order("01");
    await d.dial(order);
    const call = await recorded(order, "stored");
    const recording_url = `${d.stage.env.PUBLIC_HTTP_URL}/agent/voice/callagent/leads/recording/${call.carrier_call_id}`;
    expect(new Set(addressesTold(d, order))).toEqual(new Set([recording_url]));
    const { key = "", bytes = 0 } = call.recording;
    expect(call.recording).toMatchObject({
      content_type: "audio/wav",
      seconds: expect.any(Number),
      channels: 2,
      told: true,
    });
    const file = await readFile(join(d.stage.env.RECORDINGS_DIR, key));
    expect([file.length, file.toString("latin1", 0, 4), file.readUInt16LE(22)]).toEqual([bytes, "RIFF", 2]);
    expect(await where(call)).toEqual({
      recording: { lead_id: order.lead_id, state: "stored", key, content_type: "audio/wav", bytes, where: "local" },
    });
    await callIs(d, order, "nothing owed", (c) => c.recording?.due_at === undefined, pass);
    const told = d.toldOf(order).map(({ params }) => params["recording_stored"]);
    expect(told.filter((notice) => notice !== undefined)).toEqual([{ call_id: call.carrier_call_id, recording_url }]);
  });

  test("while it is on its way it is wanted; a call that is not recorded has none", async () => {
    const order = d.order("07");
    await d.dial(order);
    const call = await callIs(d, order, "a name", (c) => c.carrier_call_id !== undefined && c.state === "RINGING");
    expect((await where(call)).recording).toMatchObject({ state: "wanted", key: null, where: null });
    const silent = d.order("01", { record: false });
    await d.dial(silent);
    const over = await callIs(d, silent, "end", (c) => c.closed_at !== undefined, pass);
    expect([(await where(over)).recording?.state, over.recording, addressesTold(d, silent)]).toEqual([
      "absent",
      undefined,
      [],
    ]);
    expect(await d.stage.bus.call("dialer.recordingOf", { call_id: "CA-nobody" })).toEqual({ recording: null });
  });

  test("told three times, it is fetched once", async () => {
    const order = d.order("01");
    await d.fault("duplicate_callbacks", order);
    answering(0, 200);
    await d.dial(order);
    const { carrier_call_id: CallSid = "", recording } = await recorded(order, "stored");
    const again = d.callback(order, "recording", {
      CallSid,
      RecordingSid: String(recording.recording_id),
      RecordingUrl: String(recording.url),
      RecordingStatus: "completed",
      RecordingDuration: "3",
      RecordingChannels: "2",
    });
    for (let i = 0; i < 3; i += 1) await d.stage.bus.call("dialer.carrierEvent", again);
    await pass();
    expect(asked).toBe(1);
  });

  test("every callback is lost: the carrier is asked after the end of the call, and the recording is fetched", async () => {
    const order = d.order("01");
    await d.fault("lose_callbacks", order);
    await d.dial(order);
    // the clock must not run ahead of the dial: it would count as one whose answer was lost
    await callIs(d, order, "carrier id", (c) => c.carrier_call_id !== undefined);
    const over = await callIs(
      d,
      order,
      "the end",
      (c) => c.closed_at !== undefined,
      () => clock.advance(30_000),
    );
    expect(over.recording).toMatchObject({ state: "wanted", looks: 0, told: true });
    expect([over.recording?.recording_id, Number(over.recording?.due_at) - Number(over.closed_at) <= 120_000]).toEqual([
      undefined,
      true,
    ]);
    const call = await callIs(d, order, "the recording", isIn("stored"), () => clock.advance(30_000));
    expect(call.recording).toMatchObject({
      recording_id: expect.stringMatching(/^RE/),
      content_type: "audio/wav",
      channels: 2,
      seconds: expect.any(Number),
    });
    expect((await readFile(join(d.stage.env.RECORDINGS_DIR, call.recording?.key ?? ""))).length).toBe(
      call.recording?.bytes,
    );
  });

  test("a carrier that made none: the address is taken back", async () => {
    const order = d.order("07");
    await d.fault("lose_callbacks", order);
    await d.dial(order);
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
    await callIs(d, order, "told", (c) => c.recording?.told === true, pass);
    await d.stage.bus.call(
      "dialer.carrierEvent",
      d.callback(order, "recording", { CallSid, RecordingSid: `RE${"0".repeat(32)}`, RecordingStatus: "absent" }),
    );
    const call = await callIs(d, order, "taken back", (c) => c.recording?.told === false, pass);
    expect([call.recording?.state, addressesTold(d, order).at(-1), (await where(call)).recording?.state]).toEqual([
      "absent",
      null,
      "absent",
    ]);
  });
});

describe("a carrier that does not give it", () => {
  test.each<[string, number, Record<string, string>, string]>([
    ["not yet there", 404, {}, ""],
    ["a fault", 500, {}, ""],
    ["a page instead", 200, { "content-type": "text/html" }, "<html>log in</html>"],
    ["nothing in it", 200, { "content-type": "audio/wav" }, ""],
  ])("%s: asked again later, and then it is there", async (_what, status, headers, body) => {
    const order = d.order("01");
    answering(2, status, headers, body);
    await d.dial(order);
    const failing = await callIs(
      d,
      order,
      "a failed try",
      (c) => c.recording?.state === "wanted" && c.recording.error !== undefined,
      pass,
    );
    expect(failing.recording).toMatchObject({ tries: 1 });
    await callIs(d, order, "carrier id", (c) => c.carrier_call_id !== undefined);
    const call = await callIs(d, order, "the recording", isIn("stored"), () => clock.advance(5_000));
    expect([asked, call.recording?.error, call.recording?.tries]).toEqual([3, undefined, 0]);
  });

  test("one that breaks off in the middle leaves nothing behind", async () => {
    const order = d.order("01");
    d.script.onRecording = async (_request, response) => {
      asked += 1;
      response.writeHead(200, { "content-type": "audio/wav", "content-length": "1000000" });
      response.write(Buffer.alloc(5_000, 1), () => response.destroy());
      return true;
    };
    await d.dial(order);
    const call = await callIs(d, order, "a failed try", (c) => c.recording?.error !== undefined, pass);
    expect([call.recording?.state, call.recording?.key]).toEqual(["wanted", undefined]);
    expect(await readdir(join(d.stage.env.RECORDINGS_DIR, ".incoming"))).toEqual([]);
  });

  test("one it never has is absent, one it never gives has failed", async () => {
    const source = {
      recording_id: `RE${"1".repeat(32)}`,
      url: `https://api.twilio.com/2010-04-01/Accounts/${d.stage.env.TWILIO_ACCOUNT_SID}/Recordings/RE${"1".repeat(32)}`,
    };
    answering(1000, 404);
    const none = await left({ state: "wanted", tries: 4, told: true, ...source });
    const absent = await callIs(
      d,
      none.order,
      "absent",
      (c) => isIn("absent")(c) && c.recording?.told === false && c.recording.due_at === undefined,
      pass,
    );
    expect(addressesTold(d, none.order)).toEqual([null]);
    answering(1000, 500);
    const never = await left({ state: "wanted", tries: 19, told: true, ...source });
    const failed = await recorded(never.order, "failed");
    expect([absent.recording?.tries, failed.recording.due_at, failed.recording.error]).toEqual([
      5,
      undefined,
      expect.any(String),
    ]);
    expect((await where(never.call)).recording?.state).toBe("failed");
  });

  test("an address that is not the carrier's is never asked", async () => {
    answering(1000, 200);
    const other = await left({
      state: "wanted",
      recording_id: `RE${"2".repeat(32)}`,
      url: "https://evil.example.com/x",
    });
    const call = await callIs(d, other.order, "a failed try", (c) => c.recording?.error !== undefined, pass);
    expect([asked, call.recording?.state]).toEqual([0, "wanted"]);
  });
});
