import { inboundOf } from "../../../../services/dialer/carriers/plivo/callbacks.ts";
import type { SignedRequest } from "../../../../services/dialer/carriers/carrier-port.ts";

const CALL = "6653422a-91b6-4716-9fad-9463daaeeec2";
const posted = (fields: Record<string, string>, path = "/x"): SignedRequest => ({
  method: "POST",
  path,
  headers: {},
  body: new URLSearchParams(fields).toString(),
});

describe("people who call us", () => {
  const calls = (fields: Record<string, string>) =>
    inboundOf(
      posted({
        CallUUID: CALL,
        Direction: "inbound",
        CallStatus: "ringing",
        Event: "StartApp",
        From: "16285550101",
        To: "14155550999",
        ...fields,
      }),
    );
  test.each<[string, string | null]>([
    ["16285550101", "+16285550101"],
    ["+16285550101", "+16285550101"],
    ["anonymous", null],
    ["", null],
    ["sip:ada@phone.plivo.com", null],
    ["0", null],
  ])("From %s is %s", (From, from) => {
    expect(calls({ From })).toEqual({ call_id: CALL, leg_id: null, from, to: "+14155550999" });
  });
  test("the end of one is no beginning; nor is a call of ours", () => {
    expect([calls({ CallStatus: "completed", Event: "Hangup" }), calls({ Direction: "outbound" })]).toEqual([
      null,
      null,
    ]);
  });
  test("one to no number is refused", () =>
    expect(() => calls({ To: "nowhere" })).toThrow(expect.objectContaining({ type: "VALIDATION_FAILED" })));
});
