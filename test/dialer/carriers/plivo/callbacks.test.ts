import { streamIn, translate } from "../../../../services/dialer/carriers/plivo/callbacks.ts";
import type { CallbackKind, SignedRequest } from "../../../../services/dialer/carriers/carrier-port.ts";

const CALL = "6653422a-91b6-4716-9fad-9463daaeeec2";
const REQUEST = "d0a87a1a-b0e9-4ab2-ac07-c22ee87cd04a";
const NAMES = {
  CallUUID: CALL,
  RequestUUID: REQUEST,
  ALegRequestUUID: REQUEST,
  ALegUUID: CALL,
  Direction: "outbound",
  From: "14155550999",
  To: "14155550101",
};
const posted = (fields: Record<string, string>, path = "/x"): SignedRequest => ({
  method: "POST",
  path,
  headers: {},
  body: new URLSearchParams(fields).toString(),
});
const of = (kind: CallbackKind, fields: Record<string, string>, path?: string) =>
  translate(kind, posted({ ...NAMES, ...fields }, path));

describe("status callbacks", () => {
  const talked = {
    AnswerTime: "2026-11-21 10:00:05",
    EndTime: "2026-11-21 10:00:17",
    Duration: "12",
    BillDuration: "60",
  };
  const answered = { type: "answered", at: "2026-11-21T10:00:05.000Z" };
  test.each<[Record<string, string>, object[]]>([
    [{ Event: "Ring", CallStatus: "ringing" }, [{ type: "ringing", at: null }]],
    [{ Event: "StartApp", CallStatus: "in-progress" }, [{ type: "answered", at: null }]],
    [{ CallStatus: "queued" }, [{ type: "queued" }]],
    [{ CallStatus: "initiated" }, [{ type: "queued" }]],
    [{ CallStatus: "early-media" }, [{ type: "ringing" }]],
    [
      {
        Event: "Hangup",
        CallStatus: "completed",
        HangupCauseCode: "4000",
        HangupCauseName: "Normal Hangup",
        ...talked,
      },
      [
        answered,
        {
          type: "ended",
          end: "completed",
          cause: "plivo 4000 Normal Hangup",
          seconds: 12,
          at: "2026-11-21T10:00:17.000Z",
        },
      ],
    ],
    [{ CallStatus: "completed", HangupCauseCode: "6000", ...talked }, [answered, { type: "ended", end: "time_limit" }]],
    [{ CallStatus: "completed" }, [{ type: "ended", end: "completed", seconds: null, cause: null }]],
    [
      { CallStatus: "busy", HangupCauseCode: "3010", HangupCauseName: "Busy Line", AnswerTime: "" },
      [{ type: "ended", end: "busy", cause: "plivo 3010 Busy Line", seconds: null }],
    ],
    [{ CallStatus: "busy", HangupCauseCode: "3020" }, [{ type: "ended", end: "rejected" }]],
    [{ CallStatus: "no-answer", HangupCauseCode: "3000" }, [{ type: "ended", end: "no_answer" }]],
    [{ CallStatus: "timeout", HangupCauseCode: "6010" }, [{ type: "ended", end: "no_answer" }]],
    [{ CallStatus: "cancel", HangupCauseCode: "1000" }, [{ type: "ended", end: "canceled" }]],
    [
      { CallStatus: "failed", HangupCauseCode: "5010", HangupCause: "NORMAL_TEMPORARY_FAILURE" },
      [
        {
          type: "ended",
          end: "failed",
          cause: "plivo 5010 NORMAL_TEMPORARY_FAILURE",
          said: { carrier_code: "5010", carrier_message: "NORMAL_TEMPORARY_FAILURE" },
        },
      ],
    ],
    [{ CallStatus: "failed", HangupCauseCode: "2000" }, [{ type: "ended", end: "invalid_number" }]],
    [{ CallStatus: "something-new" }, []],
    [{}, []],
    [
      { Event: "MachineDetection", CallStatus: "in-progress", Machine: "true" },
      [{ type: "machine", verdict: "machine" }],
    ],
  ])("%j", (fields, progress) => {
    expect(of("status", fields)).toEqual({
      call_id: REQUEST,
      leg_id: CALL,
      sequence: null,
      turn: null,
      recording: null,
      cost: null,
      progress: progress.map((p) => expect.objectContaining({ ...p, call_id: REQUEST })),
    });
  });
  test("the price is told with the end", () => {
    expect(of("status", { CallStatus: "completed", TotalCost: "0.00850" }).cost).toEqual({
      amount: 0.0085,
      currency: "USD",
    });
    expect([
      of("status", { CallStatus: "completed", TotalCost: "" }).cost,
      of("status", { CallStatus: "ringing" }).cost,
    ]).toEqual([null, null]);
  });
  test("a person's call to us that ended before it was answered was given up", () => {
    const unanswered = translate(
      "status",
      posted({ CallUUID: CALL, Direction: "inbound", CallStatus: "completed", AnswerTime: "", Duration: "0" }),
    );
    expect(unanswered).toMatchObject({
      call_id: CALL,
      leg_id: null,
      progress: [{ type: "ended", end: "canceled", seconds: null }],
    });
  });
  test("a GET carries its fields in the query", () => {
    const query = new URLSearchParams({ ...NAMES, CallStatus: "ringing" });
    expect(
      translate("status", { method: "GET", path: `/carriers/PROVIDER_TWO/status/x.1?${query}`, headers: {}, body: "" })
        .progress,
    ).toEqual([{ call_id: REQUEST, at: null, type: "ringing" }]);
  });
});

describe("machines, turns, recordings", () => {
  test.each([
    ["true", "machine"],
    ["True", "machine"],
    ["false", "human"],
    ["perhaps", "unknown"],
  ])("Machine=%s is %s", (Machine, verdict) => {
    expect(of("amd", { Event: "MachineDetection", CallStatus: "in-progress", Machine }).progress).toEqual([
      { call_id: REQUEST, at: null, type: "machine", verdict },
    ]);
  });
  test("no verdict, no step", () => expect(of("amd", {}).progress).toEqual([]));
  test("the answer begins the talk", () => {
    expect(of("answer", { Event: "StartApp", CallStatus: "in-progress" })).toMatchObject({
      progress: [{ type: "answered" }],
      turn: { heard: null, digits: null },
    });
  });
  test("the answer to a talk that carries sound is asked for no turn, and names its WebSocket", () => {
    const path = `/carriers/PROVIDER_TWO/answer/x.1?stream=${Buffer.from("wss://m.example.com/media/PROVIDER_TWO/ab").toString("base64url")}`;
    expect(of("answer", { Event: "StartApp", CallStatus: "in-progress" }, path)).toMatchObject({
      progress: [{ type: "answered" }],
      turn: null,
    });
    expect([streamIn(path), streamIn("/carriers/PROVIDER_TWO/answer/x.1?media=ab")]).toEqual([
      "wss://m.example.com/media/PROVIDER_TWO/ab",
      null,
    ]);
  });
  test.each([
    ["StartStream", []],
    ["StopStream", []],
    ["DroppedStream", [{ call_id: CALL, type: "media_lost" }]],
    ["SomethingNew", []],
  ])("a stream's %s", (Event, steps) => {
    expect(translate("stream", posted({ Event, CallUUID: CALL, StreamID: "s" }))).toMatchObject({
      turn: null,
      progress: steps,
    });
  });
  test.each<[Record<string, string>, object]>([
    [
      { InputType: "speech", Speech: " yes please ", Digits: "" },
      { heard: "yes please", digits: null },
    ],
    [
      { InputType: "dtmf", Digits: "12", Speech: "" },
      { heard: null, digits: "12" },
    ],
    [{ Event: "Redirect" }, { heard: null, digits: null }],
  ])("a turn with %j", (fields, turn) => {
    expect(of("turn", { CallStatus: "in-progress", ...fields })).toMatchObject({
      turn,
      progress: [],
      call_id: REQUEST,
      leg_id: CALL,
    });
  });
  const recording = {
    recording_id: "48dfaf60-3b2a-11e3",
    url: "https://media.plivo.com/v1/Account/MA/Recording/48dfaf60-3b2a-11e3.wav",
    seconds: 12,
    channels: null,
  };
  const path = `/carriers/PROVIDER_TWO/recording/x.1?call=${REQUEST}`;
  test.each<[string, Record<string, string>]>([
    [
      "the Record API",
      { call_uuid: CALL, record_url: recording.url, recording_id: recording.recording_id, recording_duration: "12" },
    ],
    [
      "the Record API, as one JSON text",
      {
        response: JSON.stringify({
          call_uuid: CALL,
          record_url: recording.url,
          recording_id: recording.recording_id,
          recording_duration: 12,
        }),
      },
    ],
    [
      "the Record element",
      { CallUUID: CALL, RecordUrl: recording.url, RecordingID: recording.recording_id, RecordingDuration: "12" },
    ],
  ])("a recording of %s", (_what, fields) => {
    expect(translate("recording", posted(fields, path))).toMatchObject({
      call_id: REQUEST,
      leg_id: CALL,
      recording,
      progress: [],
    });
  });
  test("a transfer's question says nothing about the call", () =>
    expect(of("transfer", { CallStatus: "in-progress" })).toMatchObject({ progress: [], turn: null }));
  test.each(["", "short", "../../etc/passwd", "x".repeat(65)])(
    "a callback that names no call (%s) is refused",
    (CallUUID) => {
      expect(() => translate("status", posted({ CallUUID, CallStatus: "ringing" }))).toThrow(
        expect.objectContaining({ type: "VALIDATION_FAILED" }),
      );
    },
  );
});
