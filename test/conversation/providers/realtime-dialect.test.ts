import { serverErrorKind, realtimeErrorCode } from "../../../services/conversation/providers/realtime/server-errors.ts";
import {
  appendAudio,
  cancelResponse,
  createResponse,
  deleteItem,
  functionOutput,
  readEvent,
  sessionUpdate,
  instructionsUpdate,
  truncateItem,
  userText,
  type RealtimeEvent,
  type SessionSettings,
} from "../../../services/conversation/providers/realtime/realtime-dialect.ts";
import { realtimeUrl } from "../../../services/conversation/providers/realtime/realtime-connection.ts";
import { wireAudio } from "../../../services/conversation/providers/realtime/wire-audio.ts";

const WISH: SessionSettings = {
  instructions: "Be brief.",
  tools: [{ type: "function", function: { name: "end", description: "Ends.", parameters: { type: "object" } } }],
  voice: "alloy",
  audio_format: "pcmu",
  language: "de-DE",
  transcription_model: "gpt-transcribe",
};
const TOOLS = [{ type: "function", name: "end", description: "Ends.", parameters: { type: "object" } }];
const DETECTION = {
  type: "server_vad",
  threshold: 0.5,
  prefix_padding_ms: 300,
  silence_duration_ms: 300,
  create_response: false,
  interrupt_response: false,
};
const LISTENER = { model: "gpt-transcribe", language: "de" };

describe("what is sent", () => {
  test("a session in the names of today", () =>
    expect(sessionUpdate("ga", WISH)).toEqual({
      type: "session.update",
      session: {
        type: "realtime",
        instructions: "Be brief.",
        tools: TOOLS,
        tool_choice: "auto",
        output_modalities: ["audio"],
        audio: {
          input: { format: { type: "audio/pcmu" }, transcription: LISTENER, turn_detection: DETECTION },
          output: { format: { type: "audio/pcmu" }, voice: "alloy" },
        },
      },
    }));
  test("a session in those of the beta", () =>
    expect(sessionUpdate("beta", WISH)).toEqual({
      type: "session.update",
      session: {
        instructions: "Be brief.",
        tools: TOOLS,
        tool_choice: "auto",
        modalities: ["text", "audio"],
        voice: "alloy",
        input_audio_format: "g711_ulaw",
        output_audio_format: "g711_ulaw",
        input_audio_transcription: LISTENER,
        turn_detection: DETECTION,
      },
    }));
  test.each([
    ["pcma", { type: "audio/pcma" }, "g711_alaw"],
    ["pcm", { type: "audio/pcm", rate: 24_000 }, "pcm16"],
  ] as const)("sound as %s", (sound, ga, beta) => {
    expect(sessionUpdate("ga", { ...WISH, audio_format: sound })).toMatchObject({
      session: { audio: { input: { format: ga }, output: { format: ga } } },
    });
    expect(sessionUpdate("beta", { ...WISH, audio_format: sound })).toMatchObject({
      session: { input_audio_format: beta, output_audio_format: beta },
    });
  });
  test.each([
    [
      "another task",
      instructionsUpdate("ga", WISH),
      {
        type: "session.update",
        session: { type: "realtime", instructions: "Be brief.", tools: TOOLS, tool_choice: "auto" },
      },
    ],
    [
      "another task, beta",
      instructionsUpdate("beta", WISH),
      { type: "session.update", session: { instructions: "Be brief.", tools: TOOLS, tool_choice: "auto" } },
    ],
    ["sound", appendAudio("AAA="), { type: "input_audio_buffer.append", audio: "AAA=" }],
    [
      "keys",
      userText("[keypad] 1"),
      {
        type: "conversation.item.create",
        item: { type: "message", role: "user", content: [{ type: "input_text", text: "[keypad] 1" }] },
      },
    ],
    [
      "what a function gave",
      functionOutput("c1", "{}"),
      { type: "conversation.item.create", item: { type: "function_call_output", call_id: "c1", output: "{}" } },
    ],
    ["a void item", deleteItem("i1"), { type: "conversation.item.delete", item_id: "i1" }],
    [
      "a cut item",
      truncateItem("i1", 420),
      { type: "conversation.item.truncate", item_id: "i1", content_index: 0, audio_end_ms: 420 },
    ],
    [
      "an answer",
      createResponse("ga", "ask_1", null),
      { type: "response.create", event_id: "ask_1", response: { metadata: { ask: "ask_1" } } },
    ],
    [
      "an answer, beta",
      createResponse("beta", "ask_1", null),
      { type: "response.create", event_id: "ask_1", response: {} },
    ],
    [
      "a fixed text",
      createResponse("beta", "ask_2", 'Say "hi".'),
      {
        type: "response.create",
        event_id: "ask_2",
        response: {
          instructions: 'Say exactly this and nothing else: "Say \\"hi\\"."',
          tools: [],
          tool_choice: "none",
        },
      },
    ],
    ["an end", cancelResponse("r1"), { type: "response.cancel", response_id: "r1" }],
  ])("%s", (_what, event, wire) => expect(event).toEqual(wire));
});

const READ: [string, object, RealtimeEvent | null][] = [
  ["session.updated", {}, { type: "ready" }],
  ["input_audio_buffer.committed", { item_id: "i" }, { type: "committed", item_id: "i" }],
  [
    "conversation.item.input_audio_transcription.delta",
    { item_id: "i", delta: "Yes" },
    { type: "transcript_delta", item_id: "i", text: "Yes" },
  ],
  [
    "conversation.item.input_audio_transcription.completed",
    { item_id: "i", transcript: "Yes." },
    { type: "transcript", item_id: "i", text: "Yes." },
  ],
  [
    "conversation.item.input_audio_transcription.failed",
    { item_id: "i", error: {} },
    { type: "transcription_failed", item_id: "i" },
  ],
  [
    "response.created",
    { response: { id: "r", metadata: { ask: "ask_1" } } },
    { type: "response_started", response_id: "r", ask: "ask_1" },
  ],
  [
    "response.created",
    { response: { id: "r", metadata: null } },
    { type: "response_started", response_id: "r", ask: null },
  ],
  [
    "response.output_item.added",
    { response_id: "r", item: { id: "i" } },
    { type: "item", response_id: "r", item_id: "i" },
  ],
  [
    "response.output_audio.delta",
    { response_id: "r", item_id: "i", delta: "AA" },
    { type: "audio", response_id: "r", item_id: "i", audio: "AA" },
  ],
  [
    "response.audio.delta",
    { response_id: "r", item_id: "i", delta: "AA" },
    { type: "audio", response_id: "r", item_id: "i", audio: "AA" },
  ],
  [
    "response.output_audio_transcript.delta",
    { response_id: "r", item_id: "i", delta: "Hi" },
    { type: "text", response_id: "r", item_id: "i", text: "Hi" },
  ],
  [
    "response.audio_transcript.delta",
    { response_id: "r", item_id: "i", delta: "Hi" },
    { type: "text", response_id: "r", item_id: "i", text: "Hi" },
  ],
  [
    "response.output_item.done",
    { response_id: "r", item: { type: "function_call", call_id: "c", name: "n", arguments: "{}" } },
    { type: "call", response_id: "r", call_id: "c", name: "n", arguments: "{}" },
  ],
  ["response.output_item.done", { response_id: "r", item: { type: "message" } }, null],
  [
    "response.done",
    {
      response: {
        id: "r",
        status: "completed",
        output: [{ id: "i" }, {}],
        usage: { input_tokens: 3, output_tokens: 4 },
      },
    },
    {
      type: "response_ended",
      response_id: "r",
      status: "completed",
      cut: null,
      items: ["i"],
      tokens_in: 3,
      tokens_out: 4,
    },
  ],
  [
    "response.done",
    { response: { id: "r", status: "cancelled", usage: null } },
    {
      type: "response_ended",
      response_id: "r",
      status: "cancelled",
      cut: null,
      items: [],
      tokens_in: 0,
      tokens_out: 0,
    },
  ],
  [
    "response.done",
    { response: { id: "r", status: "incomplete", status_details: { type: "incomplete", reason: "content_filter" } } },
    {
      type: "response_ended",
      response_id: "r",
      status: "incomplete",
      cut: "ANSWER_FILTERED",
      items: [],
      tokens_in: 0,
      tokens_out: 0,
    },
  ],
  [
    "error",
    { error: { type: "invalid_request_error", code: "invalid_value", event_id: "ask_1", message: "secret" } },
    { type: "error", code: "invalid_value", event_id: "ask_1" },
  ],
  [
    "error",
    { error: { type: "server_error", code: null, message: "secret" } },
    { type: "error", code: "server_error", event_id: null },
  ],
  ["rate_limits.updated", {}, null],
];

describe("what is read", () => {
  test.each(READ)("%s %j", (type, rest, event) => expect(readEvent(JSON.stringify({ type, ...rest }))).toEqual(event));
  test.each(["", "{", "null", "7", "[]", '{"type":7}'])("nothing in %j", (data) => expect(readEvent(data)).toBeNull());
  test.each([
    ["response_cancel_not_active", null, "noise"],
    ["item_not_found", null, "noise"],
    ["session_expired", null, "fatal"],
    ["invalid_value", "session_2", "fatal"],
    ["invalid_value", null, "error"],
  ])("a complaint: %s about %s is %s", (code, event_id, what) => expect(serverErrorKind(code, event_id)).toBe(what));
  test("a code of ours is a name", () =>
    expect(realtimeErrorCode("rate-limit exceeded 4155550100 ")).toBe("REALTIME_RATE_LIMIT_EXCEEDED"));
});

describe("the wire", () => {
  test.each([
    ["http://localhost:8000/v1", "ws://localhost:8000/v1/realtime?model=m+1"],
    ["https://api.example/v1/", "wss://api.example/v1/realtime?model=m+1"],
    ["wss://api.example/v1", "wss://api.example/v1/realtime?model=m+1"],
  ])("%s is asked at %s", (base_url, url) => expect(realtimeUrl({ base_url, model: "m 1" })).toBe(url));
  test("the telephone's sound goes through as it is", () => {
    const frame = Uint8Array.from({ length: 160 }, (_, i) => i);
    expect(wireAudio({ codec: "pcmu", rate: 8000 }).up(new Int16Array(160), frame)).toBe(frame);
    expect(wireAudio({ codec: "pcma", rate: 8000 }).up(new Int16Array(160), null)).toHaveLength(160);
  });
  test.each([8000, 16_000, 48_000] as const)("linear sound of %d Hz goes at 24 kHz, both ways", (rate) => {
    const wire = wireAudio({ codec: "s16le", rate });
    let up = 0;
    for (let i = 0; i < 50; i++) up += wire.up(new Int16Array(rate / 50), null).length;
    expect(Math.abs(up - 48_000)).toBeLessThan(500);
    const decoder = wire.decoder();
    const down = decoder.push(new Uint8Array(48_000)).length + decoder.end().length;
    expect([down, wire.name, wire.bytesPerMs]).toEqual([rate, "pcm", 48]);
  });
});
