import * as fc from "fast-check";
import { endedByAgent, type ConversationFacts } from "../../shared/contracts/records/attempt.ts";
import { jsonBytes } from "../../shared/json.ts";
import { boundedTalk, TALK_BYTES } from "../../shared/talk-bounds.ts";

const facts = (over: Partial<ConversationFacts> = {}): ConversationFacts => ({
  ...endedByAgent(null),
  transcription: [{ role: "user", content: "Yes." }],
  node_traversal: ["hello", "bye"],
  variables: { day: "Friday" },
  errors: [{ code: "STT_FAILED", node: "hello" }],
  ...over,
});
const line = (i: number, chars: number) => ({ role: "user" as const, content: `${i} ${"é".repeat(chars)}` });

test("usual facts stay as they are", () => {
  expect(boundedTalk(facts())).toEqual(facts());
});

test("of the longest transcript the latest lines are kept, and the errors say how many are not", () => {
  const transcription = Array.from({ length: 500 }, (_, i) => line(i, 1990));
  const { transcription: kept, errors } = boundedTalk(facts({ transcription }));
  expect(kept).toEqual(transcription.slice(-kept.length));
  expect(jsonBytes(kept)).toBeLessThanOrEqual(TALK_BYTES.transcription);
  expect(jsonBytes(kept)).toBeGreaterThan(TALK_BYTES.transcription - 5000);
  expect(errors).toEqual([
    { code: "STT_FAILED", node: "hello" },
    { code: "TRANSCRIPT_CUT", node: "bye", lines: 500 - kept.length },
  ]);
});

test("of too many variables the largest are left out, and the errors name them", () => {
  const variables = { first: "1", large: "x".repeat(60_000), larger: { of: "y".repeat(64_000) }, last: "2" };
  expect(boundedTalk(facts({ variables }))).toMatchObject({
    variables: { first: "1", large: variables.large, last: "2" },
    errors: [{ code: "STT_FAILED" }, { code: "VARIABLES_CUT", node: "bye", variables: ["larger"] }],
  });
});

test("whatever a conversation leaves behind, it is within the bounds, and cut once only", () => {
  const large = fc.integer({ min: 0, max: 30_000 }).map((n) => "\u0001".repeat(n));
  fc.assert(
    fc.property(
      fc.array(large, { maxLength: 40 }),
      fc.dictionary(fc.string({ maxLength: 80 }), large, { maxKeys: 30 }),
      fc.array(large, { maxLength: 10 }),
      (said, variables, faults) => {
        const bounded = boundedTalk(
          facts({
            transcription: said.map((content) => ({ role: "assistant", content })),
            variables,
            errors: faults.map((detail) => ({ code: "X", detail })),
            node_traversal: Array.from({ length: 700 }, () => "n".repeat(64)),
          }),
        );
        expect(jsonBytes(bounded.transcription)).toBeLessThanOrEqual(TALK_BYTES.transcription);
        expect(jsonBytes(bounded.variables)).toBeLessThanOrEqual(TALK_BYTES.variables);
        expect(jsonBytes(bounded.errors)).toBeLessThanOrEqual(TALK_BYTES.errors);
        expect(jsonBytes(bounded)).toBeLessThan(256 * 1024);
        expect(boundedTalk(bounded)).toEqual(bounded);
      },
    ),
    { numRuns: 60 },
  );
});
