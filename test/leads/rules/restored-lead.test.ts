import { parkRestored, resume } from "../../../services/leads/rules/lead-state-machine.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { DUE, leadDoc, NOW } from "../fixtures/lead-doc.ts";

const LATER = plusSeconds(NOW, 86_400);
const SOON = plusSeconds(NOW, 3600);
/** A lead as a write leaves it. */
const after = <L extends object>(lead: L, write: { update: { $set: Record<string, unknown> } }): L => ({
  ...lead,
  ...write.update.$set,
});

describe("a lead of a restored database", () => {
  const before = leadDoc({ status: "RETRY", attempt_count: 1, due_at: LATER });
  const parked = after(before, parkRestored(before, NOW));

  test("is parked: never due, without age, its next call reference far ahead", () => {
    const { filter, update } = parkRestored(before, NOW);
    expect(filter).toMatchObject({ status: "RETRY", claim_no: before.claim_no, due_at: LATER });
    expect(update.$set).toMatchObject({ status: "RETRY", faults: { code: "RESTORED", parked_at: NOW } });
    expect(parked.due_at?.getUTCFullYear()).toBe(9999);
    expect(parked.expiry_from?.getUTCFullYear()).toBe(9999);
    expect(update.$inc).toEqual({ claim_no: 1000 });
  });

  test("is due when it was, once somebody resumes it, and no longer parked", () => {
    const { update } = resume(parked, "user:1", SOON);
    expect(update.$set).toMatchObject({ due_at: LATER, aged_from: plusSeconds(before.created_at, 3600) });
    expect(update.$unset).toEqual({ faults: 1 });
  });

  test("that was due meanwhile is due when it is resumed", () => {
    const due = leadDoc({ due_at: DUE });
    expect(resume(after(due, parkRestored(due, NOW)), "user:1", SOON).update.$set["due_at"]).toEqual(SOON);
  });

  test("keeps an attempt that was under way as one made", () => {
    const { due_at: _none, ...rest } = leadDoc({ status: "PROCESSING", attempt_count: 1, lease_until: SOON });
    const { filter, update } = parkRestored(rest, NOW);
    expect([filter["status"], update.$set["status"], update.$unset]).toEqual([
      "PROCESSING",
      "RETRY",
      { lease_until: 1 },
    ]);
    expect(update.$inc).not.toHaveProperty("attempt_count");
  });

  test("that was parked before does not age by the time until then", () => {
    const held = leadDoc({ due_at: LATER, faults: { count: 5, code: "X", since: DUE, parked_at: DUE } });
    const seconds = (NOW.getTime() - DUE.getTime()) / 1000;
    expect(parkRestored(held, NOW).update.$set["aged_from"]).toEqual(plusSeconds(held.created_at, seconds));
  });
});
