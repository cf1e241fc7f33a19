import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { account, clock, startBench, until, type Bench } from "./fixtures/agent.ts";
import {
  closedStream,
  startStreamAgent,
  TWILIO,
  type StreamAgent,
  type StreamSession,
} from "./fixtures/stream-agent.ts";
import { createDecoder } from "../../../local/speech/modem.ts";
import { tonePcm } from "../../../local/speech/tones.ts";

const LONG =
  "This is the shop, and I am calling about the order that you have placed with us last week on Monday. Shall I confirm it?";

let bench: Bench;
let agent: StreamAgent;
beforeAll(async () => {
  bench = await startBench({ timeScale: 50 });
  agent = await startStreamAgent(TWILIO);
});
afterEach(async () => {
  agent.onStart = () => undefined;
  agent.onWords = () => undefined;
  await fetch(`${bench.carrier.url}/people`, { method: "DELETE" });
});
afterAll(async () => {
  await bench.close();
  await agent.close();
});

const twiml = (): string => `<Response><Connect><Stream url="${agent.ws}/media/twilio/t0"/></Connect></Response>`;
const people = (number: string, script: unknown[]): Promise<Response> =>
  fetch(`${bench.carrier.url}/people`, { method: "POST", body: JSON.stringify({ number, script }) });
const sessionOf = (sid: string): Promise<StreamSession> =>
  agent.session((s) =>
    s.messages.some((m) => m.event === "start" && (m["start"] as Record<string, unknown>)["callSid"] === sid),
  );
const call = async (to: string, more: object = {}): Promise<{ sid: string; session: StreamSession }> => {
  const sid = await bench.call(to, { twiml: twiml(), ...more });
  return { sid, session: await sessionOf(sid) };
};

test("a script: coughs and hums over the agent, breaks in with words, speaks with pauses, presses keys, hangs up", async () => {
  expect(
    (
      await people("+15559990001", [
        { wait_for: "speech", after_ms: 300, cough_ms: 350 },
        { wait_for: "speech", hum: true },
        { wait_for: "speech", after_ms: 200, say: "Hold on a moment." },
        { wait_for: "silence", say: "My number is" },
        { wait_for: 500, say: "four two." },
        { wait_for: "question", press: "1#" },
        { wait_for: 100, hang_up: true },
      ])
    ).status,
  ).toBe(201);
  let first: { stop(): void } | null = null;
  agent.onStart = (session) => {
    first = session.speak(LONG);
  };
  agent.onWords = (session, text) => {
    if (/moment/.test(text)) {
      first?.stop();
      session.send(TWILIO.clear(session));
      session.speak("Go on.");
    }
    if (/two/.test(text)) session.speak("Is that all?");
  };
  const { sid, session } = await call("+15559990001");
  const row = await bench.ended(sid);
  expect(row.ended_by).toBe("callee");
  expect(session.words.join(" ")).toBe("Uh-huh. Hold on a moment. My number is four two.");
  expect(
    session.messages.filter((m) => m.event === "dtmf").map((m) => (m["dtmf"] as Record<string, unknown>)["digit"]),
  ).toEqual(["1", "#"]);
  const lines = row.transcript.map((t) => t.text);
  expect(lines).toContain("Go on.");
  expect(lines).toContain("Is that all?");
  const cut = row.transcript.find((t) => t.interrupted === true)!;
  expect(LONG.startsWith(`${cut.text} `)).toBe(true);
  const closed = await closedStream(bench.entries, sid);
  expect(closed).toMatchObject({ clears: 1, status: "completed" });
  expect((await bench.entries("turn", sid)).length).toBe(1); // after the number: at the end of the words that broke in the agent was still speaking
});

test("a script that says nothing is silence; what is no script is refused", async () => {
  await people("0001", []);
  const { sid, session } = await call("+15559990001");
  session.speak("Is anybody there?");
  await until(async () => (await bench.entries("heard", sid))[0], "the question");
  expect(session.words).toEqual([]);
  await bench.client.calls(sid).update({ status: "completed" });
  for (const script of [
    [{ sing: 1 }],
    [{ say: "" }],
    [{ wait_for: "ages", say: "x" }],
    [{ wait_for: -1, say: "x" }],
    [7],
  ])
    expect((await people("1", script)).status).toBe(400);
  expect((await people("", [])).status).toBe(400);
});

test("keys that the agent presses as tones are found and written down", async () => {
  const { sid, session } = await call("+15554440005");
  const pairs: [number, number][] = [
    [770, 1336],
    [941, 1477],
    [697, 1209],
    [697, 1209],
  ]; // 5 # 1 1
  const tones = pairs.map((pair) => tonePcm(pair, { rate: 8000, silence_ms: 40, tone_ms: 80, level: 0.2 }));
  session.play(Int16Array.from(tones.flatMap((tone) => [...tone])));
  expect(await until(async () => (await bench.entries("heard", sid))[0], "the keys")).toMatchObject({
    media: "keys:5#11",
    text: "",
  });
  await bench.client.calls(sid).update({ status: "completed" });
});

/** A hold-up that the carrier doesn't make up for, ms, and when it comes: in the middle of the sentence. */
const STALL_MS = 400;
const STALL_AT_FRAME = 50;

test("a recording holds the sound of both sides, and no word is torn apart when the machine stands still", async () => {
  agent.onStart = (session) => {
    session.pour("Hello. Shall I confirm it?", 100, "poured");
  };
  const { sid, session } = await call("+15554440001", { record: true, recordingChannels: "dual" });
  await until(async () => session.media.length >= STALL_AT_FRAME, "the middle of the sentence");
  clock.standStill(STALL_MS);
  const said = await until(async () => (await bench.entries("said", sid))[0], "the answer");
  await bench.client.calls(sid).update({ status: "completed" });
  const [recording] = await until(async () => {
    const all = await bench.client.calls(sid).recordings.list();
    return all[0]?.status === "completed" && all;
  }, "the recording");
  const auth = Buffer.from(`${account.sid}:${account.authToken}`).toString("base64");
  const file = await fetch(
    `${bench.carrier.url}/2010-04-01/Accounts/${account.sid}/Recordings/${recording!.sid}.wav?RequestedChannels=2`,
    { headers: { authorization: `Basic ${auth}` } },
  );
  const wav = Buffer.from(await file.arrayBuffer());
  const words = ([0, 1] as const).map((channel) => {
    const heard: string[] = [];
    const decoder = createDecoder(8000, { heard: (word) => heard.push(word) });
    decoder.push(
      Int16Array.from({ length: (wav.length - 44) / 4 }, (_, n) => wav.readInt16LE(44 + n * 4 + channel * 2)),
    );
    decoder.end();
    return heard.join(" ");
  });
  // a busy machine begins to record within the first word
  expect(words).toEqual([said["text"], expect.stringMatching(/Shall I confirm it\?$/)]);
});

test("a person calls us, and the talk is by sound; a socket that is held back comes late", async () => {
  await fetch(`${bench.carrier.url}/inbound-address`, {
    method: "POST",
    body: JSON.stringify({ carrier: "twilio", url: `${bench.agent.http}/voice` }),
  });
  await bench.fault({ kind: "hang_socket", to: "01", seconds: 0.7 });
  bench.agent.reply = (path) => (path === "/voice" ? { status: 200, body: twiml() } : { status: 204 });
  agent.onStart = (session) => {
    session.speak("Shall I confirm it?");
  };
  agent.onWords = (session) => session.socket.close(1000);
  const { sid } = (await (
    await fetch(`${bench.carrier.url}/inbound`, {
      method: "POST",
      body: JSON.stringify({ carrier: "twilio", from: "+15554440001", to: "+15005550006" }),
    })
  ).json()) as { sid: string };
  const row = await bench.ended(sid);
  expect(row).toMatchObject({ direction: "inbound", ended_by: "relay_end" });
  expect(row.transcript.map((t) => t.who)).toEqual(["agent", "person"]);
  const steps = (await bench.entries("stream", sid)).map((e) => e["event"]);
  expect(steps).toEqual(["held back by a fault", "connected", "closed"]);
});

test("18 coughs and 19 hums while the agent speaks, and then they confirm", async () => {
  agent.onStart = (session) => {
    session.speak("Hello, this is the shop. Shall I confirm the order?");
  };
  const [coughs, hums] = await Promise.all([call("+15554440018"), call("+15554440019")]);
  const said = async (sid: string): Promise<string[]> =>
    (await bench.entries("said", sid)).map((e) => String(e["text"]));
  await until(async () => (await said(coughs.sid)).length === 1 && (await said(hums.sid)).length === 2, "both answers");
  expect((await said(hums.sid))[0]).toMatch(/^(Uh-huh|Mm-hmm)\.$/);
  for (const { sid } of [coughs, hums]) expect((await said(sid)).at(-1)).toMatch(/confirm|go ahead/);
  for (const { sid } of [coughs, hums]) await bench.client.calls(sid).update({ status: "completed" });
});
