import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import twilio from "twilio";
import { account, FROM, orderAgent, startBench, until, type Bench, type Posted } from "../fixtures/agent.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
  bench.agent.script = orderAgent;
});
afterEach(async () => {
  bench.agent.reply = () => ({ status: 204 });
  await fetch(`${bench.carrier.url}/faults`, { method: "DELETE" });
});
afterAll(() => bench.close());

const of = (sid: string, prefix = "/status"): Posted[] =>
  bench.agent.posted.filter((p) => p.path.startsWith(prefix) && p.form["CallSid"] === sid);
const last = (sid: string): Promise<Posted> =>
  until(
    () => of(sid).find((p) => ["completed", "busy", "no-answer", "failed", "canceled"].includes(p.form["CallStatus"]!)),
    "the terminal callback",
  );
const statuses = (sid: string): string[] => of(sid).map((p) => p.form["CallStatus"]!);

test("a call reports initiated, ringing, in-progress, completed, in order, with the real fields, validly signed", async () => {
  const sid = await bench.call("+15553330001");
  const done = await last(sid);
  expect(statuses(sid)).toEqual(["initiated", "ringing", "in-progress", "completed"]);
  expect(of(sid).map((p) => p.form["SequenceNumber"])).toEqual(["0", "1", "2", "3"]);
  expect(done.form).toMatchObject({
    CallSid: sid,
    AccountSid: account.sid,
    From: FROM,
    To: "+15553330001",
    Caller: FROM,
    Called: "+15553330001",
    Direction: "outbound-api",
    ApiVersion: "2010-04-01",
    CallbackSource: "call-progress-events",
    SipResponseCode: "200",
    Duration: "1",
  });
  expect(Number(done.form["CallDuration"])).toBeGreaterThanOrEqual(1);
  expect(done.form["Timestamp"]).toMatch(/^\w{3}, \d\d \w{3} \d{4} .* \+0000$/);
  expect(of(sid)[0]!.form).not.toHaveProperty("CallDuration");
  for (const p of of(sid)) {
    expect(p.url).toContain("?x=a%20b");
    expect(twilio.validateRequest(account.authToken, p.signature, p.url, p.form)).toBe(true);
    expect(twilio.validateRequest(account.authToken, p.signature, p.url, { ...p.form, CallStatus: "failed" })).toBe(
      false,
    );
    expect(twilio.validateRequest("another", p.signature, p.url, p.form)).toBe(false);
  }
});

test.each([
  ["06", "busy", "486"],
  ["07", "no-answer", "487"],
  ["15", "failed", "503"],
])("%s ends as %s with SIP %s", async (suffix, status, sip) => {
  const sid = await bench.call(`+155533300${suffix}`, { timeout: 5 });
  expect((await last(sid)).form).toMatchObject({
    CallStatus: status,
    SipResponseCode: sip,
    CallDuration: "0",
    Duration: "0",
  });
});

test("only the events asked for are sent; by default the terminal one", async () => {
  const sid = await bench.call("+15553340001", { statusCallbackEvent: ["answered"] });
  const other = await bench.call("+15553340001", { statusCallbackEvent: [] });
  await Promise.all([bench.ended(sid), last(other)]);
  expect(statuses(sid)).toEqual(["in-progress"]);
  expect(of(other).map((p) => [p.form["CallStatus"], p.form["SequenceNumber"]])).toEqual([["completed", "0"]]);
});

test("the placed call carries the reference of its callback URL in the ledger", async () => {
  const sid = await bench.call("+15553330006");
  expect((await bench.ended(sid)).reference).toBe("7a1c1a2e-0000-4000-8000-000000000001.1");
});

test("asynchronous detection reports a person and, in both modes, a machine", async () => {
  const amd = (mode: string): object => ({
    machineDetection: mode,
    asyncAmd: "true",
    asyncAmdStatusCallback: `${bench.agent.http}/amd`,
  });
  const [person, start, end, silent] = await Promise.all([
    bench.call("+15553350016", amd("Enable")),
    bench.call("+15553350009", amd("Enable")),
    bench.call("+15553360009", amd("DetectMessageEnd")),
    bench.call("+15553350005", amd("Enable")),
  ]);
  const verdict = (sid: string): Promise<Posted> => until(() => of(sid, "/amd")[0], "the verdict");
  expect((await verdict(person)).form).toMatchObject({ AnsweredBy: "human", AccountSid: account.sid });
  expect((await verdict(start)).form["AnsweredBy"]).toBe("machine_start");
  expect((await verdict(silent)).form["AnsweredBy"]).toBe("unknown");
  const beep = await verdict(end);
  expect(beep.form["AnsweredBy"]).toBe("machine_end_beep");
  expect(Number(beep.form["MachineDetectionDuration"])).toBeGreaterThan(
    Number((await verdict(start)).form["MachineDetectionDuration"]),
  );
  expect(twilio.validateRequest(account.authToken, beep.signature, beep.url, beep.form)).toBe(true);
  expect((await bench.client.calls(end).fetch()).answeredBy).toBe("machine_end_beep");
  await Promise.all([start, end, silent].map((sid) => bench.client.calls(sid).update({ status: "completed" })));
  expect((await last(end)).form["AnsweredBy"]).toBe("machine_end_beep");
});

test("detection without AsyncAmd holds the document back until the verdict", async () => {
  bench.agent.reply = (path) =>
    path.startsWith("/answer") ? { status: 200, body: "<Response><Hangup/></Response>" } : { status: 204 };
  const { sid } = await bench.client.calls.create({
    to: "+15553370009",
    from: FROM,
    url: `${bench.agent.http}/answer`,
    machineDetection: "Enable",
  });
  await bench.ended(sid);
  expect(of(sid, "/answer")[0]!.form["AnsweredBy"]).toBe("machine_start");
});

test("TwiML is fetched from Url by a signed request, by POST or GET, and followed through a redirect", async () => {
  bench.agent.reply = (path) => {
    if (path.startsWith("/second")) return { status: 200, body: "<Response><Say>Second &amp; last.</Say></Response>" };
    if (path.startsWith("/first"))
      return {
        status: 200,
        body: `<Response><Redirect method="GET">${bench.agent.http}/second?a=1</Redirect></Response>`,
      };
    return { status: 204 };
  };
  const { sid } = await bench.client.calls.create({ to: "+15553380005", from: FROM, url: `${bench.agent.http}/first` });
  const row = await bench.ended(sid);
  expect(row.transcript.map((t) => t.text)).toEqual(["Second & last."]);
  const first = of(sid, "/first")[0]!;
  expect(first.form).toMatchObject({ CallStatus: "in-progress", To: "+15553380005" });
  expect(twilio.validateRequest(account.authToken, first.signature, first.url, first.form)).toBe(true);
  const second = bench.agent.posted.find((p) => p.path.startsWith("/second?a=1&") && p.path.includes(sid))!;
  expect(twilio.validateRequest(account.authToken, second.signature, second.url, {})).toBe(true);
});

test("a Url that fails falls back, and a document that cannot be read ends the call with a warning", async () => {
  bench.agent.reply = (path) => ({
    status: path.startsWith("/bad") ? 500 : 200,
    body: path.startsWith("/fallback") ? "<Response><Sing/></Response>" : "",
  });
  const { sid } = await bench.client.calls.create({
    to: "+15553390005",
    from: FROM,
    url: `${bench.agent.http}/bad`,
    fallbackUrl: `${bench.agent.http}/fallback`,
  });
  expect(await bench.ended(sid)).toMatchObject({ status: "completed", ended_by: "carrier" });
  expect((await bench.entries("warning", sid)).map((w) => String(w["message"]).slice(0, 5))).toEqual([
    "11200",
    "12201",
  ]);
  expect(of(sid, "/bad")).toHaveLength(2);
});

test("a callback is tried once more after a 5xx or a broken connection, not after a 4xx", async () => {
  const answers: Record<string, number[]> = { "06": [500, 204], "15": [0, 204], "07": [404] };
  bench.agent.reply = (_, { form }) => ({ status: answers[form["To"]!.slice(-2)]?.shift() ?? 204 });
  const only = { statusCallbackEvent: ["completed"], timeout: 5 };
  const [retried, broken, refused] = await Promise.all([
    bench.call("+15553400006", only),
    bench.call("+15553400015", only),
    bench.call("+15553400007", only),
  ]);
  const written = (sid: string) => until(async () => (await bench.entries("callback", sid))[0], "the callback's entry");
  expect(await written(retried)).toMatchObject({ reply: 204, attempts: 2 });
  expect(await written(broken)).toMatchObject({ reply: 204, attempts: 2 });
  expect(await written(refused)).toMatchObject({ reply: 404, attempts: 1 });
});

test("callbacks can be lost, doubled and delayed past later ones", async () => {
  await bench.fault({ kind: "lose_callbacks", to: "341006", times: 1 });
  await bench.fault({ kind: "duplicate_callbacks", to: "342006" });
  await bench.fault({ kind: "delay_callbacks", to: "343006", seconds: 0.3, times: 1 });
  const [lost, doubled, delayed] = await Promise.all([
    bench.call("+15553341006"),
    bench.call("+15553342006"),
    bench.call("+15553343006"),
  ]);
  await until(
    () => statuses(delayed).length === 2 && statuses(doubled).length === 4 && statuses(lost).length === 1,
    "the callbacks",
  );
  expect(statuses(lost)).toEqual(["busy"]);
  expect(statuses(doubled)).toEqual(["initiated", "initiated", "busy", "busy"]);
  expect(of(delayed).map((p) => p.form["SequenceNumber"])).toEqual(["1", "0"]);
  expect(await bench.entries("callback", lost)).toContainEqual(
    expect.objectContaining({ what: "initiated", lost: true, attempts: 0 }),
  );
});
