import { endedCall, isBetween, liveCall, queuedCall } from "../../../../services/dialer/carriers/plivo/call-records.ts";

const NOW = new Date("2026-11-21T10:00:00Z");

describe("calls as Plivo shows them", () => {
  const record = {
    answer_time: "2026-11-21 10:00:05+00:00",
    bill_duration: 12,
    call_direction: "outbound",
    call_duration: 12,
    call_uuid: "leg",
    end_time: "2026-11-21 15:30:17+05:30",
    from_number: "+14155550999",
    hangup_cause_code: 4000,
    hangup_cause_name: "Normal Hangup",
    hangup_source: "Callee",
    initiation_time: "2026-11-21 10:00:00+00:00",
    to_number: "14155550101",
    total_amount: "0.00850",
    total_rate: "0.00850",
  };
  test("one that is over", () => {
    expect(endedCall(record, "request")).toEqual({
      leg_id: "leg",
      call: {
        call_id: "request",
        created_at: NOW,
        live: false,
        cost: { amount: 0.0085, currency: "USD" },
        progress: [
          { call_id: "request", at: "2026-11-21T10:00:05.000Z", type: "answered" },
          {
            call_id: "request",
            at: "2026-11-21T10:00:17.000Z",
            type: "ended",
            end: "completed",
            cause: "plivo 4000 Normal Hangup",
            said: { carrier_code: "4000", carrier_message: "Normal Hangup" },
            by: "callee",
            seconds: 12,
          },
        ],
      },
    });
  });
  test.each<[object, string]>([
    [{ answer_time: null, hangup_cause_code: 3010 }, "busy"],
    [{ answer_time: null, hangup_cause_code: 6010, call_state: "TIMEOUT" }, "no_answer"],
    [{ answer_time: null, hangup_cause_code: 1000 }, "canceled"],
    [{ answer_time: null, hangup_cause_code: null, call_state: "what" }, "failed"],
    [{ answer_time: null, hangup_cause_code: 3020, call_state: "BUSY" }, "rejected"],
    [{ hangup_cause_code: 6000 }, "time_limit"],
    [{ call_state: "FAILED" }, "completed"],
  ])("%j ended as %s", (over, end) => {
    expect(endedCall({ ...record, ...over }, "r").call.progress.at(-1)).toMatchObject({ type: "ended", end });
  });
  test("one under way goes by its request, one that waits too", () => {
    const live = {
      call_status: "in-progress",
      call_uuid: "leg",
      request_uuid: "request",
      session_start: "2026-11-21 10:00:00.000000",
      from: "14155550999",
      to: "14155550101",
    };
    expect(liveCall(live, "leg")).toEqual({
      leg_id: "leg",
      call: {
        call_id: "request",
        created_at: NOW,
        live: true,
        cost: null,
        progress: [{ call_id: "request", at: null, type: "answered" }],
      },
    });
    expect(liveCall({ ...live, call_status: "ringing", request_uuid: undefined }, "leg").call).toMatchObject({
      call_id: "leg",
      progress: [{ type: "ringing" }],
    });
    expect(queuedCall({ request_uuid: "request" }, "x").call).toMatchObject({
      call_id: "request",
      live: true,
      progress: [{ type: "queued" }],
    });
    expect([
      isBetween(record, "+14155550999", "+14155550101"),
      isBetween(live, "+14155550999", "+14155550101"),
      isBetween(record, "+14155550101", "+14155550999"),
    ]).toEqual([true, true, false]);
  });
});
