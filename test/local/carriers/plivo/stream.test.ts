import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { until } from "../fixtures/agent.ts";
import { startPlivoBench, type PlivoBench } from "../fixtures/plivo-agent.ts";
import {
  closedStream,
  startStreamAgent,
  type Dialect,
  type StreamAgent,
  type StreamSession,
} from "../fixtures/stream-agent.ts";

const record = (value: unknown): Record<string, unknown> => value as Record<string, unknown>;
const DIALECT: Dialect = {
  media: ({ format }, payload) => ({
    event: "playAudio",
    media: { contentType: format.codec === "pcmu" ? "audio/x-mulaw" : "audio/x-l16", sampleRate: format.rate, payload },
  }),
  mark: ({ id }, name) => ({ event: "checkpoint", streamId: id, name }),
  clear: ({ id }) => ({ event: "clearAudio", streamId: id }),
  started(message) {
    const start = record(message["start"]);
    const { encoding, sampleRate } = record(start["mediaFormat"]);
    return {
      id: String(start["streamId"]),
      format: { codec: encoding === "audio/x-mulaw" ? "pcmu" : "s16le", rate: sampleRate === 16000 ? 16000 : 8000 },
    };
  },
};

let bench: PlivoBench;
let agent: StreamAgent;
beforeAll(async () => {
  bench = await startPlivoBench({ timeScale: 100 });
  agent = await startStreamAgent(DIALECT);
  bench.reply = ({ path }) => ({
    status: 200,
    body: path.startsWith("/answer")
      ? `<Response><Stream bidirectional="true" keepCallAlive="true" contentType="audio/x-mulaw;rate=8000" extraHeaders="attempt=a1" statusCallbackUrl="${bench.http}/stream">${agent.ws}/media/plivo/t0</Stream></Response>`
      : "",
  });
});
afterEach(() => {
  agent.onStart = () => undefined;
  agent.onWords = () => undefined;
});
afterAll(async () => {
  await bench.close();
  await agent.close();
});

const newest = async (calls: number): Promise<StreamSession> => {
  await until(() => agent.sessions.length > calls && agent.sessions.at(-1)!.id !== "", "the stream");
  return agent.sessions.at(-1)!;
};
const place = async (to: string): Promise<{ request: string; session: StreamSession }> => {
  const before = agent.sessions.length;
  const request = await bench.call(to);
  return { request, session: await newest(before) };
};

test("a talk by sound: checkpoints come back, keys reach the agent, status callbacks are sent, the end follows the XML", async () => {
  agent.onStart = (session) => {
    session.speak("Please press one to confirm?", "asked");
  };
  const { request, session } = await place("+15554440014");
  const key = await until(() => session.messages.find((m) => m.event === "dtmf"), "the key");
  expect(key).toMatchObject({ streamId: session.id, dtmf: { track: "inbound", digit: "1" } });
  expect(session.messages.find((m) => m.event === "playedStream")).toMatchObject({
    name: "asked",
    streamId: session.id,
  });
  const start = session.messages[0]!;
  expect(start).toMatchObject({
    event: "start",
    extra_headers: '{"attempt":"a1"}',
    start: { tracks: ["inbound"], mediaFormat: { encoding: "audio/x-mulaw", sampleRate: 8000 } },
  });
  expect(session.media[0]).toMatchObject({ streamId: session.id, media: { track: "inbound", chunk: 1 } });
  session.send({ event: "sendDTMF", dtmf: "42#" });
  const sid = String(record(start["start"])["callId"]);
  await until(async () => (await bench.entries("heard", sid)).find((e) => e["media"] === "keys:42#"), "the keys");
  session.socket.close(1000);
  expect((await bench.hangup(request)).form).toMatchObject({ HangupCauseCode: "4010" });
  const events = await until(() => {
    const all = bench.of(request, "/stream");
    return all.length >= 2 && all;
  }, "the status callbacks");
  expect(events.map((p) => p.form["Event"])).toEqual(["StartStream", "StopStream"]);
  expect(events[0]!.form).toMatchObject({ StreamID: session.id, CallUUID: sid });
});

test("audio that was cleared sends no playedStream, but clearedAudio; what is wrong is complained of", async () => {
  const { request, session } = await place("+15554440005");
  session.speak("This will be thrown away before it is over.", "never");
  await until(() => session.media.length > 20, "a little time");
  session.send(DIALECT.mark(session, "pending"));
  session.send(DIALECT.clear(session));
  await until(() => session.messages.some((m) => m.event === "clearedAudio"), "clearedAudio");
  session.send({ event: "playAudio", media: { contentType: "audio/x-l16", sampleRate: 8000, payload: "AAAA" } });
  await until(() => session.messages.some((m) => m.event === "incorrectPayload"), "the complaint");
  expect(session.messages.some((m) => m.event === "playedStream" && m["name"] === "pending")).toBe(false);
  session.socket.terminate();
  await bench.hangup(request);
  await until(
    () => bench.of(request, "/stream").find((p) => p.form["Event"] === "DroppedStream"),
    "the dropped stream",
  );
});

test("linear sound of 16 kHz goes both ways, and the document goes on when the socket is closed", async () => {
  const before = agent.sessions.length;
  const reply = bench.reply;
  bench.reply = ({ path }) => ({
    status: 200,
    body: path.startsWith("/answer")
      ? `<Response><Stream bidirectional="true" keepCallAlive="true" contentType="audio/x-l16;rate=16000">${agent.ws}/media/plivo/t1</Stream><Speak>Good night.</Speak></Response>`
      : "",
  });
  agent.onStart = (session) => {
    session.speak("Shall I confirm it?");
  };
  agent.onWords = (session) => session.socket.close(1000);
  const request = await bench.call("+15554440001");
  const session = await newest(before);
  expect(session.format).toEqual({ codec: "s16le", rate: 16000 });
  await bench.hangup(request);
  bench.reply = reply;
  const { transcript, sid } = await bench.row(request);
  expect(transcript.map((t) => t.who)).toEqual(["agent", "person", "agent"]);
  expect(transcript[0]!.text).toBe("Shall I confirm it?");
  expect(transcript[2]!.text).toBe("Good night.");
  expect(session.words.join(" ")).toBe(transcript[1]!.text);
  expect(await closedStream(bench.entries, sid)).toMatchObject({ status: "ended" });
});
