import { isRetried, OUTCOMES, outcomeOf } from "../../../services/leads/rules/outcomes.ts";
import { endedByAgent, noFacts, OUTCOME_WORDS, type AttemptFacts } from "../../../shared/contracts/records/attempt.ts";

/** A whole conversation that decided this. */
const decided = (word: string): AttemptFacts => ({
  ...noFacts("completed"),
  answered_at: "2026-11-21T10:00:00.000Z",
  ended_at: "2026-11-21T10:00:40.000Z",
  talk: {
    ...endedByAgent(word),
    user_turns: 2,
  },
});

test.each(["busy", "no_answer", "failed"] as const)(
  "a conversation that decided %s, a word of ours, is not called again unless retry_on names it",
  (word) => {
    expect([outcomeOf(decided(word)), isRetried(decided(word), null)]).toEqual([word, false]);
    expect(isRetried(decided(word), ["PLACEMENT_UNKNOWN"])).toBe(false);
    expect(isRetried(decided(word), [word])).toBe(true);
    // the same word from the carrier, without a conversation
    expect(isRetried(noFacts(word), null)).toBe(true);
  },
);

test("nor is one that decided voicemail; voicemail itself is", () => {
  expect(isRetried(decided("voicemail"), null)).toBe(false);
  expect(isRetried({ ...noFacts("completed"), machine: true }, null)).toBe(true);
});

test("the closed list is the one that templates are checked against", () => {
  expect(Object.keys(OUTCOMES)).toEqual([...OUTCOME_WORDS]);
});
