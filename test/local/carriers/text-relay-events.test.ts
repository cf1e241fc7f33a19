import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { startBench, until, type Bench, type Frame, type Session } from "./fixtures/agent.ts";

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

test("keys reach the agent only with dtmfDetection", async () => {
  bench.agent.script = (session, f) => {
    if (f.type === "setup") session.say("Press 1 to confirm or 2 for another day.");
  };
  const sid = await bench.call("+15554440014");
  await until(async () => (await bench.entries("dtmf", sid))[0], "the key");
  expect((await bench.entries("dtmf", sid))[0]).toMatchObject({ digit: "1", delivered: false });
  expect((await sessionOf(sid)).frames.map((f) => f.type)).toEqual(["setup"]);
  await bench.client.calls(sid).update({ status: "completed" });
});

test("events tell when the agent speaks and what was played; sounds and keys are noted", async () => {
  const sid = await bench.call("+15554440005", {}, 'events="speaker-events tokens-played"');
  const session = await sessionOf(sid);
  session.say("Hello there.");
  session.socket.send(JSON.stringify({ type: "play", source: "https://x.test/a.mp3" }));
  session.socket.send(JSON.stringify({ type: "sendDigits", digits: "12#" }));
  await until(async () => (await bench.entries("heard", sid)).length === 3, "all three");
  const info = await until(() => {
    const all = session.frames.filter((f) => f.type === "info");
    return all.length === 3 && all;
  }, "the events");
  expect(info.map((f) => [f["name"], f["value"]])).toEqual([
    ["agentSpeaking", "on"],
    ["tokensPlayed", "Hello there."],
    ["agentSpeaking", "off"],
  ]);
  expect((await bench.entries("heard", sid)).map((h) => h["media"])).toEqual([
    undefined,
    "https://x.test/a.mp3",
    "keys:12#",
  ]);
  await bench.client.calls(sid).update({ status: "completed" });
});

test("speaker events tell when the person speaks, before their words are known", async () => {
  bench.agent.script = (session, f) => {
    if (f.type === "setup") session.say("Shall I confirm it?");
  };
  const sid = await bench.call("+15554440001", {}, 'events="speaker-events"');
  const session = await sessionOf(sid);
  await frame(session, "prompt");
  expect(
    session.frames.slice(1).map((f) => `${f.type} ${String(f["name"] ?? "")} ${String(f["value"] ?? "")}`.trim()),
  ).toEqual([
    "info agentSpeaking on",
    "info agentSpeaking off",
    "info clientSpeaking on",
    "info clientSpeaking off",
    "prompt",
  ]);
  await bench.client.calls(sid).update({ status: "completed" });
});
