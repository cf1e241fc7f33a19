import { admitLead, judgeGates } from "../../../services/scheduler/admission/admission.ts";
import { explain } from "../../../services/scheduler/admission/explanation.ts";
import type { GateInputs } from "../../../services/scheduler/admission/gates.ts";
import { CALLEE_CAPPED } from "../../../shared/contracts/records/explanation.ts";
import type { WaitingLead } from "../../../shared/contracts/records/lead.ts";
import { gateInputs, later, NOW, waiting } from "../fixtures/gate-inputs.ts";

/** The gate of a merchant's cap on calls per callee. */
const CAP = { per_day: 2, per_week: 5 };
const DAY = 86_400;
const until = later(3 * 3600);
const held = (at: Date): Partial<WaitingLead> => ({
  held: { why: CALLEE_CAPPED, until: at.toISOString(), since: NOW.toISOString() },
});
const judged = (over: Partial<GateInputs>, lead: Partial<WaitingLead> = {}) =>
  judgeGates(gateInputs(over, lead)).find((g) => g.gate === CALLEE_CAPPED);

test.each<[string, Partial<GateInputs>, Partial<WaitingLead>, string, Date | null]>([
  ["no cap", { callee_cap: null }, {}, "pass", null],
  ["no cap any more", { callee_cap: null }, held(until), "pass", null],
  ["room", { callee_cap: CAP, callee_calls: { day: 1, week: 4, free_at: null } }, {}, "pass", null],
  ["room again", { callee_cap: CAP, callee_calls: { day: 1, week: 4, free_at: null } }, held(until), "pass", null],
  ["used up", { callee_cap: CAP, callee_calls: { day: 2, week: 4, free_at: until } }, {}, "hold", until],
  ["used up until now", { callee_cap: CAP, callee_calls: { day: 2, week: 4, free_at: NOW } }, {}, "pass", null],
  ["not counted, held by the dialer", {}, held(until), "hold", until],
  ["no dialer answers, held by it before", { callee_cap: CAP, callee_calls: null }, held(until), "hold", until],
  ["not counted, held until now", {}, held(NOW), "not_judged", null],
  ["not counted", {}, {}, "not_judged", null],
])("%s", (_what, over, lead, verdict, at) => {
  expect(judged(over, lead)).toMatchObject({ verdict, until: at });
  expect(admitLead(gateInputs(over, lead)).verdict).toBe(verdict === "hold" ? "deferred" : "admitted");
});

test("explain names the cap, what counts and from when one more call fits", () => {
  const over = { callee_cap: CAP, callee_calls: { day: 2, week: 4, free_at: until } };
  const explained = explain(waiting(), gateInputs(over));
  expect(explained).toMatchObject({ eligible: false, next_eligible_at: until.toISOString() });
  expect(explained.summary).toBe(
    `The merchant calls one person at most 2 in 24 hours and 5 in 7 days; this one was called 2 times in 24 hours and 4 times in 7 days. One more call fits at ${until.toISOString()}. As things stand it is called at ${until.toISOString()}.`,
  );
  expect(explained.gates.find((g) => g.gate === CALLEE_CAPPED)?.values).toEqual({
    per_day: 2,
    per_week: 5,
    calls_in_24_hours: 2,
    calls_in_7_days: 4,
  });
});

test("a lead that is older by then expires first", () => {
  const late = later(3 * DAY);
  const explained = explain(
    waiting(),
    gateInputs({ callee_cap: { per_week: 1 }, callee_calls: { day: 0, week: 1, free_at: late } }),
  );
  expect(explained).toMatchObject({ eligible: false, next_eligible_at: null });
  expect(explained.summary).toMatch(/It will expire first/);
});
