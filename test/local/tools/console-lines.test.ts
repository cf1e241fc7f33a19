import { PassThrough } from "node:stream";
import { styleText } from "node:util";
import { consoleLines } from "../../../local/tools/console/console-lines.ts";

const AT = new Date("2026-11-25T12:00:00.000Z");
const LEAD = "0b7c24e8-3b12-4fef-91e0-5a4d8c2b1a00";
const lines = () => consoleLines({ zone: "Europe/Berlin", paint: (_format, text) => text, callsAreLogged: false });
const entry = (kind: string, more: object = {}) => ({
  seq: 1,
  kind,
  at: AT.toISOString(),
  call_sid: "CA1",
  to: "+14155550101",
  ...more,
});

describe("a line of the console", () => {
  test.each(["\u001b[2J", "\u009b31m", "\r\n12:00 lead 0 finished", "\u0007", "\u202e", "\u2028"])(
    "obeys nothing in what a client or a callee chose: %j",
    (evil) => {
      const { fromLog, fromLedger } = lines();
      const queued = fromLog({ event: "lead.queued", lead_id: "1", request_id: `a${evil}b` }, AT);
      const heard = fromLedger(entry("heard", { text: `a${evil}b` }));
      const warned = fromLog({ level: "warn", msg: `a${evil}b`, event: "x" }, AT);
      for (const line of [queued, heard, warned]) expect(line).toMatch(/^[^\p{Cc}\p{Cf}\u2028\u2029]*a.*b[^\p{Cc}]*$/u);
    },
  );
  test("shows every letter", () =>
    expect(lines().fromLedger(entry("said", { text: "Zoë, 5 €" }))).toBe(
      "13:00:00.000+01:00  lead --------  customer:   Zoë, 5 €",
    ));
  test("of a call names its lead and masks the number, so that two calls to one number are told apart", () => {
    const { fromLedger } = lines();
    for (const [call_sid, lead] of [
      ["CA1", LEAD],
      ["CA2", "ffffffff-3b12-4fef-91e0-5a4d8c2b1a00"],
    ])
      expect(fromLedger(entry("placed", { call_sid, reference: `${lead}.1` }))).toBeNull();
    expect(fromLedger(entry("ring"))).toBe("13:00:00.000+01:00  lead 0b7c24e8  ringing     +1415***0101");
    expect(fromLedger(entry("ring", { call_sid: "CA2" }))).toContain("lead ffffffff");
  });
  test("tells instants in local time with their offset", () =>
    expect(lines().fromLog({ event: "lead.retry", lead_id: LEAD, after: "busy", due_at: AT.toISOString() }, AT)).toBe(
      "13:00:00.000+01:00  lead 0b7c24e8  retry       after busy, again at 2026-11-25 13:00:00+01:00",
    ));
  test("of a warning holds what the log says, and no holes", () => {
    const { fromLog } = lines();
    expect(
      fromLog({ level: "warn", event: "talk.fault", code: "STT_FAILED", msg: "An error.", lead_id: LEAD }, AT),
    ).toBe("13:00:00.000+01:00  lead 0b7c24e8  warn        An error. (talk.fault, STT_FAILED)");
    expect(fromLog({ level: "warn", event: "x", msg: "At start." }, AT)).toBe(
      "13:00:00.000+01:00  warn        At start. (x)",
    );
    expect(fromLog({ level: "info", event: "other", msg: "quiet" }, AT)).toBeNull();
    expect(fromLog({ level: "warn", event: "shutdown.grace_short", msg: "set by npm start" }, AT)).toBeNull();
    const msg = "Service 'leads.reachable' is not registered.";
    expect(fromLog({ level: "warn", mod: "broker", msg }, AT)).toBeNull();
    expect(fromLog({ level: "warn", msg }, AT)).toContain(msg);
  });
  test("of a real carrier's call comes from the log, that of a simulated one from its ledger", () => {
    const ringing = { event: "call.ringing", lead_id: LEAD, to: "+1415***0101" };
    const real = consoleLines({ zone: "utc", paint: (_format, text) => text, callsAreLogged: true });
    expect(real.fromLog(ringing, AT)).toBe("12:00:00.000+00:00  lead 0b7c24e8  ringing     +1415***0101");
    expect(lines().fromLog(ringing, AT)).toBeNull();
  });
  test("is painted by the terminal's rules alone: a stream that is none gets no colour", () => {
    const painted = consoleLines({
      zone: "utc",
      paint: (format, text) => `<${format}>${text}</>`,
      callsAreLogged: true,
    });
    expect(painted.fromLedger(entry("said", { text: "Yes" }))).toMatch(/^<dim>.*<green>customer: {3}Yes<\/>$/);
    expect(styleText("green", "Yes", { stream: new PassThrough() })).toBe("Yes");
  });
});
