import { describe, expect, test } from "@jest/globals";
import { isAtItsAddress, translate } from "../../../../services/dialer/carriers/telnyx/callbacks.ts";

const CALL_ID = "v3:abc";
const AT = "2026-11-21T10:00:00.123456Z";
const at = "2026-11-21T10:00:00.123Z";
const REF = "7a1c1a2e-0000-4000-8000-000000000001.2";
const state = (text: string): string => Buffer.from(text).toString("base64");
const told = (
  event_type: string,
  payload: Record<string, unknown> = {},
  path = `/carriers/PROVIDER_THREE/event/${REF}`,
) => ({
  method: "POST" as const,
  path,
  headers: {},
  body: JSON.stringify({
    data: {
      record_type: "event",
      event_type,
      id: "ev-1",
      occurred_at: AT,
      payload: { call_control_id: CALL_ID, client_state: state(REF), ...payload },
    },
  }),
});

describe("what an event tells of the call", () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>[]]>([
    ["call.initiated", { direction: "outgoing" }, [{ type: "queued" }]],
    ["call.initiated", { direction: "incoming" }, []],
    ["call.answered", {}, [{ type: "answered" }]],
    ["call.machine.detection.ended", { result: "human" }, [{ type: "machine", verdict: "human" }]],
    ["call.machine.detection.ended", { result: "machine" }, [{ type: "machine", verdict: "machine" }]],
    ["call.machine.detection.ended", { result: "not_sure" }, [{ type: "machine", verdict: "unknown" }]],
    ["call.machine.detection.ended", { result: "new" }, []],
    ["call.machine.detection.ended", {}, []],
    ["call.machine.premium.detection.ended", { result: "human_residence" }, [{ type: "machine", verdict: "human" }]],
    ["call.machine.premium.detection.ended", { result: "human_business" }, [{ type: "machine", verdict: "human" }]],
    ["call.machine.premium.detection.ended", { result: "machine" }, [{ type: "machine", verdict: "machine" }]],
    ["call.machine.premium.detection.ended", { result: "fax_detected" }, [{ type: "machine", verdict: "machine" }]],
    ["call.machine.premium.detection.ended", { result: "silence" }, [{ type: "machine", verdict: "unknown" }]],
    ["call.machine.greeting.ended", { result: "beep_detected" }, [{ type: "beep" }]],
    ["call.machine.greeting.ended", { result: "ended" }, [{ type: "beep" }]],
    [
      "call.machine.premium.greeting.ended",
      { result: "beep_detected" },
      [{ type: "machine", verdict: "machine" }, { type: "beep" }],
    ],
    ["call.machine.premium.greeting.ended", { result: "no_beep_detected" }, []],
    [
      "call.hangup",
      { hangup_cause: "normal_clearing", sip_hangup_cause: "200" },
      [{ type: "ended", end: "completed", cause: "sip 200", seconds: null }],
    ],
    [
      "call.hangup",
      { hangup_cause: "normal_clearing", sip_hangup_cause: "unspecified" },
      [{ type: "ended", end: "completed", cause: "normal_clearing", seconds: null }],
    ],
    [
      "call.hangup",
      { hangup_cause: "normal_clearing", sip_hangup_cause: "603" },
      [{ type: "ended", end: "rejected", cause: "sip 603", seconds: null }],
    ],
    [
      "call.hangup",
      { hangup_cause: "timeout", sip_hangup_cause: "487" },
      [{ type: "ended", end: "no_answer", cause: "sip 487", seconds: null }],
    ],
    [
      "call.hangup",
      { hangup_cause: "somewhat_new", sip_hangup_cause: "486" },
      [
        {
          type: "ended",
          end: "busy",
          cause: "sip 486",
          seconds: null,
          said: { sip_code: 486, carrier_code: "somewhat_new" },
        },
      ],
    ],
    [
      "streaming.failed",
      { failure_reason: "connection_failed", stream_params: { stream_url: "wss://x" } },
      [{ type: "media_lost", reason: "connection_failed" }],
    ],
    [
      "call.conversation.ended",
      { reason: "customer_disconnect" },
      [{ type: "media_lost", reason: "customer_disconnect" }],
    ],
    ["call.conversation.ended", {}, [{ type: "media_lost", reason: "the text relay is over" }]],
    ["call.hangup", {}, [{ type: "ended", end: "failed", cause: null, seconds: null }]],
    ...[
      "call.bridged",
      "call.speak.ended",
      "call.dtmf.received",
      "call.cost",
      "call.recording.saved",
      "streaming.started",
      "streaming.stopped",
      "call.something.new",
    ].map((type) => [type, {}, []] as [string, object, []]),
  ])("%s %j", (type, payload, steps) => {
    expect(translate(told(type, payload))).toMatchObject({
      call_id: CALL_ID,
      leg_id: null,
      sequence: "ev-1",
      turn: null,
      progress: steps.map((s) => ({ call_id: CALL_ID, at, ...s })),
    });
  });

  test.each<[Record<string, unknown>, unknown]>([
    [
      { total_cost: "0.0180", status: "success", cost_parts: [{ cost: "0.018", currency: "EUR" }] },
      { amount: 0.018, currency: "EUR" },
    ],
    [{ total_cost: "-0.5" }, { amount: 0.5, currency: "USD" }],
    [{ total_cost: null }, null],
    [{ status: "error", total_cost: "1" }, null],
    [{ total_cost: "free" }, null],
    [{}, null],
  ])("a price, %j", (payload, cost) => {
    expect(translate(told("call.cost", payload)).cost).toEqual(cost);
  });

  test.each<[string, Record<string, unknown>, unknown]>([
    [
      "call.recording.saved",
      {
        recording_id: "r1",
        channels: "dual",
        recording_urls: { wav: "https://a", mp3: "https://b" },
        recording_started_at: AT,
        recording_ended_at: "2026-11-21T10:01:00.9Z",
      },
      { recording_id: "r1", url: "https://a", seconds: 61, channels: 2 },
    ],
    [
      "call.recording.saved",
      { recording_id: "r1", channels: "single", recording_urls: { mp3: "https://b" } },
      { recording_id: "r1", url: "https://b", seconds: null, channels: 1 },
    ],
    [
      "call.recording.saved",
      { call_leg_id: "leg", recording_urls: { wav: null }, public_recording_urls: { wav: "https://c" } },
      { recording_id: "leg", url: "https://c", seconds: null, channels: null },
    ],
    [
      "call.recording.error",
      { recording_id: "r1", recording_urls: { wav: "https://a" } },
      { recording_id: "r1", url: null, seconds: null, channels: null },
    ],
    ["call.hangup", {}, null],
  ])("a recording, %s %j", (type, payload, recording) => {
    expect(translate(told(type, payload)).recording).toEqual(recording);
  });

  test("a recording that is told of by its leg alone is the leg's", () => {
    expect(translate(told("call.recording.saved", { call_control_id: undefined, call_leg_id: "leg" })).call_id).toBe(
      "leg",
    );
  });
  test.each([
    "",
    "null",
    "[]",
    "{}",
    "nonsense",
    '{"data":{}}',
    '{"data":{"event_type":"call.answered"}}',
    '{"data":{"event_type":"call.answered","payload":{}}}',
    '{"data":{"event_type":5,"payload":{"call_control_id":"x"}}}',
  ])("no event: %s", (body) => {
    expect(() => translate({ ...told("x"), body })).toThrow(expect.objectContaining({ type: "VALIDATION_FAILED" }));
  });
});

test.each<[string, string, string | null, boolean]>([
  ["its own address", REF, REF, true],
  ["another call's", REF, `${REF}1`, false],
  ["another spelling of its own", REF.toUpperCase(), REF, false],
  ["one with a claim written otherwise", REF.replace(".2", ".02"), REF, false],
  ["none", "", REF, false],
  ["our numbers'", "inbound", REF, true],
  ["no reference in it", REF, null, true],
  ["another state", REF, '{"say":"x"}', true],
])("an event at %s", (_name, ref, meant, good) => {
  const { body } = told("call.answered", { client_state: meant === null ? null : state(meant) });
  expect(isAtItsAddress({ ref, body })).toBe(good);
});
