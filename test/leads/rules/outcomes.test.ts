import * as fc from "fast-check";
import {
  endedByAgent,
  CARRIER_ENDS,
  ENDED_BY,
  HANGUP_PARTIES,
  noFacts,
  type AttemptFacts,
  type ConversationFacts,
  type HangupSource,
} from "../../../shared/contracts/records/attempt.ts";
import {
  callEndedBy,
  droppedEarly,
  END_TABLE,
  isRetried,
  OUTCOMES,
  outcomeOf,
  sourceOf,
} from "../../../services/leads/rules/outcomes.ts";
import { CALL_ENDED_BY, HANG_UP_REASONS, NORMAL_REASONS, type HangUpReason } from "../../../shared/hangup-source.ts";
import { settle } from "../../../services/leads/rules/settlement.ts";

const NOW = new Date("2026-11-21T10:00:00.000Z");
const talk = (over: Partial<ConversationFacts> = {}): ConversationFacts => ({
  ...endedByAgent(null),
  ...over,
});
const facts = (over: Partial<AttemptFacts>): AttemptFacts => ({ ...noFacts(over.ended ?? "completed"), ...over });
const at = (seconds: number): string => new Date(NOW.getTime() + seconds * 1000).toISOString();
type Party = HangupSource["by"];
const ended = (by: Party, seconds: number, reason: HangUpReason | null = null): AttemptFacts =>
  facts({ answered_at: at(0), ended_at: at(seconds), hangup_source: { by, reason } });
const talked = (
  seconds: number,
  over: Partial<ConversationFacts>,
  by?: Party,
  reason: HangUpReason | null = null,
): AttemptFacts =>
  facts({
    answered_at: at(0),
    ended_at: at(seconds),
    talk: talk(over),
    ...(by === undefined ? {} : { hangup_source: { by, reason } }),
  });

const OURS: ConversationFacts["transcription"] = [{ role: "assistant", content: "Good day." }];

describe("the outcome is computed from facts alone", () => {
  const table: [string, AttemptFacts, string, boolean][] = [
    ["nobody answers", facts({ ended: "no_answer" }), "no_answer", true],
    ["busy", facts({ ended: "busy" }), "busy", true],
    ["rejected counts as busy", facts({ ended: "rejected" }), "busy", true],
    ["carrier failure", facts({ ended: "failed" }), "failed", true],
    ["canceled before the answer", facts({ ended: "canceled" }), "failed", true],
    ["number refused by the carrier", facts({ ended: "invalid_number" }), "INVALID_NUMBER", false],
    ["unknown whether it rang", facts({ ended: "unknown" }), "PLACEMENT_UNKNOWN", false],
    ["dropped by a gate", facts({ ended: "not_dialled", dropped_as: "BLACKLISTED" }), "BLACKLISTED", false],
    [
      "given up before any carrier was asked",
      facts({ ended: "not_dialled", error: { code: "HOLDER_LOST" } }),
      "failed",
      false,
    ],
    ["decided by the talk", talked(30, { decided: "confirmed" }), "confirmed", false],
    [
      "decided, then the customer hung up",
      talked(30, { decided: "rescheduled", ended_by: "customer" }),
      "rescheduled",
      false,
    ],
    ["a machine answered", facts({ machine: true }), "voicemail", true],
    ["a machine seen by the talk", talked(8, { machine: true }), "voicemail", true],
    ["a message was left", talked(20, { machine: true, message_left: true }), "voicemail", false],
    [
      "the customer talked and hung up early",
      talked(3, { ended_by: "customer", user_turns: 1 }),
      "customer_hangup",
      false,
    ],
    [
      "the line dropped within 5 s, nothing said",
      talked(5, { ended_by: "customer", user_turns: 0 }),
      "customer_hangup",
      true,
    ],
    ["hung up after 6 s, nothing said", talked(6, { ended_by: "customer", user_turns: 0 }), "customer_hangup", false],
    ["answered, and nobody knows who ended it", facts({ answered_at: at(0), ended_at: at(21) }), "failed", true],
    ["answered and ended by the carrier before a word", ended("carrier", 21), "failed", true],
    ["answered and hung up by the callee before a word", ended("callee", 21), "customer_hangup", false],
    ["the same within 5 s: a dropped line", ended("callee", 1), "customer_hangup", true],
    ["ended by us before a word", ended("we", 21, "media_missing"), "call_error", false],
    ["a talk that the carrier ended", talked(30, { ended_by: "customer" }, "carrier"), "call_error", false],
    ["a talk that we ended from outside", talked(30, { ended_by: "customer" }, "we", "overdue"), "call_error", false],
    ["a talk whose end is unknown", talked(30, { ended_by: "customer" }, "unknown"), "call_error", false],
    ["media that broke off before the first word", talked(30, { user_turns: 0, ended_by: "customer" }, "carrier"), "failed", true], // prettier-ignore
    ["decided, then the carrier ended it", talked(30, { decided: "confirmed", ended_by: "customer" }, "carrier"), "confirmed", false], // prettier-ignore
    [
      "the time limit of the carrier, by its word",
      talked(30, { ended_by: "customer" }, "timeout"),
      "call_timeout",
      false,
    ],
    ["silence", talked(30, { ended_by: "timeout", idle_out: true, user_turns: 0 }), "silence", false],
    ["too long", talked(600, { ended_by: "timeout", time_limit: true }), "call_timeout", false],
    [
      "the carrier's time limit",
      facts({ ended: "time_limit", talk: talk({ ended_by: "customer" }) }),
      "call_timeout",
      false,
    ],
    ["our own fault after talking", talked(30, { ended_by: "error", transcription: OURS }), "call_error", false],
    ["our own fault soon after our first word", talked(2, { ended_by: "error", user_turns: 0, transcription: OURS }), "call_error", false], // prettier-ignore
    ["our own fault before a word of ours was heard", talked(2, { ended_by: "error", user_turns: 0 }), "failed", true],
    ["our own fault, late, and nothing of ours was heard", talked(30, { ended_by: "error" }), "failed", true],
    ["ended by us without a decision", talked(30, {}), "no_outcome", false],
    [
      "the holder was lost",
      facts({ answered_at: at(0), ended_at: at(60), error: { code: "conversation_lost" } }),
      "call_error",
      false,
    ],
  ];
  test.each(table)("%s", (_name, f, outcome, retried) => {
    expect(outcomeOf(f)).toBe(outcome);
    expect(isRetried(f, null)).toBe(retried);
    expect(outcome in OUTCOMES || outcome === f.talk?.decided).toBe(true);
  });

  test("a template's retry_on replaces the rule, both ways", () => {
    expect(isRetried(facts({ ended: "no_answer" }), ["busy"])).toBe(false);
    expect(isRetried(talked(30, { decided: "call_me_later" }), ["call_me_later"])).toBe(true);
    expect(isRetried(facts({ ended: "unknown" }), ["PLACEMENT_UNKNOWN"])).toBe(true);
  });

  test("a silent customer is no dropped line", () => {
    expect(droppedEarly(talked(4, { ended_by: "timeout", idle_out: true, user_turns: 0 }))).toBe(false);
  });
});

describe("settling", () => {
  const policy = { max_retry: 2, retry_offset: 60, retry_on: null };
  test("1 + max_retry attempts, then finished", () => {
    const f = facts({ ended: "no_answer" });
    expect(settle(f, policy, 1, NOW)).toEqual({ kind: "retry", due_at: new Date(at(60)), outcome: "no_answer" });
    expect(settle(f, policy, 2, NOW).kind).toBe("retry");
    expect(settle(f, policy, 3, NOW)).toEqual({ kind: "finish", outcome: "no_answer" });
  });
  test("max_retry 0 never calls again", () => {
    expect(settle(facts({ ended: "busy" }), { ...policy, max_retry: 0 }, 1, NOW)).toEqual({
      kind: "finish",
      outcome: "busy",
    });
  });
  const anyFacts = fc
    .record({
      ended: fc.constantFrom(...CARRIER_ENDS),
      machine: fc.boolean(),
      error: fc.constantFrom(null, { code: "x" }),
      dropped_as: fc.constantFrom(null, null, "BLACKLISTED" as const),
      answered: fc.boolean(),
      seconds: fc.integer({ min: 0, max: 700 }),
      said: fc.option(
        fc.record({
          decided: fc.constantFrom(null, "confirmed", "busy", "voicemail"),
          ended_by: fc.constantFrom(...ENDED_BY),
          user_turns: fc.nat(2),
          idle_out: fc.boolean(),
          time_limit: fc.boolean(),
          machine: fc.boolean(),
          message_left: fc.boolean(),
        }),
      ),
    })
    .map(({ answered, seconds, said, ...rest }) =>
      facts({ ...rest, answered_at: answered ? at(0) : null, ended_at: at(seconds), talk: said && talk(said) }),
    );
  const anyPolicy = fc.record({
    max_retry: fc.nat(5),
    retry_offset: fc.nat(3600),
    retry_on: fc.option(fc.subarray(["no_answer", "busy", "failed", "confirmed", "PLACEMENT_UNKNOWN", "BLACKLISTED"])),
  });

  test("whatever happens, a lead is dialled at most 1 + max_retry times and then finishes, with one outcome", () => {
    fc.assert(
      fc.property(
        anyPolicy,
        fc.infiniteStream(fc.record({ facts: anyFacts, given_back: fc.boolean() })),
        (policyOf, attempts) => {
          let attempt_count = 0;
          let dials = 0;
          for (const attempt of attempts) {
            attempt_count++; // the claim
            expect(attempt_count).toBeLessThanOrEqual(policyOf.max_retry + 1);
            if (attempt.given_back) {
              attempt_count--;
              if (dials++ > 50) return;
              continue;
            }
            const settled = settle(attempt.facts, policyOf, attempt_count, NOW);
            expect(settled).toEqual(settle(attempt.facts, policyOf, attempt_count, NOW));
            expect(settled.outcome).toBe(outcomeOf(attempt.facts));
            if (settled.kind === "finish") {
              const spent = attempt_count > policyOf.max_retry;
              expect(spent || !isRetried(attempt.facts, policyOf.retry_on)).toBe(true);
              return;
            }
            expect([attempt.facts.ended === "not_dialled", settled.due_at]).toEqual([
              false,
              new Date(NOW.getTime() + policyOf.retry_offset * 1000),
            ]);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
  const anySource = fc.record({
    by: fc.constantFrom(...HANGUP_PARTIES),
    reason: fc.constantFrom(null, ...HANG_UP_REASONS),
  });
  test("customer_hangup is only ever the outcome of an answered call that the callee ended", () => {
    fc.assert(
      fc.property(anyFacts, fc.option(anySource), (f, source) => {
        const known = source === null ? f : { ...f, hangup_source: source };
        if (outcomeOf(known) === "customer_hangup") expect(sourceOf(known).by).toBe("callee");
        if (sourceOf(known).by === "callee" && known.answered_at !== null) expect(callEndedBy(known)).toBe("customer");
      }),
      { numRuns: 2000 },
    );
  });
  test("the contract's word follows from who ended the call alone", () => {
    const rows: HangupSource[] = HANGUP_PARTIES.flatMap((by): HangupSource[] =>
      by === "we" ? [null, ...HANG_UP_REASONS].map((reason) => ({ by, reason })) : [{ by, reason: null }],
    );
    for (const source of rows) {
      const normal = source.reason !== null && NORMAL_REASONS.includes(source.reason);
      const row =
        source.by === "we" ? (`we, ${normal ? "in the normal course" : "for another reason"}` as const) : source.by;
      for (const said of [null, talk({ ended_by: "customer" })]) {
        const f = facts({ answered_at: at(0), ended_at: at(30), talk: said, hangup_source: source });
        expect({ source, word: callEndedBy(f), outcome: outcomeOf(f) }).toEqual({
          source,
          word: CALL_ENDED_BY[row],
          outcome: said ? END_TABLE[row].after : END_TABLE[row].before,
        });
      }
    }
    expect(callEndedBy(facts({ ended: "no_answer" }))).toBeNull();
  });
  test("facts of the version before say as much as they know", () => {
    expect(sourceOf(talked(30, { ended_by: "customer" })).by).toBe("callee");
    expect(sourceOf(talked(30, { ended_by: "agent" })).by).toBe("agent");
    expect(sourceOf(talked(30, { ended_by: "error" }))).toEqual({ by: "we", reason: "conversation_failed" });
    expect(sourceOf(facts({ answered_at: at(0), ended_at: at(3) })).by).toBe("unknown");
  });

  test("every outcome is the template's own word or one of the closed list", () => {
    fc.assert(
      fc.property(anyFacts, (f) => {
        expect(outcomeOf(f) in OUTCOMES || outcomeOf(f) === f.talk?.decided).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test("whatever else is known of an attempt, a decision is followed by another call only where retry_on names it", () => {
    fc.assert(
      fc.property(anyFacts, anyPolicy, (f, policyOf) => {
        const settled = settle(f, policyOf, 1, NOW);
        const decided = f.dropped_as ? null : (f.talk?.decided ?? null);
        if (settled.kind === "retry" && decided !== null) expect(policyOf.retry_on).toContain(decided);
      }),
      { numRuns: 1000 },
    );
  });

  test("a decision is final whatever the budget", () => {
    expect(settle(talked(30, { decided: "confirmed" }), policy, 1, NOW)).toEqual({
      kind: "finish",
      outcome: "confirmed",
    });
  });
});
