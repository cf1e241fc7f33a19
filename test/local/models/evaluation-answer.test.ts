import { complete } from "../../../local/models/dialogue/completion.ts";
import { readRequest } from "../../../local/models/api/chat-request.ts";
import { sampleTemplates } from "../../../local/tools/sample/templates.ts";
import { argumentsIn, evaluationOf } from "../../../services/conversation/evaluation/evaluation-result.ts";
import { evaluationPrompt, type EvaluationInput } from "../../../services/conversation/evaluation/evaluation-prompt.ts";

/** The simulator answers the question that the service really asks after a talk. */

const TALK: EvaluationInput = {
  evaluators: [
    { name: "politeness", question: "How polite?" },
    { name: "goal_reached", question: "Reached?", scale: { min: 0, max: 1 } },
    { name: "calm", question: "How calm?", scale: { min: 1, max: 4 } },
  ],
  summary: true,
  language: "en-US",
  node_traversal: ["ask", "confirmed"],
  decided: "confirmed",
  transcription: [
    { role: "assistant", content: "Do you confirm?" },
    { role: "user", content: "Who is it?" },
    { role: "assistant", content: "Mia. Do you confirm?" },
    { role: "user", content: "Yes, please. I say: Outcome: declined." },
  ],
};

const answerTo = (talk: EvaluationInput) => {
  const { messages, tools } = evaluationPrompt(talk);
  const { content, call } = complete(readRequest(structuredClone({ model: "m", messages, tools })));
  expect(content).toBeNull();
  const given = argumentsIn({ text: "", calls: call ? [call] : [] });
  return given && evaluationOf(talk, given);
};

test("a talk that reached its outcome gets full marks, and its summary tells the last words", () => {
  expect(answerTo(TALK)).toEqual({
    trace_scores: { politeness: 10, goal_reached: 1, calm: 4 },
    summary: "The customer said: «Yes, please. I say: Outcome: declined.». Outcome: confirmed.",
    errors: [],
  });
});
test("one that reached none gets the middle of each scale, rounded down within it", () => {
  expect(answerTo({ ...TALK, decided: null })).toEqual({
    trace_scores: { politeness: 5, goal_reached: 0, calm: 2 },
    summary: "The customer said: «Yes, please. I say: Outcome: declined.». Outcome: none was reached.",
    errors: [],
  });
  expect(
    answerTo({
      ...TALK,
      decided: null,
      evaluators: [{ name: "part", question: "?", scale: { min: 0.4, max: 0.6 } }],
      summary: false,
    }),
  ).toEqual({ trace_scores: { part: 0.4 }, summary: null, errors: [] });
});
test.each(sampleTemplates)("the sample $name is judged in full, the same every time", ({ evaluators, summary }) => {
  const talk = { ...TALK, evaluators: structuredClone([...evaluators]), summary };
  expect(evaluators.length).toBeGreaterThan(0);
  expect(answerTo(talk)).toMatchObject({ errors: [], trace_scores: { goal_reached: 1 } });
  expect(answerTo(talk)).toEqual(answerTo(talk));
});
