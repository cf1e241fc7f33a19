import { describe, expect, test } from "@jest/globals";
import { Errors } from "moleculer";
import { stopForError } from "../../../services/dialer/outbound/early-stop.ts";
import { intent, tombstone } from "../../../services/dialer/call/new-calls.ts";
import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import { factsOf, momentOf } from "../../../services/dialer/call/call-facts.ts";
import { refusalReason } from "../../../services/dialer/media/media-joined.ts";
import { nextPollAt, overdue } from "../../../services/dialer/call/poll-carrier.ts";
import { dueAfterPlacing, notFoundAfter, ringSeconds } from "../../../services/dialer/call/call-deadlines.ts";
import { CATALOGUE, Failure, type ErrorCode } from "../../../shared/errors.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";

const NOW = new Date("2026-11-21T10:00:00.000Z");
const at = (seconds: number): Date => plusSeconds(NOW, seconds);
const LEAD = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const order = {
  lead_id: LEAD,
  claim_no: 3,
  reseller_id: "r",
  merchant_id: "m",
  template_id: LEAD,
  template_version: 1,
  execution_mode: "TELEPHONY" as const,
  to: "+14155550101",
  from: "+14155550999",
  number_id: LEAD,
  provider: "PROVIDER_ONE" as const,
  payload: {},
  dial_until: null,
  record: true,
  voicemail_action: "hangup" as const,
  enforce_blacklist: true,
  max_call_seconds: 600,
  rate_limit: null,
  pre_checks: [],
  pre_check_defers: {},
};
const call = (over: Partial<CallDoc> = {}): CallDoc => ({
  ...intent(order, "node", NOW, at(10)),
  carrier_call_id: "CA1",
  ...over,
});

describe("ring time", () => {
  test.each<[string, number | null, number]>([
    ["no window", null, 40],
    ["far end", 3600, 40],
    ["the window cuts it", 12.9, 12],
    ["just long enough", 5, 5],
    ["too short to start", 4.9, 0],
    ["closed", 0, 0],
    ["long closed", -100, 0],
  ])("%s", (_name, left, seconds) => {
    expect(ringSeconds(NOW, 40, left === null ? null : at(left))).toBe(seconds);
  });
  test("hope for an unanswered request ends 15 s and the grace after the last instant it may be sent", () => {
    expect(notFoundAfter(at(10), 90)).toEqual(at(115));
  });
  test("a ringing call is looked at when the window closes, if that comes first", () => {
    expect(dueAfterPlacing(NOW, 40, null)).toEqual(at(70));
    expect(dueAfterPlacing(NOW, 40, at(20))).toEqual(at(20));
  });
});

describe("facts", () => {
  const ended = (over: Partial<CallDoc>) => factsOf(call({ state: "ENDED", rank: 9, ended_at: at(60), ...over }), null);
  test.each<[string, Partial<CallDoc>, object]>([
    [
      "no answer",
      { ended: "no_answer" },
      { ended: "no_answer", answered_at: null, error: null, machine: false, talk: null, call_id: "CA1" },
    ],
    [
      "a machine",
      { ended: "completed", machine: "machine", answered_at: at(5), hang_up: "machine" },
      { ended: "completed", machine: true, error: null, answered_at: at(5).toISOString() },
    ],
    [
      "the answer is worked out where its report was lost",
      { ended: "completed", talk_seconds: 20 },
      { answered_at: at(40).toISOString() },
    ],
    ["but not for a call that never was", { ended: "busy", talk_seconds: 0 }, { answered_at: null }],
    [
      "the carrier's time limit",
      { ended: "completed", talk_seconds: 630, answered_at: at(1) },
      { ended: "time_limit" },
    ],
    [
      "answered outside the window",
      { ended: "completed", hang_up: "window_closed", answered_at: at(50) },
      { ended: "canceled", error: expect.objectContaining({ code: "WINDOW_CLOSED" }) },
    ],
    [
      "media could not be connected",
      { ended: "completed", hang_up: "media_failed", answered_at: at(5) },
      { ended: "completed", error: expect.objectContaining({ code: "MEDIA_FAILED" }) },
    ],
    [
      "media never came",
      { ended: "completed", hang_up: "media_missing", answered_at: at(5) },
      { ended: "completed", error: expect.objectContaining({ code: "MEDIA_MISSING" }) },
    ],
    [
      "refused",
      { ended: "failed", error: { code: "CALL_REFUSED", carrier_code: "21215" } },
      { error: { code: "CALL_REFUSED", carrier_code: "21215" } },
    ],
    [
      "never found",
      { ended: "unknown" },
      { ended: "unknown", error: expect.objectContaining({ code: "PLACEMENT_UNKNOWN" }) },
    ],
    [
      "failed, with all that the carrier said of it",
      {
        ended: "failed",
        cause: "sip 503",
        said: { sip_code: 503, carrier_code: "13224", carrier_message: "Invalid phone number" },
      },
      {
        ended: "failed",
        error: {
          code: "CALL_FAILED",
          message: expect.any(String),
          sip_code: 503,
          carrier_code: "13224",
          carrier_message: "Invalid phone number",
          cause: "sip 503",
        },
      },
    ],
    [
      "rejected",
      { ended: "rejected", said: { sip_code: 603 } },
      { error: expect.objectContaining({ code: "CALL_REJECTED", sip_code: 603 }) },
    ],
    ["busy, which is no error", { ended: "busy", cause: "sip 486", said: { sip_code: 486 } }, { error: null }],
  ])("%s", (_name, over, facts) => {
    expect(ended(over)).toMatchObject(facts);
  });
  test("the call starts when it was placed, else at the intent", () => {
    expect(ended({ ended: "busy", placed_at: at(1) }).started_at).toBe(at(1).toISOString());
    expect(ended({ ended: "busy" }).started_at).toBe(NOW.toISOString());
  });
});

test.each<[string, string | null, Date]>([
  ["our clock, when the carrier names none", null, at(10)],
  ["our clock for a prompt report", at(9).toISOString(), at(10)],
  ["the carrier's for a late one", at(2).toISOString(), at(2)],
  ["ours when the carrier's runs ahead", at(99).toISOString(), at(10)],
])("the moment of a step: %s", (_name, said, moment) => {
  expect(momentOf(said, at(10))).toEqual(moment);
});

test.each<[string, CallDoc, string]>([
  ["ended", call({ state: "ENDED", rank: 9 }), "ended"],
  ["tombstone", tombstone(LEAD, 3, NOW), "ended"],
  ["machine", call({ state: "ANSWERED", machine: "machine", hang_up: "machine" }), "machine"],
  [
    "a machine that is to be left a message, but another node talks",
    call({ order: { ...order, voicemail_action: "leave_message" }, machine: "machine", holder: "c1" }),
    "taken",
  ],
  ["given up", call({ hang_up: "baton_lost" }), "baton_lost"],
  ["another node", call({ holder: "c1" }), "taken"],
  ["window", call({ dial_until: NOW }), "window_closed"],
])("why nobody may join: %s", (_name, doc, why) => {
  expect(refusalReason(doc, NOW)).toBe(why);
});

describe("looking at a live call", () => {
  test.each<[string, Partial<CallDoc>, string | null]>([
    ["ringing in its window", { state: "RINGING" }, null],
    ["ringing when the window closes", { state: "RINGING", dial_until: NOW }, "window_closed"],
    ["answered a moment ago", { state: "ANSWERED", answered_at: at(-9) }, null],
    ["answered, no media", { state: "ANSWERED", answered_at: at(-10) }, "media_missing"],
    [
      "talking",
      { state: "ANSWERED", holder: "c1", joined_at: at(-600), answered_at: at(-600), dial_until: at(-500) },
      null,
    ],
    ["talking for ever", { state: "ANSWERED", holder: "c1", joined_at: at(-660) }, "overdue"],
    ["a machine nobody joined", { state: "ANSWERED", machine: "machine", answered_at: NOW }, "machine"],
    [
      "a machine that a message is for",
      {
        state: "ANSWERED",
        machine: "machine",
        answered_at: NOW,
        order: { ...order, voicemail_action: "leave_message" },
      },
      null,
    ],
    [
      "a machine that is talked to",
      { state: "ANSWERED", machine: "machine", answered_at: NOW, order: { ...order, voicemail_action: "continue" } },
      null,
    ],
    ["already wished over", { hang_up: "asked" }, "asked"],
  ])("%s", (_name, over, why) => {
    expect(overdue(call(over), NOW)).toBe(why);
  });
  test("comes again at the window's end, after a talk's longest length, or soon", () => {
    expect(nextPollAt(call({ state: "RINGING" }), NOW)).toEqual(at(10));
    expect(nextPollAt(call({ state: "RINGING", dial_until: at(3) }), NOW)).toEqual(at(3));
    expect(nextPollAt(call({ state: "ANSWERED", holder: "c1", joined_at: NOW }), NOW)).toEqual(at(660));
  });
});

describe("an error before the intent", () => {
  const released = (code: string) => ({ kind: "release", due_at: at(10), reason: code, fault: code });
  const thrown = (name: string, more: object): Error => Object.assign(new Error("x"), { name, ...more });
  const isRelease = (error: unknown): boolean => stopForError(error, NOW).kind === "release";

  test("of the database, whichever of its codes from 1 to 500 and however it is wrapped: released, never ended", () => {
    const names = ["MongoServerError", "MongoBulkWriteError", "MongoWriteConcernError", "MongooseError"];
    const codes = Array.from({ length: 500 }, (_, i) => i + 1);
    const ended = codes.flatMap((code) => names.filter((name) => !isRelease(thrown(name, { code }))));
    expect(ended).toEqual([]);
  });
  test("of the bus, whichever of its errors: released, never ended", () => {
    const bus = Object.entries(Errors).filter(([name]) => name.endsWith("Error"));
    expect(bus.length).toBeGreaterThan(15);
    const types = ["SERVICE_NOT_FOUND", "SERVICE_NOT_AVAILABLE", "REQUEST_REJECTED", "REQUEST_TIMEOUT", "REQUEST_SKIPPED", "VALIDATION_ERROR", "QUEUE_FULL", "MAX_CALL_LEVEL", "INVALID_PACKET_DATA", "BROKER_DISCONNECTED"]; // prettier-ignore
    const named = [...bus.map(([name]) => thrown(name, { code: 500 })), ...types.map((type) => thrown("x", { type }))];
    expect(named.filter((error) => !isRelease(error))).toEqual([]);
  });
  test.each(Object.keys(CATALOGUE) as ErrorCode[])(
    "%s of the catalogue ends the lead only where it is a decision",
    (code) => {
      const stop = stopForError(new Failure(code, "x"), NOW);
      const decisions = ["TEMPLATE_NOT_FOUND", "TEMPLATE_UNKNOWN", "NOT_AVAILABLE"];
      if (decisions.includes(code))
        expect(stop).toMatchObject({ kind: "settle", facts: { ended: "not_dialled", error: { code } } });
      else expect(stop).toEqual(released(code));
    },
  );
  test.each([null, undefined, "text", 7, {}, []])("that is no error (%p): released", (error) => {
    expect(stopForError(error, NOW)).toEqual(released("INTERNAL"));
  });
});
