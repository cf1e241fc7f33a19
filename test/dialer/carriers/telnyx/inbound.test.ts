import { describe, expect, test } from "@jest/globals";
import { inboundOf } from "../../../../services/dialer/carriers/telnyx/callbacks.ts";

const CALL_ID = "v3:abc";
const AT = "2026-11-21T10:00:00.123456Z";
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
