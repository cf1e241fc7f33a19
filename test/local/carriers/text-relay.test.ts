import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import twilio from "twilio";
import { account, clock, FROM, startBench, until, type Bench, type Frame, type Session } from "./fixtures/agent.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ timeScale: 100 });
});
afterEach(async () => {
  bench.agent.script = () => undefined;
  bench.agent.reply = () => ({ status: 204 });
  await fetch(`${bench.carrier.url}/faults`, { method: "DELETE" });
});
afterAll(() => bench.close());

const sessionOf = (sid: string): Promise<Session> =>
  until(() => bench.agent.sessions.find((s) => s.setup["callSid"] === sid), "the relay's setup");
const frame = (session: Session, type: string): Promise<Frame> =>
  until(() => session.frames.find((f) => f.type === type), `a ${type} frame`);
const actionOf = (sid: string): Promise<Record<string, string>> =>
  until(
    () => bench.agent.posted.find((p) => p.path === "/action" && p.form["CallSid"] === sid)?.form,
    "the action request",
  );

test("the socket opens with a valid signature and a setup that carries the parameters", async () => {
  const sid = await bench.call("+15554440005", {}, 'language="de-DE" sings="true"');
  const session = await sessionOf(sid);
  expect(twilio.validateRequest(account.authToken, session.signature, `${bench.agent.ws}/relay/t0`, {})).toBe(true);
  expect(twilio.validateRequest("another", session.signature, `${bench.agent.ws}/relay/t0`, {})).toBe(false);
  expect(session.setup).toMatchObject({
    type: "setup",
    accountSid: account.sid,
    callSid: sid,
    from: FROM,
    to: "+15554440005",
    direction: "outbound-api",
    customParameters: { who: "a & b" },
  });
  expect(session.setup["sessionId"]).toMatch(/^VX[0-9a-f]{32}$/);
  expect((await bench.entries("warning", sid)).map((w) => w["message"])).toEqual([
    "12200: attribute sings is not allowed in <ConversationRelay>; it is ignored",
  ]);
  await bench.client.calls(sid).update({ status: "completed" });
  await until(() => session.closeCode, "the socket's end");
  expect(session.closeCode).toBe(1000);
});

test("the welcome greeting is spoken, and what the person says comes in their language", async () => {
  const sid = await bench.call(
    "+15554440013",
    {},
    'welcomeGreeting="Shall I confirm your order?" transcriptionLanguage="fr-FR" partialPrompts="true"',
  );
  const session = await sessionOf(sid);
  const said = await until(() => session.frames.find((f) => f.type === "prompt" && f["last"] === true), "the answer");
  expect(said["lang"]).toBe("fr-FR");
  const partial = session.frames.find((f) => f.type === "prompt" && f["last"] === false)!;
  expect(String(said["voicePrompt"]).startsWith(String(partial["voicePrompt"]))).toBe(true);
  expect((await bench.row(sid)).transcript[0]).toMatchObject({
    who: "agent",
    text: "Shall I confirm your order?",
    interrupted: false,
  });
  await bench.client.calls(sid).update({ status: "completed" });
});

test("tokens are heard as one utterance; speech takes its time", async () => {
  const sid = await bench.call("+15554440005");
  const session = await sessionOf(sid);
  for (const token of ["One ", "two ", "three"]) session.say(token, { last: false });
  session.say(".", { last: true });
  const heard = await until(async () => (await bench.entries("heard", sid))[0], "the utterance");
  expect(heard).toMatchObject({
    text: "One two three.",
    interrupted: false,
    duration_ms: Math.round((14 / 15) * 1000),
  });
  const since = clock.monotonicMs();
  session.say("x".repeat(300)); // 20 simulated seconds
  await until(async () => (await bench.entries("heard", sid))[1], "the long one");
  expect(clock.monotonicMs() - since).toBeGreaterThanOrEqual(195);
  await bench.client.calls(sid).update({ status: "completed" });
});

test("end is obeyed after what was said has been heard, and its data reaches the action URL, whose TwiML goes on", async () => {
  bench.agent.reply = (path) =>
    path === "/action" ? { status: 200, body: "<Response><Say>One more thing.</Say></Response>" } : { status: 204 };
  bench.agent.script = (session, f) => {
    if (f.type === "setup") {
      session.say("Goodbye then.");
      session.end({ outcome: "x & y" });
    }
  };
  const sid = await bench.call("+15554440005");
  const action = await actionOf(sid);
  expect(action).toMatchObject({
    SessionStatus: "ended",
    HandoffData: '{"outcome":"x & y"}',
    CallStatus: "in-progress",
    AccountSid: account.sid,
    SessionId: (await sessionOf(sid)).setup["sessionId"],
  });
  expect(Number(action["SessionDuration"])).toBeGreaterThanOrEqual(0);
  const row = await bench.ended(sid);
  expect(row.transcript).toMatchObject([
    { text: "Goodbye then.", interrupted: false },
    { text: "One more thing.", interrupted: false },
  ]);
  expect(row.ended_by).toBe("relay_end");
});

test("with endCutsSpeech, end cuts what is being said", async () => {
  // so slow that on a busy machine too the first words are said before the end comes, and the last are not
  const strict = await startBench({ timeScale: 10, endCutsSpeech: true });
  try {
    strict.agent.script = (session, f) => {
      if (f.type === "setup") {
        session.say("This takes quite a while to be said to the end. ".repeat(20));
        void clock.wait(400).then(() => session.end());
      }
    };
    const row = await strict.ended(await strict.call("+15554440005"));
    expect(row.transcript[0]).toMatchObject({ interrupted: true });
  } finally {
    await strict.close();
  }
});

test("when the person hangs up the session is completed and the socket closes", async () => {
  bench.agent.script = (session, f) => {
    if (f.type === "setup") session.say("Is now a good time?");
  };
  const sid = await bench.call("+15554440003");
  expect(await actionOf(sid)).toMatchObject({ SessionStatus: "completed", CallStatus: "completed" });
  expect((await bench.row(sid)).ended_by).toBe("callee");
});

test.each([
  ["not JSON", "hello"],
  ["an unknown type", '{"type":"sing"}'],
  ["text without token", '{"type":"text","last":true}'],
  ["a last that is no boolean", '{"type":"text","token":"a","last":"true"}'],
  ["an unknown field", '{"type":"text","token":"a","volume":3}'],
  ["bad digits", '{"type":"sendDigits","digits":"12x"}'],
  ["handoffData that is no text", '{"type":"end","handoffData":{}}'],
])("a message that is %s is answered by an error and dropped", async (_, message) => {
  const sid = await bench.call("+15554440005");
  const session = await sessionOf(sid);
  session.socket.send(message);
  expect(String((await frame(session, "error"))["description"])).toMatch(/^Invalid message received/);
  expect((await bench.entries("warning", sid))[0]?.["message"]).toMatch(/^64107/);
  session.say("Still here.");
  expect((await until(async () => (await bench.entries("heard", sid))[0], "the next text"))["text"]).toBe(
    "Still here.",
  );
  await bench.client.calls(sid).update({ status: "completed" });
});

const LONG =
  "I would like to tell you a long story about your order, and I shall not be stopped before it is told. Do you want it?";

describe("at a pace at which a machine that stands still for a moment changes nothing", () => {
  let quick: Bench;
  beforeAll(async () => {
    quick = bench;
    bench = await startBench({ timeScale: 10 });
  });
  afterAll(async () => {
    await bench.close();
    bench = quick;
  });

  test.each([
    ['interruptible="none" on the noun', 'interruptible="none"', {}],
    ["interruptible: false on the text", "", { interruptible: false }],
  ])(
    "speech that may not be interrupted (%s) is heard whole, and the person's words over it are lost",
    async (_, attributes, more) => {
      bench.agent.script = (session, f) => {
        if (f.type === "setup") session.say(LONG, more);
      };
      const sid = await bench.call("+15554440012", {}, attributes);
      const session = await sessionOf(sid);
      await frame(session, "prompt");
      expect(session.frames.filter((f) => f.type === "interrupt")).toEqual([]);
      const { transcript } = await bench.row(sid);
      expect(transcript).toContainEqual(expect.objectContaining({ who: "agent", text: LONG, interrupted: false }));
      expect(transcript).toContainEqual(expect.objectContaining({ who: "person", delivered: false }));
      await bench.client.calls(sid).update({ status: "completed" });
    },
  );
});

test("the interruption gives the exact prefix and its length", async () => {
  bench.agent.script = (session, f) => {
    if (f.type === "setup") session.say(LONG);
  };
  const sid = await bench.call("+15554440012");
  const interrupt = await frame(await sessionOf(sid), "interrupt");
  const text = String(interrupt["utteranceUntilInterrupt"]);
  expect(LONG.startsWith(text)).toBe(true);
  expect(LONG[text.length]).toBe(" ");
  const chars = (Number(interrupt["durationUntilInterruptMs"]) * 15) / 1000;
  expect(Math.abs(chars - text.length)).toBeLessThan(15);
  expect((await bench.entries("heard", sid))[0]).toMatchObject({ text, interrupted: true });
  await bench.client.calls(sid).update({ status: "completed" });
});

test("welcomeGreetingInterruptible rules the greeting alone", async () => {
  const sid = await bench.call(
    "+15554440012",
    {},
    `welcomeGreeting="${LONG}" welcomeGreetingInterruptible="none" events="speaker-events"`,
  );
  const session = await sessionOf(sid);
  await frame(session, "prompt"); // the answer, for the words spoken over the greeting were lost
  expect(session.frames[1]).toEqual({ type: "info", name: "agentSpeaking", value: "on" });
  expect(session.frames.filter((f) => f.type === "interrupt")).toEqual([]);
  expect((await bench.row(sid)).transcript).toContainEqual(expect.objectContaining({ text: LONG, interrupted: false }));
  await bench.client.calls(sid).update({ status: "completed" });
});

test("a preemptible utterance gives way to the next one", async () => {
  const sid = await bench.call("+15554440005", {}, 'events="speaker-events"');
  const session = await sessionOf(sid);
  // so long that it is not over before the next one comes, on a busy machine too
  session.say(LONG.repeat(20), { preemptible: true });
  await frame(session, "info");
  session.say("Never mind.");
  await until(async () => (await bench.entries("heard", sid)).length === 2, "both");
  expect(await bench.entries("heard", sid)).toMatchObject([
    { interrupted: true },
    { text: "Never mind.", interrupted: false },
  ]);
  await bench.client.calls(sid).update({ status: "completed" });
});

test("a socket that cannot be opened, or breaks, fails the session and the action URL is told", async () => {
  const twiml = (url: string): string =>
    `<Response><Connect action="${bench.agent.http}/action"><ConversationRelay url="${url}"/></Connect></Response>`;
  const { sid: refused } = await bench.client.calls.create({
    to: "+15554440005",
    from: FROM,
    twiml: twiml("ws://127.0.0.1:1/"),
  });
  expect(await actionOf(refused)).toMatchObject({ SessionStatus: "failed", ErrorCode: "64102" });
  await bench.fault({ kind: "drop_socket", to: "4445005", seconds: 0.05 });
  const dropped = await bench.call("+15554445005");
  expect(await actionOf(dropped)).toMatchObject({
    SessionStatus: "failed",
    ErrorCode: "64105",
    CallStatus: "in-progress",
  });
  expect((await sessionOf(dropped)).closeCode).toBe(1006);
  expect((await bench.ended(dropped)).ended_by).toBe("carrier");
});

test("an update takes the call out of the relay", async () => {
  const sid = await bench.call("+15554440005");
  const session = await sessionOf(sid);
  await bench.client.calls(sid).update({ twiml: "<Response><Say>Please leave us a message.</Say></Response>" });
  await until(() => session.closeCode, "the socket's end");
  expect((await bench.ended(sid)).transcript.at(-1)).toMatchObject({ text: "Please leave us a message." });
  expect(bench.agent.posted.filter((p) => p.path === "/action" && p.form["CallSid"] === sid)).toEqual([]);
});
