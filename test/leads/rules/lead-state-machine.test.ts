import { noFacts } from "../../../shared/contracts/records/attempt.ts";
import type { LeadStatus } from "../../../shared/contracts/records/lead.ts";
import { annotate, type LeadTransition } from "../../../services/leads/rules/lead-transition.ts";
import * as machine from "../../../services/leads/rules/lead-state-machine.ts";
import { toDue, toEventData, totalCost } from "../../../services/leads/lists/lead-views.ts";
import { DUE, ID, leadDoc as lead, NOW } from "../fixtures/lead-doc.ts";

const LATER = new Date("2026-11-21T10:05:00.000Z");

const attempt = {
  number_id: ID,
  provider: "PROVIDER_ONE" as const,
  template_version: 1,
  policy: { max_retry: 1, retry_offset: 0, retry_on: null },
  claimed_at: NOW,
};
const PARKED = { count: 5, code: "X", since: DUE, parked_at: DUE };
const baton = { lead_id: ID, claim_no: 3 };
const seen = { lead_id: ID, due_at: DUE };

/** Whether the guard lets a document through: the few operators the machine uses. */
function passes(filter: Record<string, unknown>, doc: Record<string, unknown>): boolean {
  return Object.entries(filter).every(([key, want]) => {
    const value = key
      .split(".")
      .reduce<unknown>((at, part) => (at as Record<string, unknown> | null | undefined)?.[part], doc);
    const same = (a: unknown, b: unknown): boolean =>
      a instanceof Date && b instanceof Date ? a.getTime() === b.getTime() : a === b;
    if (want === null) return value === null || value === undefined;
    if (typeof want !== "object" || want instanceof Date) return same(value, want);
    return Object.entries(want).every(([op, operand]) => {
      if (op === "$in") return (operand as unknown[]).includes(value);
      if (op === "$eq") return same(value, operand);
      if (op === "$gt" && operand instanceof Date) return value instanceof Date && value > operand;
      if (op === "$gt") return typeof value === "number" && typeof operand === "number" && value > operand;
      if (op === "$lte") return value instanceof Date && operand instanceof Date && value <= operand;
      throw new Error(`the machine used an operator this test does not know: ${op}`);
    });
  });
}

const MOVES: Record<string, { move: LeadTransition; from: LeadStatus[] }> = {
  claim: { move: machine.claim({ ...seen, claim_no: 3 }, attempt, LATER, NOW), from: ["BACKLOG", "RETRY"] },
  join: { move: machine.join(lead(), attempt, LATER, NOW), from: [] },
  extend: { move: machine.renewLease(baton, LATER), from: ["PROCESSING"] },
  release: { move: machine.release(baton, lead(), LATER, "busy", NOW), from: ["PROCESSING"] },
  releaseForFault: {
    move: machine.releaseForFault(baton, lead(), { count: 1, code: "X", since: NOW }, LATER, "X", NOW),
    from: ["PROCESSING"],
  },
  recover: { move: machine.recover(baton, lead(), LATER, "holder_lost", NOW), from: ["PROCESSING"] },
  putOff: {
    move: machine.releaseForPreCheck(baton, lead(), LATER, { name: "crm.open", results: [{ name: "crm.open" }] }, NOW),
    from: ["PROCESSING"],
  },
  takeOver: { move: machine.takeOver(baton, DUE, LATER, NOW), from: ["PROCESSING"] },
  retry: {
    move: machine.retry(baton, lead(), noFacts("no_answer"), { outcome: "no_answer", due_at: LATER }, NOW),
    from: ["PROCESSING"],
  },
  finish: { move: machine.finish(baton, lead(), noFacts("no_answer"), "no_answer", NOW), from: ["PROCESSING"] },
  drop: { move: machine.drop(seen, lead(), "EXPIRED", "too old", NOW), from: ["BACKLOG", "RETRY"] },
  dropResting: { move: machine.drop({ lead_id: ID, due_at: null }, lead(), "EXPIRED", "too old", NOW), from: [] },
  abort: { move: machine.abort(lead(), { reason: "r", by: "b", at: NOW }, NOW), from: ["BACKLOG", "RETRY"] },
  resume: { move: machine.resume(lead({ faults: PARKED }), "user:a", NOW), from: [] },
  annotate: {
    move: annotate(baton, { call_id: "CA1" }, { call_id: "CA1" }, NOW),
    from: ["BACKLOG", "PROCESSING", "RETRY", "FINISHED"],
  },
  annotateLater: { move: annotate(baton, { "costs.3": 1 }, { cost: 1 }, NOW, true), from: [] },
};

describe("every (state, move) pair", () => {
  const pairs = Object.keys(MOVES).flatMap((name) =>
    (["BACKLOG", "PROCESSING", "RETRY", "FINISHED"] as const).map((status) => [name, status] as const),
  );
  test.each(pairs)("%s on %s", (name, status) => {
    const { move, from } = MOVES[name]!;
    expect(passes(move.filter, { ...lead({ status, lease_until: DUE }) })).toBe(from.includes(status));
  });

  test.each(["extend", "takeOver", "release", "putOff", "retry", "finish", "annotate"])(
    "%s is fenced by claim_no",
    (name) => {
      expect(
        passes(MOVES[name]!.move.filter, { ...lead({ status: "PROCESSING", claim_no: 4, lease_until: DUE }) }),
      ).toBe(false);
    },
  );
  test("a lead without a due time is dropped only while it has none; late facts of an earlier attempt are for later ones only", () => {
    const { due_at: _due, ...resting } = lead();
    expect(passes(MOVES["dropResting"]!.move.filter, resting)).toBe(true);
    expect(passes(MOVES["annotateLater"]!.move.filter, { ...lead({ claim_no: 4 }) })).toBe(true);
  });
  test("a session is joined only while it waits, before its time is over, and comes back without a due time", () => {
    const { due_at: _due, ...session } = lead({ execution_mode: "RTC", join_by: LATER });
    const { filter } = MOVES["join"]!.move;
    expect(passes(filter, session)).toBe(true);
    for (const over of [{ status: "PROCESSING" }, { join_by: NOW }, { claim_no: 4 }, { due_at: NOW }])
      expect(passes(filter, { ...session, ...over })).toBe(false);
    const { $set } = machine.release(baton, session, LATER, "no_client_joined", NOW).update;
    expect([$set["status"], $set["due_at"], $set["held"]]).toEqual(["BACKLOG", undefined, null]);
  });
  test("a lease that was prolonged meanwhile is not taken over", () => {
    expect(passes(MOVES["takeOver"]!.move.filter, { ...lead({ status: "PROCESSING", lease_until: LATER }) })).toBe(
      false,
    );
  });
  test.each(Object.keys(MOVES))(
    "%s leaves no lead in two places: waiting with a due time and a queue, held with a lease, finished with neither",
    (name) => {
      const { $set, $unset } = MOVES[name]!.move.update;
      const status = $set["status"];
      if (status === "PROCESSING")
        expect([$set["lease_until"], $unset]).toEqual([LATER, name === "join" ? { link_holder: 1 } : { due_at: 1 }]);
      if (status === "BACKLOG" || status === "RETRY")
        expect([$set["due_at"], $set["queue"], $unset]).toEqual([LATER, ID, { lease_until: 1 }]);
      if (status === "FINISHED")
        expect([
          { due_at: 1, join_by: 1, faults: 1 },
          { join_by: 1, lease_until: 1 },
        ]).toContainEqual($unset);
    },
  );
  test.each(["claim", "drop"])("%s is fenced by the due time seen", (name) => {
    expect(passes(MOVES[name]!.move.filter, { ...lead({ due_at: NOW }) })).toBe(false);
  });
  test("a lead that is not due yet can't be claimed", () => {
    const move = machine.claim({ lead_id: ID, due_at: LATER, claim_no: 3 }, attempt, LATER, NOW);
    expect(passes(move.filter, { ...lead({ due_at: LATER }) })).toBe(false);
  });
});

describe("what the moves write", () => {
  test("every way into FINISHED owes the report in the same write, if there is a webhook", () => {
    for (const name of ["finish", "drop", "abort"])
      expect(MOVES[name]!.move.update.$set).toMatchObject({ status: "FINISHED", report_due_at: NOW, finished_at: NOW });
    expect(machine.finish(baton, lead({ payload: {} }), noFacts("busy"), "busy", NOW).update.$set).not.toHaveProperty(
      "report_due_at",
    );
  });
  test("a claim raises both counters, a release gives only the attempt back", () => {
    expect(MOVES["claim"]!.move.update.$inc).toEqual({ attempt_count: 1, claim_no: 1 });
    expect(MOVES["release"]!.move.update.$inc).toEqual({ attempt_count: -1 });
  });
  test("a first attempt given back leads to BACKLOG, a later one to RETRY", () => {
    expect(machine.release(baton, lead({ attempt_count: 1 }), LATER, "x", NOW).update.$set["status"]).toBe("BACKLOG");
    expect(machine.release(baton, lead({ attempt_count: 2 }), LATER, "x", NOW).update.$set["status"]).toBe("RETRY");
  });
  test("a pre-check that puts a lead off is counted under its name, whatever it is called", () => {
    const names = ["crm.open", "$where", "a.b.c", "__proto__", "constructor", "0"];
    let doc = lead({ pre_check_defers: {} });
    for (const name of [...names, ...names]) {
      const { $set } = machine.releaseForPreCheck(baton, doc, LATER, { name, results: [] }, NOW).update;
      expect(Object.keys($set).filter((k) => k.startsWith("pre_check_defers"))).toEqual(["pre_check_defers"]);
      expect($set["held"]).toEqual({ why: `pre_check:${name}`, until: LATER, since: NOW });
      doc = lead({ pre_check_defers: $set["pre_check_defers"] as Record<string, number> });
    }
    expect(Object.entries(doc.pre_check_defers!).sort()).toEqual(names.map((name) => [name, 2]).sort());
  });
  test("an attempt that asked no carrier is not counted", () => {
    expect(
      machine.finish(baton, lead(), { ...noFacts("not_dialled"), dropped_as: "BLACKLISTED" }, "BLACKLISTED", NOW).update
        .$inc,
    ).toEqual({ attempt_count: -1 });
    expect(machine.finish(baton, lead(), noFacts("busy"), "busy", NOW).update.$inc).toBeUndefined();
  });
});

describe("what is remembered", () => {
  const added = (move: LeadTransition) => move.update.$push?.history.$each[0];
  test("every move but the keeping of a lease says what happened and when", () => {
    for (const [name, { move }] of Object.entries(MOVES)) {
      expect([name, added(move)?.at]).toEqual([name, name === "extend" ? undefined : NOW]);
      if (move.update.$push) expect(move.update.$push.history.$slice).toBe(-200);
    }
  });
  test("an attempt's end keeps counts of the talk, never its words", () => {
    const talk = {
      decided: "confirmed",
      ended_by: "agent" as const,
      user_turns: 1,
      idle_out: false,
      time_limit: false,
      machine: false,
      message_left: false,
      transcription: [{ role: "user" as const, content: "private" }],
      node_traversal: [],
      variables: {},
      errors: [],
    };
    const facts = {
      ...noFacts("completed"),
      answered_at: "2026-11-21T10:00:00.000Z",
      ended_at: "2026-11-21T10:00:42.500Z",
      talk,
    };
    const move = machine.finish(baton, lead(), facts, "confirmed", NOW);
    expect(added(move)).toMatchObject({
      event: "finished",
      details: { claim_no: 3, outcome: "confirmed", talk: { turns: 1, user_turns: 1, ended_by: "agent" } },
    });
    expect(JSON.stringify(added(move))).not.toContain("private");
    expect(move.update.$inc).toEqual({ answered_count: 1, talk_seconds: 42.5 });
    expect(machine.finish(baton, lead(), { ...facts, machine: true }, "voicemail", NOW).update.$inc).toBeUndefined();
  });
});

describe("views", () => {
  test("cost sums the attempts and is null while unknown", () => {
    expect(totalCost({})).toBeNull();
    expect(totalCost({ "1": 0.1, "2": 0.2 })).toBe(0.3);
  });
  test("a lead without a number or in another state is not due", () => {
    expect(toDue(lead())).toMatchObject({ lead_id: ID, due_at: DUE.toISOString() });
    expect(toDue(lead({ phone_number: null }))).toBeNull();
    expect(toDue(lead({ status: "FINISHED" }))).toBeNull();
  });
  test("the report names the order by the client's own id", () => {
    expect(
      toEventData(
        lead({
          status: "FINISHED",
          outcome: "confirmed",
          meta: { transcription: [{ role: "user", content: "yes" }], variables: { day: "Friday" } },
        }),
        null,
      ),
    ).toMatchObject({
      order_id: "o-1",
      lead_call_tracker_id: ID,
      outcome: "confirmed",
      variables: { day: "Friday" },
      transcription: [{ role: "user", content: "yes" }],
    });
  });
  test("the report says whose lead it was, of which template and kind, and what is known of its cost; the number as it is shown", () => {
    const data = toEventData(lead({ status: "FINISHED", costs: { "1": 0.1, "2": 0.2 } }), "+1415***0100");
    expect(data).toMatchObject({
      request_id: "o-1",
      reseller_id: "r",
      merchant_id: "m",
      template_id: ID,
      template: "t",
      execution_mode: "TELEPHONY",
      call_direction: "OUTBOUND",
      is_test: false,
      phone_number: "+1415***0100",
      cost: 0.3,
    });
    expect(toEventData(lead(), null)).toMatchObject({ phone_number: null, cost: null });
  });
});
