import { fromLedger, fromLog } from "../../../local/tools/console/console-lines.ts";

const AT = new Date("2026-11-25T12:00:00.000Z");

describe("a line of the console", () => {
  test.each(["\u001b[2J", "\u009b31m", "\r\n12:00 lead 0 finished", "\u0007", "\u202e", "\u2028"])(
    "obeys nothing in what a client or a callee chose: %j",
    (evil) => {
      const queued = fromLog({ event: "lead.queued", lead_id: "1", request_id: `a${evil}b` }, AT);
      const heard = fromLedger({ seq: 1, kind: "heard", at: AT.toISOString(), to: "+14155550101", text: `a${evil}b` });
      for (const line of [queued, heard]) expect(line).toMatch(/^[^\p{Cc}\p{Cf}\u2028\u2029]*a.*b[^\p{Cc}]*$/u);
    },
  );
  test("shows every letter", () =>
    expect(fromLedger({ seq: 1, kind: "said", at: AT.toISOString(), to: "+14155550101", text: "Zoë, 5 €" })).toBe(
      "12:00:00.000  call +14155550101  customer: Zoë, 5 €",
    ));
});
