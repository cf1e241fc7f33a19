import { encodeSpeech } from "../../../local/speech/modem.ts";
import { pcmBytes } from "../../../local/speech/wav.ts";
import { type Dialect, clock, control, connect, talk, say, useModels } from "./fixtures/realtime-bench.ts";

useModels();

describe("transcription sessions", () => {
  test.each<[Dialect, string]>([
    ["ga", "session"],
    ["beta", "transcription_session"],
  ])("%s: words come while they are spoken", async (dialect, name) => {
    const client = connect({ dialect, query: "intent=transcription" });
    await client.next(`${name}.created`);
    const detection = { type: "server_vad", silence_duration_ms: 300 };
    client.send(
      dialect === "ga"
        ? {
            type: "session.update",
            session: {
              type: "transcription",
              audio: {
                input: {
                  format: { type: "audio/pcmu" },
                  turn_detection: detection,
                  transcription: { model: "callagent-sim", language: "en" },
                },
              },
            },
          }
        : {
            type: "transcription_session.update",
            session: {
              input_audio_format: "g711_ulaw",
              turn_detection: detection,
              input_audio_transcription: { model: "callagent-sim" },
            },
          },
    );
    await client.next(`${name}.updated`);
    say(client, "Yes please, on Friday.");
    const completed = await client.next("conversation.item.input_audio_transcription.completed");
    expect(completed).toMatchObject({ transcript: "Yes please, on Friday.", usage: { type: "duration" } });
    expect(client.texts("conversation.item.input_audio_transcription.delta", "delta").join("")).toBe(
      "Yes please, on Friday.",
    );
    const types = client.types();
    expect(types.indexOf("conversation.item.input_audio_transcription.delta")).toBeLessThan(
      types.indexOf("input_audio_buffer.speech_stopped"),
    );
    expect(
      new Set(client.events.filter(({ type }) => type.includes("transcription.")).map((event) => event["item_id"]))
        .size,
    ).toBe(1);
    client.send({ type: "response.create" });
    await client.next("error");
  });
});

describe("refusals and faults", () => {
  test.each<[string, { query?: string; key?: string }]>([
    ["a wrong key", { key: "wrong" }],
    ["an unknown model", { query: "model=nobody" }],
    ["no model", { query: "x=1" }],
  ])("no connection with %s", async (_what, o) => {
    const client = connect(o);
    await client.gone();
    expect(client.events).toEqual([]);
  });

  test.each<[string, Record<string, unknown>, string | null]>([
    ["an unknown event", { type: "dance" }, "type"],
    ["a session without its type", { type: "session.update", session: { instructions: "x" } }, "session.type"],
    [
      "a format of another rate",
      {
        type: "session.update",
        session: { type: "realtime", audio: { input: { format: { type: "audio/pcm", rate: 8000 } } } },
      },
      "session.audio.input.format.rate",
    ],
    [
      "a tool without a name",
      { type: "session.update", session: { type: "realtime", tools: [{ type: "function" }] } },
      "session.tools[0]",
    ],
    [
      "a threshold past one",
      {
        type: "session.update",
        session: { type: "realtime", audio: { input: { turn_detection: { type: "server_vad", threshold: 2 } } } },
      },
      "session.audio.input.turn_detection.threshold",
    ],
    ["sound that is no base64", { type: "input_audio_buffer.append", audio: "%%" }, "audio"],
    [
      "an answer to no call",
      { type: "conversation.item.create", item: { type: "function_call_output", call_id: "x", output: "" } },
      "item.call_id",
    ],
    ["an item of no kind", { type: "conversation.item.create", item: { type: "song" } }, "item.type"],
    ["an item that is not there", { type: "conversation.item.delete", item_id: "x" }, "item_id"],
    [
      "a truncation of what is not there",
      { type: "conversation.item.truncate", item_id: "x", content_index: 0, audio_end_ms: 0 },
      "item_id",
    ],
  ])("error event for %s", async (_what, event, param) => {
    const client = connect();
    await client.next("session.created");
    client.send({ ...event, event_id: "mine" });
    expect(await client.next("error")).toMatchObject({
      error: { type: "invalid_request_error", param, event_id: "mine" },
    });
    client.sendRaw("{");
    expect(
      await client.next((one) => one.type === "error" && (one["error"] as { code: string }).code === "invalid_json"),
    ).toBeDefined();
    expect(client.closed).toBe(false);
  });

  test("faults: refused, dropped, failed, hung, cut", async () => {
    const order = async (kind: string): Promise<unknown> => control("/faults", { kind, target: "realtime" });
    await order("error_429");
    await connect().gone();
    for (const kind of ["drop", "cut_stream"]) {
      await order(kind);
      const dropped = await talk("ga", null);
      dropped.send({ type: "response.create" });
      await dropped.gone();
      expect(dropped.types()).not.toContain("response.done");
      expect(dropped.types().includes("response.output_audio.delta")).toBe(kind === "cut_stream");
    }
    const client = await talk("ga", null);
    await order("error_event");
    client.send({ type: "response.create" });
    expect(await client.next("error")).toMatchObject({ error: { type: "server_error" } });
    expect(await client.next("response.done")).toMatchObject({ response: { status: "failed" } });
    await order("hang");
    const from = client.events.length;
    client.send({ type: "response.create" });
    await client.next("response.created", from);
    client.send({ type: "response.cancel" });
    await client.next("response.done", from);
    expect(client.types(from)).toEqual(["response.created", "response.done"]);
  });

  test("delays hold for words and sound", async () => {
    await control("/delays", { stt_ms: 80, first_token_ms: 60, first_audio_ms: 60 });
    const client = await talk("ga", null);
    const began = clock.monotonicMs();
    client.send({ type: "response.create" });
    await client.next("response.output_audio.delta");
    expect(clock.monotonicMs() - began).toBeGreaterThanOrEqual(119);
    await control("/delays", { stt_ms: 0, first_token_ms: 0, first_audio_ms: 0 });
  });

  test("PCM in pieces of any length is heard", async () => {
    const client = connect();
    await client.next("session.created");
    client.send({
      type: "session.update",
      session: {
        type: "realtime",
        audio: { input: { turn_detection: null, transcription: { model: "callagent-sim" } } },
      },
    });
    const bytes = pcmBytes(encodeSpeech("Odd pieces.", 24_000));
    for (let from = 0; from < bytes.length; from += 1234)
      client.send({ type: "input_audio_buffer.append", audio: bytes.subarray(from, from + 1234).toString("base64") });
    client.send({ type: "input_audio_buffer.commit" });
    expect(await client.next("conversation.item.input_audio_transcription.completed")).toMatchObject({
      transcript: "Odd pieces.",
    });
  });
});
