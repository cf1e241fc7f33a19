import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { until } from "../fixtures/agent.ts";
import { CONNECTION, startTelnyxBench, type TelnyxBench } from "../fixtures/telnyx-agent.ts";
import {
  closedStream,
  startStreamAgent,
  type Dialect,
  type StreamAgent,
  type StreamSession,
} from "../fixtures/stream-agent.ts";

const record = (value: unknown): Record<string, unknown> => value as Record<string, unknown>;
const CODECS = { PCMU: "pcmu", PCMA: "pcma", L16: "s16le" } as const;
const DIALECT: Dialect = {
  media: (_session, payload) => ({ event: "media", media: { payload } }),
  mark: (_session, name) => ({ event: "mark", mark: { name } }),
  clear: () => ({ event: "clear" }),
  started(message) {
    const { encoding, sample_rate: rate } = record(record(message["start"])["media_format"]);
    return {
      id: String(message["stream_id"]),
      format: { codec: CODECS[encoding as keyof typeof CODECS], rate: rate === 16000 ? 16000 : 8000 },
    };
  },
};

let bench: TelnyxBench;
let agent: StreamAgent;
beforeAll(async () => {
  bench = await startTelnyxBench({ timeScale: 100 });
  agent = await startStreamAgent(DIALECT);
});
afterEach(() => {
  agent.onStart = () => undefined;
  agent.onWords = () => undefined;
});
afterAll(async () => {
  await bench.close();
  await agent.close();
});

const streamed = (codec: "PCMU" | "PCMA" | "L16" = "PCMU", rate: 8000 | 16000 = 8000) => ({
  stream_url: `${agent.ws}/media/telnyx/t0`,
  stream_track: "inbound_track" as const,
  stream_codec: codec,
  stream_bidirectional_mode: "rtp" as const,
  stream_bidirectional_codec: codec,
  stream_bidirectional_sampling_rate: rate,
  stream_bidirectional_target_legs: "self" as const,
});
const sessionOf = (id: string): Promise<StreamSession> =>
  agent.session((s) => s.messages.some((m) => m.event === "start" && record(m["start"])["call_control_id"] === id));

test.each([
  ["PCMU", 8000],
  ["PCMA", 8000],
  ["L16", 16000],
] as const)(
  "a talk by sound in %s at %i, asked for by the dial request",
  async (codec, rate) => {
    agent.onStart = (session) => {
      session.speak("Shall I confirm your order?", "asked");
    };
    const id = await bench.dial("+15554440001", { ...streamed(codec, rate), client_state: "YTE=" });
    const session = await sessionOf(id);
    await until(() => session.words.length > 0 && session.messages.some((m) => m.event === "mark"), "an answer");
    expect(session.messages[0]).toEqual({ event: "connected", version: "1.0.0" });
    expect(session.messages[1]).toMatchObject({
      event: "start",
      sequence_number: "1",
      stream_id: session.id,
      start: {
        user_id: CONNECTION,
        call_control_id: id,
        client_state: "YTE=",
        media_format: { encoding: codec, sample_rate: rate, channels: 1 },
      },
    });
    expect(session.media[1]).toMatchObject({
      sequence_number: "3",
      stream_id: session.id,
      media: { track: "inbound", chunk: "2", timestamp: "40" },
    });
    expect((await bench.event(id, "streaming.started")).payload).toMatchObject({ stream_id: session.id });
    expect(await until(async () => (await bench.entries("heard", id))[0], "what was heard")).toMatchObject({
      text: "Shall I confirm your order?",
    });
    await bench.sdk.calls.actions.hangup(id, {});
    await until(() => session.closeCode === 1000, "the socket's end");
    expect(session.messages.at(-1)).toMatchObject({ event: "stop", stop: { call_control_id: id } });
    await bench.event(id, "streaming.stopped");
  },
  40_000,
);

test("frames come out of order and twice when a fault asks for it", async () => {
  await bench.fault({ kind: "shuffle_media", to: "05" });
  const id = await bench.dial("+15554440005", streamed());
  const session = await sessionOf(id);
  await until(() => session.media.length > 60, "frames");
  const chunks = session.media.map((m) => Number(record(m["media"])["chunk"]));
  expect(chunks.slice(0, 4)).toEqual([2, 1, 4, 3]);
  expect(new Set(chunks).size).toBeLessThan(chunks.length);
  await bench.sdk.calls.actions.hangup(id, {});
});

test("the socket's end does not hang up; a stream is started and stopped by command, also of a call that came in; what is wrong is told", async () => {
  await fetch(`${bench.carrier.url}/inbound-address`, {
    method: "POST",
    body: JSON.stringify({ carrier: "telnyx", url: `${bench.agent.http}/in` }),
  });
  const { sid } = (await (
    await fetch(`${bench.carrier.url}/inbound`, {
      method: "POST",
      body: JSON.stringify({ carrier: "telnyx", from: "+15554440005", to: "+15005550006" }),
    })
  ).json()) as { sid: string };
  await bench.event(sid, "call.initiated");
  const answered = streamed();
  await bench.raw("POST", `/v2/calls/${encodeURIComponent(sid)}/actions/answer`, answered);
  const session = await sessionOf(sid);
  session.send({ event: "media", media: { payload: "AAAA" } });
  await until(() => session.messages.some((m) => m.event === "error"), "the complaint");
  session.socket.close(1000);
  await bench.event(sid, "streaming.stopped");
  const again = await bench.raw("POST", `/v2/calls/${encodeURIComponent(sid)}/actions/streaming_start`, {
    ...answered,
    stream_url: `${agent.ws}/media/telnyx/t1`,
  });
  expect(again.status).toBe(200);
  const second = await until(
    () => agent.sessions.find((s) => s.request.url === "/media/telnyx/t1" && s.id !== ""),
    "the second stream",
  );
  await bench.raw("POST", `/v2/calls/${encodeURIComponent(sid)}/actions/streaming_stop`, {});
  await until(() => second.closeCode === 1000, "its end");
  expect(
    (
      await bench.raw("POST", `/v2/calls/${encodeURIComponent(sid)}/actions/streaming_start`, {
        stream_url: "http://x",
      })
    ).status,
  ).toBe(422);
  agent.refuse = 401;
  await bench.raw("POST", `/v2/calls/${encodeURIComponent(sid)}/actions/streaming_start`, answered);
  await bench.event(sid, "streaming.failed");
  agent.refuse = null;
  await bench.sdk.calls.actions.hangup(sid, {});
  expect(await closedStream(bench.entries, sid)).toMatchObject({ status: "ended" });
});
