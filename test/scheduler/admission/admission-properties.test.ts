import * as fc from "fast-check";
import { admissionOf, admitLead, admitQueue, judgeGates } from "../../../services/scheduler/admission/admission.ts";
import { explain, nextEligible } from "../../../services/scheduler/admission/explanation.ts";
import { anyGateInputs, gateInputs, plan, waiting } from "../fixtures/gate-inputs.ts";

describe("for any inputs", () => {
  test("the admission is the fold of what explain shows; a gate that lets pass has no instant", () => {
    fc.assert(
      fc.property(anyGateInputs, (f) => {
        const gates = judgeGates(f);
        expect(admitLead(f)).toEqual(admissionOf(gates));
        expect(explain(waiting(), f).eligible).toBe(
          gates.every((g) => g.verdict === "pass" || g.verdict === "not_judged") &&
            !gates.some((g) => g.verdict === "drop"),
        );
        for (const g of gates) if (g.verdict !== "hold") expect(g.until).toBeNull();
      }),
      { numRuns: 500 },
    );
  });
  test("what defers a queue defers each of its leads, but for callees on the whitelist", () => {
    fc.assert(
      fc.property(anyGateInputs, (f) => {
        const queue = admitQueue(f);
        if (queue.verdict === "deferred" && queue.gate !== "rate_limit")
          expect(admitLead(f).verdict).not.toBe("admitted");
        if (queue.verdict === "admitted" && admitLead(f).verdict === "deferred")
          expect(["status", "phone_number", "due", "international", "line"]).toContain(
            (admitLead(f) as { gate: string }).gate,
          );
      }),
      { numRuns: 500 },
    );
  });
  test("at the next eligible instant every gate lets the lead pass, and a moment before one defers it", () => {
    let found = 0;
    fc.assert(
      fc.property(anyGateInputs, (f) => {
        const { at } = nextEligible(f);
        if (at === null) return;
        expect(admitLead({ ...f, at })).toEqual({ verdict: "admitted" });
        expect(at.getTime()).toBeGreaterThanOrEqual(f.at.getTime());
        if (at > f.at) {
          found++;
          expect(admitLead({ ...f, at: new Date(at.getTime() - 1) }).verdict).toBe("deferred");
        }
      }),
      { numRuns: 3000 },
    );
    expect(found).toBeGreaterThan(20);
  });
});

test("the next instant is judged anew: due in the night means the next opening; a lead that expires before has none", () => {
  const f = gateInputs({}, { due_at: new Date("2026-11-21T20:00:00.000Z").toISOString() });
  expect(explain(waiting(), f).next_eligible_at).toBe("2026-11-22T09:00:00.000Z");
  const soon = explain(
    waiting(),
    gateInputs(
      { plan: plan({ max_age_seconds: 40_000 }) },
      { due_at: new Date("2026-11-21T20:00:00.000Z").toISOString() },
    ),
  );
  expect(soon).toMatchObject({
    eligible: false,
    next_eligible_at: null,
    summary: expect.stringContaining("It will expire first, at 2026-11-21T21:06:40.000Z"),
  });
});
