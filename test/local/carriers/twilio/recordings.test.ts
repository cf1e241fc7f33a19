import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { account, FROM, orderAgent, startBench, until, type Bench } from "../fixtures/agent.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ timeScale: 100 });
  bench.agent.script = orderAgent;
});
afterAll(() => bench.close());

const SILENCE = '<Response><Pause length="600"/></Response>';
const told = (sid: string, status: string) =>
  until(
    () =>
      bench.agent.posted.find(
        (p) => p.path.startsWith("/rec") && p.form["CallSid"] === sid && p.form["RecordingStatus"] === status,
      ),
    `recording ${status}`,
  );
const answered = (sid: string) =>
  until(async () => (await bench.client.calls(sid).fetch()).status === "in-progress", "the answer");
const file = (recordingSid: string, ending: string, auth = `${account.sid}:${account.authToken}`) =>
  fetch(`${bench.carrier.url}/2010-04-01/Accounts/${account.sid}/Recordings/${recordingSid}${ending}`, {
    headers: { authorization: `Basic ${Buffer.from(auth).toString("base64")}` },
  });
const wav = async (answer: Response): Promise<Buffer> => Buffer.from(await answer.arrayBuffer());

test("a dial's recording begins with the answer, is told when its file is made, and can be had in two channels and in one", async () => {
  const sid = await bench.call("+15551110001", {
    record: true,
    recordingChannels: "dual",
    trim: "do-not-trim",
    recordingStatusCallback: `${bench.agent.http}/rec`,
    recordingStatusCallbackEvent: ["in-progress", "completed", "absent"],
  });
  const { form: begun } = await told(sid, "in-progress");
  const early = String(begun["RecordingSid"]);
  expect([(await file(early, ".wav")).status, (await bench.client.recordings(early).fetch()).status]).toEqual([
    404,
    "in-progress",
  ]);
  await bench.ended(sid);
  const { form } = await told(sid, "completed");
  expect(form).toMatchObject({
    AccountSid: account.sid,
    RecordingSid: early,
    RecordingChannels: "2",
    RecordingSource: "OutboundAPI",
    RecordingUrl: `https://api.twilio.com/2010-04-01/Accounts/${account.sid}/Recordings/${early}`,
  });
  const [two, one] = [
    await wav(await file(early, ".wav?RequestedChannels=2")),
    await wav(await file(early, ".wav?RequestedChannels=1")),
  ];
  expect([two.readUInt16LE(22), one.readUInt16LE(22)]).toEqual([2, 1]);
  expect([two.readUInt32LE(40), one.readUInt32LE(40), one.length]).toEqual([
    two.length - 44,
    one.length - 44,
    44 + (two.length - 44) / 2,
  ]);
  const seconds = (two.length - 44) / two.readUInt32LE(28);
  expect(Math.abs(seconds - Number(form["RecordingDuration"]))).toBeLessThanOrEqual(1);
  expect(await bench.client.recordings(early).fetch()).toMatchObject({
    status: "completed",
    channels: 2,
    callSid: sid,
    duration: form["RecordingDuration"],
  });
  await bench.client.recordings(early).remove();
  expect((await file(early, ".wav")).status).toBe(404);
});

test("REST begins a recording of a call in progress, and of no other; TwiML does as well", async () => {
  const { sid } = await bench.client.calls.create({ to: "+15551110005", from: FROM, twiml: SILENCE });
  await expect(bench.client.calls(sid).recordings.create({})).rejects.toMatchObject({ status: 400, code: 21220 });
  await answered(sid);
  const begun = await bench.client.calls(sid).recordings.create({ recordingChannels: "mono" });
  expect(begun).toMatchObject({ status: "in-progress", channels: 1, source: "StartCallRecordingAPI", callSid: sid });
  await bench.client.calls(sid).update({
    twiml: `<Response><Start><Recording channels="dual" recordingStatusCallback="${bench.agent.http}/rec"/></Start><Pause length="20"/></Response>`,
  });
  await bench.ended(sid);
  await told(sid, "completed");
  expect((await bench.client.calls(sid).recordings.list()).map((r) => r.channels).sort()).toEqual([1, 2]);
  await until(async () => (await file(begun.sid, ".wav")).ok, "the file");
  expect((await file(begun.sid, ".wav?RequestedChannels=2")).status).toBe(400);
  expect((await file(begun.sid, ".wav", `${account.sid}:wrong`)).status).toBe(401);
});

test("a parameter that is wrong is refused", async () => {
  const bad = { to: "+15551110001", from: FROM, twiml: SILENCE, record: true };
  await expect(bench.client.calls.create({ ...bad, recordingChannels: "many" })).rejects.toMatchObject({ status: 400 });
  await expect(bench.client.calls.create({ ...bad, recordingStatusCallbackEvent: ["sung"] })).rejects.toMatchObject({
    status: 400,
  });
});

test("a carrier that refuses connections does so for a while, then all is as before", async () => {
  await bench.fault({ kind: "refuse_connections", seconds: 0.5 });
  await until(async () => {
    try {
      await fetch(`${bench.carrier.url}/health`);
      return false;
    } catch {
      return true;
    }
  }, "a refusal");
  await until(async () => {
    try {
      return (await fetch(`${bench.carrier.url}/health`)).ok;
    } catch {
      return false;
    }
  }, "the carrier to be back");
});
