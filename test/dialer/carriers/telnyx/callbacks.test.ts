import { describe, expect, test } from "@jest/globals";
import { Refusal } from "../../../../services/dialer/carriers/carrier-errors.ts";
import { dialAnswerOf, isOver, isUnknown, refusalOf } from "../../../../services/dialer/carriers/telnyx/refusals.ts";
import { inboundOf, isAtItsAddress, translate } from "../../../../services/dialer/carriers/telnyx/callbacks.ts";
import { dialBody } from "../../../../services/dialer/carriers/telnyx/dial-request.ts";
import { mayAsk } from "../../../../services/dialer/carriers/telnyx/recordings.ts";
import { pathPart } from "../../../../services/dialer/carriers/telnyx/rest.ts";

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
      [{ type: "ended", end: "busy", cause: "sip 486", seconds: null }],
    ],
    [
      "streaming.failed",
      { failure_reason: "connection_failed", stream_params: { stream_url: "wss://x" } },
      [{ type: "media_lost", reason: "connection_failed" }],
    ],
    ["call.hangup", {}, [{ type: "ended", end: "failed", cause: null, seconds: null }]],
    ...[
      "call.bridged",
      "call.speak.ended",
      "call.conversation.ended",
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

describe("calls to our numbers", () => {
  const incoming = { direction: "incoming", from: "+14155550101", to: "+14155550999" };
  test.each<[Record<string, unknown>, string | null]>([
    [{}, "+14155550101"],
    [{ from: "anonymous" }, null],
    [{ from: "Restricted" }, null],
    [{ from: "" }, null],
    [{ from: undefined }, null],
    [{ from: "+266696687" }, null],
    [{ from: "sip:ada@example.com" }, null],
  ])("from %j", (over, from) => {
    expect(inboundOf(told("call.initiated", { ...incoming, ...over }))).toEqual({
      call_id: CALL_ID,
      leg_id: null,
      from,
      to: "+14155550999",
    });
  });
  test("other events are none", () => {
    expect([
      inboundOf(told("call.initiated", { ...incoming, direction: "outgoing" })),
      inboundOf(told("call.answered", incoming)),
    ]).toEqual([null, null]);
  });
  test("one to an address that is no number is refused", () => {
    expect(() => inboundOf(told("call.initiated", { ...incoming, to: "sip:us@example.com" }))).toThrow(
      expect.objectContaining({ type: "VALIDATION_FAILED" }),
    );
  });
});

test.each<[string, string, string | null, boolean]>([
  ["its own address", `/carriers/P/event/${REF}`, REF, true],
  ["with a query", `/carriers/P/event/${REF}?x=1`, REF, true],
  ["another call's", `/carriers/P/event/${REF}`, `${REF}1`, false],
  ["our numbers'", "/carriers/P/event/inbound", REF, true],
  ["no reference in it", `/carriers/P/event/${REF}`, null, true],
  ["another state", `/carriers/P/event/${REF}`, '{"say":"x"}', true],
])("an event at %s", (_name, path, meant, good) => {
  expect(isAtItsAddress(told("call.answered", { client_state: meant === null ? null : state(meant) }, path))).toBe(
    good,
  );
});

describe("what a failed dial means", () => {
  const now = new Date("2026-11-21T10:00:00Z");
  const errors = (code: unknown, detail = "No, +14155550101.") => ({ errors: [{ code, title: "A title", detail }] });
  const system = (syscall: string) =>
    Object.assign(new TypeError("fetch failed"), {
      cause: Object.assign(new Error("x"), { code: "ECONNREFUSED", syscall }),
    });
  test.each<[string, unknown, Record<string, unknown>]>([
    ["401", refusalOf(401, errors("10009"), null, now), { kind: "not_placed", credentials_refused: true }],
    ["403 without a code", refusalOf(403, "<html>", null, now), { kind: "not_placed", credentials_refused: true }],
    ["403 10010", refusalOf(403, errors("10010"), null, now), { kind: "not_placed", credentials_refused: true }],
    [
      "403 D13",
      refusalOf(403, errors("D13"), null, now),
      { kind: "refused", invalid_number: false, carrier_code: "D13", reason: "No, +1415***0101." },
    ],
    [
      "403 D1",
      refusalOf(403, errors("D1"), null, now),
      { kind: "not_placed", retry_after_seconds: null, reason: "the carrier takes no more calls at the moment" },
    ],
    ["403 D24", refusalOf(403, errors("D24"), "9", now), { kind: "not_placed", retry_after_seconds: 9 }],
    ["403 D17", refusalOf(403, errors("D17"), null, now), { kind: "not_placed" }],
    [
      "422 10016",
      refusalOf(422, errors("10016"), null, now),
      { kind: "refused", invalid_number: true, carrier_code: "10016" },
    ],
    [
      "422 with a number as code",
      refusalOf(422, errors(10_002), null, now),
      { kind: "refused", invalid_number: true, carrier_code: "10002" },
    ],
    ["403 D11", refusalOf(403, errors("D11"), null, now), { kind: "refused", invalid_number: true }],
    [
      "422 10015",
      refusalOf(422, errors("10015"), null, now),
      { kind: "refused", invalid_number: false, carrier_code: "10015" },
    ],
    [
      "404 of a proxy",
      refusalOf(404, null, null, now),
      { kind: "refused", invalid_number: false, carrier_code: "404", reason: "HTTP 404" },
    ],
    ["429", refusalOf(429, errors("10011"), "17", now), { kind: "not_placed", retry_after_seconds: 17 }],
    [
      "429 with a date",
      refusalOf(429, null, "Sat, 21 Nov 2026 10:00:30 GMT", now),
      { kind: "not_placed", retry_after_seconds: 30 },
    ],
    ["a redirect", refusalOf(308, null, null, now), { kind: "not_placed" }],
    ["408", refusalOf(408, null, null, now), { kind: "uncertain" }],
    ["500", refusalOf(500, errors("10007"), null, now), { kind: "uncertain" }],
    ["503", refusalOf(503, "x", null, now), { kind: "uncertain" }],
    ["a refused connection", system("connect"), { kind: "not_placed" }],
    ["no such host", system("getaddrinfo"), { kind: "not_placed" }],
    ["a broken connection", system("read"), { kind: "uncertain" }],
    [
      "no connection in time",
      Object.assign(new TypeError("fetch failed"), {
        cause: Object.assign(new Error("x"), { code: "UND_ERR_CONNECT_TIMEOUT" }),
      }),
      { kind: "not_placed" },
    ],
    [
      "no answer in time",
      new DOMException("late", "TimeoutError"),
      { kind: "uncertain", reason: "the carrier's answer never came (TimeoutError)" },
    ],
    ["nonsense", "nonsense", { kind: "uncertain" }],
  ])("%s", (_name, error, answer) => {
    expect(dialAnswerOf(error)).toMatchObject(answer);
    expect(JSON.stringify(dialAnswerOf(error))).not.toContain("4155550101");
  });
  test.each<[Refusal, boolean, boolean]>([
    [new Refusal(422, "90018", "over", null), true, false],
    [new Refusal(422, "90015", "none", null), true, true],
    [new Refusal(404, "10005", "none", null), true, true],
    [new Refusal(422, "10015", "no", null), false, false],
    [new Refusal(500, null, "x", null), false, false],
  ])("%o", (refusal, over, unknown) => {
    expect([isOver(refusal), isUnknown(refusal)]).toEqual([over, unknown]);
  });
});

const API = "https://api.telnyx.com";
test.each<[string, boolean, string?]>([
  ["https://api.telnyx.com/v2/recordings/1.wav", true],
  ["https://cdn.telnyx.com/1.wav", true],
  ["https://s3.amazonaws.com/telnyx/1.wav", true],
  ["https://telnyx-recordings.s3.amazonaws.com/1", true],
  ["https://b.s3.us-west-2.amazonaws.com/1", true],
  ["https://b.s3-us-west-2.amazonaws.com/1", true],
  ["http://127.0.0.1:4000/x.wav", true, "http://127.0.0.1:4000"],
  ["http://cdn.telnyx.com/1.wav", false],
  ["http://s3.amazonaws.com/1", false],
  ["https://telnyx.com.evil.example/1", false],
  ["https://eviltelnyx.com/1", false],
  ["https://amazonaws.com/1", false],
  ["https://ec2-1-2-3-4.compute.amazonaws.com/1", false],
  ["https://evils3.amazonaws.com.example/1", false],
  ["https://169.254.169.254/latest", false],
  ["http://127.0.0.1:4001/x.wav", false, "http://127.0.0.1:4000"],
  ["file:///etc/passwd", false],
  ["nonsense", false],
  ["", false],
  ["https://user@api.telnyx.com/1", false],
])("a link to %s may be followed: %s", (link, good, origin = API) => {
  expect(mayAsk(link, origin)).toBe(good);
});

test("ids stay within their part of a path", () => {
  expect([pathPart("v3:a-b_c"), pathPart("../x?y#z"), pathPart("a/b c")]).toEqual([
    "v3:a-b_c",
    "..%2Fx%3Fy%23z",
    "a%2Fb%20c",
  ]);
});

test("Telnyx's bounds are kept, and what is not asked for is not sent", () => {
  const request = {
    call_ref: REF,
    to: "+14155550101",
    from: "+14155550999",
    ring_seconds: 900,
    talk_seconds: 20_000,
    media: { kind: "text" as const, url: "wss://x/1", token: "1", language: "en-US", voice: null },
    record: false,
    await_beep: false,
    callback_base: "https://x",
  };
  const body = dialBody("conn", request);
  expect(body).toMatchObject({ timeout_secs: 600, time_limit_secs: 14_400, answering_machine_detection: "detect" });
  expect(Object.keys(body)).not.toContain("record");
  expect(body).toHaveProperty("conversation_relay_config.url");
  expect(body).not.toHaveProperty("conversation_relay_config.voice");
  expect(dialBody("conn", { ...request, talk_seconds: 5 }).time_limit_secs).toBe(30);
});
