import * as plivo from "../../../services/dialer/carriers/plivo/callbacks.ts";
import * as telnyx from "../../../services/dialer/carriers/telnyx/callbacks.ts";
import * as twilio from "../../../services/dialer/carriers/twilio/callbacks.ts";
import { callerOf, readInbound } from "../../../services/dialer/carriers/twilio/inbound.ts";
import type { CallbackKind, SignedRequest } from "../../../services/dialer/carriers/carrier-port.ts";

/** An empty field of a callback says as much as one that is not there, at every carrier. */
type Fields = Record<string, string>;

const request = (body: string): SignedRequest => ({ method: "POST", path: "/x", headers: {}, body });
const form = (fields: Fields): SignedRequest => request(new URLSearchParams(fields).toString());

const SID = `CA${"0".repeat(31)}1`;
const CARRIERS: [carrier: string, kind: CallbackKind, fields: Fields, empty: string[], read: (f: Fields) => unknown][] =
  [
    [
      "Twilio, status",
      "status",
      { CallSid: SID, CallStatus: "completed" },
      [
        "SequenceNumber",
        "SipResponseCode",
        "CallDuration",
        "Timestamp",
        "ErrorCode",
        "ErrorMessage",
        "AnsweredBy",
        "Direction",
      ],
      (fields) => twilio.translate("status", form(fields)),
    ],
    ["Twilio, amd", "amd", { CallSid: SID }, ["AnsweredBy"], (fields) => twilio.translate("amd", form(fields))],
    [
      "Twilio, recording",
      "recording",
      { CallSid: SID, RecordingSid: `RE${"0".repeat(31)}1`, RecordingStatus: "completed" },
      ["RecordingUrl", "RecordingDuration", "RecordingChannels"],
      (fields) => twilio.translate("recording", form(fields)),
    ],
    [
      "Twilio, inbound",
      "inbound",
      { CallSid: SID, Direction: "inbound", To: "+14155550100" },
      ["From", "CallStatus"],
      (fields) => readInbound(form(fields)),
    ],
    [
      "Plivo, status",
      "status",
      { CallUUID: "6653422a-91b6-4716-9fad-9463daaeeec2", CallStatus: "completed", Duration: "0" },
      [
        "RequestUUID",
        "ALegRequestUUID",
        "AnswerTime",
        "EndTime",
        "HangupCauseName",
        "HangupCauseCode",
        "HangupSource",
        "TotalCost",
        "Event",
      ],
      (fields) => plivo.translate("status", form(fields)),
    ],
    [
      "Plivo, turn",
      "turn",
      { CallUUID: "6653422a-91b6-4716-9fad-9463daaeeec2" },
      ["Speech", "Digits"],
      (fields) => plivo.translate("turn", form(fields)),
    ],
    [
      "Plivo, recording",
      "recording",
      { CallUUID: "6653422a-91b6-4716-9fad-9463daaeeec2", RecordingID: "6653422a-91b6-4716-9fad-9463daaeeec3" },
      ["RecordUrl", "record_url", "RecordingDuration", "recording_duration", "recording_id"],
      (fields) => plivo.translate("recording", form(fields)),
    ],
    [
      "Plivo, amd",
      "amd",
      { CallUUID: "6653422a-91b6-4716-9fad-9463daaeeec2" },
      ["Machine"],
      (fields) => plivo.translate("amd", form(fields)),
    ],
    ...["call.hangup", "call.recording.saved", "call.cost", "streaming.failed", "call.machine.detection.ended"].map(
      (event_type): (typeof CARRIERS)[number] => [
        `Telnyx, ${event_type}`,
        "event",
        { call_control_id: "v3:x", call_leg_id: "leg" },
        [
          "hangup_cause",
          "hangup_source",
          "sip_hangup_cause",
          "recording_id",
          "channels",
          "recording_started_at",
          "total_cost",
          "failure_reason",
          "result",
          "client_state",
        ],
        (payload) => telnyx.translate(request(JSON.stringify({ data: { event_type, payload } }))),
      ],
    ),
  ];

test.each(CARRIERS)("%s", (_carrier, _kind, fields, empty, read) => {
  const without = read(fields);
  for (const name of empty) expect([name, read({ ...fields, [name]: "" })]).toEqual([name, without]);
  expect(read({ ...fields, ...Object.fromEntries(empty.map((name) => [name, ""])) })).toEqual(without);
});

test("callbacks with an empty SequenceNumber, and events with an empty id, are no repeats of each other", () => {
  expect(
    twilio.translate("status", form({ CallSid: SID, CallStatus: "ringing", SequenceNumber: "" })).sequence,
  ).toBeNull();
  const data = { id: "", event_type: "call.answered", payload: { call_control_id: "v3:x" } };
  expect(telnyx.translate(request(JSON.stringify({ data }))).sequence).toBeNull();
  expect(callerOf("")).toBeNull();
});
