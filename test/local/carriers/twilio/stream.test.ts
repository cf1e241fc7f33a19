import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import twilio from "twilio";
import { account, clock, startBench, until, type Bench } from "../fixtures/agent.ts";
import {
  closedStream,
  startStreamAgent,
  TWILIO,
  type StreamAgent,
  type StreamSession,
} from "../fixtures/stream-agent.ts";

let bench: Bench;
let agent: StreamAgent;
beforeAll(async () => {
  bench = await startBench({ timeScale: 100 });
  agent = await startStreamAgent(TWILIO);
});
afterEach(() => {
  agent.onStart = () => undefined;
  agent.onWords = () => undefined;
  agent.refuse = null;
  bench.agent.reply = () => ({ status: 204 });
});
afterAll(async () => {
  await bench.close();
  await agent.close();
});

const twiml = (url: string, after = ""): string =>
  `<Response><Connect action="${bench.agent.http}/action"><Stream url="${url}" name="talk" statusCallback="${bench.agent.http}/stream"><Parameter name="who" value="a &amp; b"/></Stream></Connect>${after}</Response>`;
const call = (to: string, path = "/media/twilio/t0", after = ""): Promise<string> =>
  bench.call(to, { twiml: twiml(`${agent.ws}${path}`, after) });
const sessionOf = (sid: string): Promise<StreamSession> =>
  agent.session((s) =>
    s.messages.some((m) => m.event === "start" && (m["start"] as Record<string, unknown>)["callSid"] === sid),
  );

test("an order is confirmed by sound: who picks up understands the agent, and the agent them", async () => {
  agent.onStart = (session) => {
    session.speak("Hello Ada, shall we deliver your order on Monday?", "hello");
  };
  agent.onWords = (session) => {
    session.speak("Thank you, goodbye.", "bye");
  };
  const sid = await call("+15554440001");
  const session = await sessionOf(sid);
  const row = await bench.ended(sid);
  expect(row.ended_by).toBe("callee");
  const [first, second, third] = row.transcript;
  expect(first).toMatchObject({
    who: "agent",
    text: "Hello Ada, shall we deliver your order on Monday?",
    interrupted: false,
  });
  expect(second).toMatchObject({ who: "person", delivered: true });
  expect(third).toMatchObject({ who: "agent", text: "Thank you, goodbye." });
  expect(session.words.join(" ")).toBe(second!.text);
  expect(session.messages.filter((m) => m.event === "mark").map((m) => m["mark"])).toEqual([
    { name: "hello" },
    { name: "bye" },
  ]);
  expect(session.messages.at(-1)).toMatchObject({
    event: "stop",
    streamSid: session.id,
    stop: { accountSid: account.sid, callSid: sid },
  });
  const closed = await closedStream(bench.entries, sid);
  expect(closed).toMatchObject({ status: "completed", clears: 0, frames_lost: 0 });
  expect(Number(closed["voiced_ms"])).toBeGreaterThan(3_000);
  // how long a turn takes is the machine's, too: `npm run bench -- voice` measures it
  expect((await bench.entries("turn", sid))[0]).toMatchObject({ ms: expect.any(Number) });
});

test("the upgrade is signed, and the messages say what Twilio says", async () => {
  const sid = await call("+15554440005");
  const session = await sessionOf(sid);
  await until(() => session.media.length > 10, "sound of a silent line");
  expect(
    twilio.validateRequest(
      account.authToken,
      String(session.request.headers["x-twilio-signature"]),
      `${agent.ws}/media/twilio/t0`,
      {},
    ),
  ).toBe(true);
  expect(session.messages[0]).toEqual({ event: "connected", protocol: "Call", version: "1.0.0" });
  expect(session.messages[1]).toEqual({
    event: "start",
    sequenceNumber: "1",
    streamSid: session.id,
    start: {
      accountSid: account.sid,
      streamSid: session.id,
      callSid: sid,
      tracks: ["inbound"],
      mediaFormat: { encoding: "audio/x-mulaw", sampleRate: 8000, channels: 1 },
      customParameters: { who: "a & b" },
    },
  });
  expect(session.media[1]).toMatchObject({
    event: "media",
    sequenceNumber: "3",
    streamSid: session.id,
    media: { track: "inbound", chunk: "2", timestamp: "40" },
  });
  expect(
    await until(
      () => bench.agent.posted.find((p) => p.path === "/stream" && p.form["CallSid"] === sid)?.form,
      "the stream's callback",
    ),
  ).toMatchObject({ StreamSid: session.id, StreamEvent: "stream-started", StreamName: "talk" });
  session.send({ event: "sing", streamSid: session.id });
  session.send({ event: "mark", streamSid: "MZother", mark: { name: "x" } });
  await until(async () => (await bench.entries("warning", sid)).length === 2, "two complaints");
  await bench.client.calls(sid).update({ status: "completed" });
  await until(() => session.closeCode === 1000, "the socket's end");
});

test("a clear throws away what waits and brings its marks back at once; the person heard whole words up to there", async () => {
  const sid = await call("+15554440005");
  const session = await sessionOf(sid);
  const marks = () => session.messages.filter((m) => m.event === "mark").map((m) => m["mark"]);
  session.pour("One two three four five six seven eight nine ten eleven twelve.", 1_200, "begun");
  await until(() => marks().length === 1, "the beginning to be played");
  session.send(TWILIO.mark(session, "pending"));
  session.send(TWILIO.clear(session));
  await until(() => marks().length === 2, "the mark");
  expect(marks()).toEqual([{ name: "begun" }, { name: "pending" }]);
  const heard = await until(async () => (await bench.entries("heard", sid))[0], "what was heard");
  expect(heard["interrupted"]).toBe(true);
  expect(
    "One two three four five six seven eight nine ten eleven twelve.".startsWith(`${String(heard["text"])} `),
  ).toBe(true);
  expect(String(heard["text"]).split(" ").length).toBeGreaterThan(1);
  const clear = (await bench.entries("stream", sid)).find((e) => e["event"] === "clear");
  expect(clear).toMatchObject({ barge_ms: null });
  expect(Number(clear!["lost_ms"])).toBeGreaterThan(50);
  await bench.client.calls(sid).update({ status: "completed" });
});

test("when the application closes the socket, the document goes on and the action is asked", async () => {
  bench.agent.reply = (path) =>
    path === "/action" ? { status: 200, body: "<Response><Say>Bye.</Say></Response>" } : { status: 204 };
  agent.onStart = (session) => session.socket.close(1000);
  const sid = await call("+15554440005");
  const row = await bench.ended(sid);
  expect(row.ended_by).toBe("relay_end");
  expect(row.transcript).toMatchObject([{ text: "Bye." }]);
});

test("a URL with a query string, and an upgrade that is refused, fail the stream", async () => {
  const withQuery = await call("+15554440005", "/media/twilio/t0?token=1");
  await bench.ended(withQuery);
  expect(String((await bench.entries("warning", withQuery))[0]!["message"])).toMatch(/^31920: /);
  agent.refuse = 401;
  const refused = await call("+15554440005");
  await bench.ended(refused);
  expect(String((await bench.entries("warning", refused))[0]!["message"])).toMatch(/^31920: cannot connect .*401/);
});

test("a dropped socket ends the stream as failed; a machine greets, beeps and hears the message", async () => {
  await bench.fault({ kind: "drop_socket", to: "05", seconds: 0.2 });
  const dropped = await call("+15554440005");
  expect(await closedStream(bench.entries, dropped)).toMatchObject({ status: "failed" });
  agent.onWords = (session, text) => {
    if (/tone/.test(text)) void clock.wait(900).then(() => session.speak("Please call us back.", "m"));
  };
  const sid = await call("+15554440009");
  const session = await sessionOf(sid);
  await until(() => session.messages.find((m) => m.event === "mark"), "the message's end");
  expect(session.words.join(" ")).toBe(
    "Hello, you have reached the mailbox of this number. I can't take your call right now. Please leave a message after the tone.",
  );
  const heard = await until(async () => (await bench.entries("heard", sid))[0], "the message");
  expect(heard).toMatchObject({ text: "Please call us back.", interrupted: false });
  await bench.client.calls(sid).update({ status: "completed" });
});
