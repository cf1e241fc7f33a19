import { conversationStage } from "../fixtures/conversation-stage.ts";
import { type Question, type ScriptedModel } from "../fixtures/scripted-model.ts";
import type { Stage } from "../../../local/harness/stage.ts";
import type { ConversationWorld } from "../fixtures/conversation-world.ts";
import { obedient, opened } from "../fixtures/conversation-world.ts";

let model: ScriptedModel;
let world: ConversationWorld;
let stage: Stage;

conversationStage((running) => ({ model, world, stage } = running));

const judging = (q: Question): boolean => q.tools?.some((t) => t.function.name === "report_evaluation") ?? false;
const JUDGED = {
  evaluators: [{ name: "clarity", question: "How clear was the agent?" }],
  summary: true,
  evaluation_wait_seconds: 10,
};

test("a conversation is settled with its scores and its summary; one in which the customer said nothing is not judged", async () => {
  model.reply = (q) =>
    judging(q)
      ? { calls: [{ name: "report_evaluation", arguments: { clarity: 9, _summary: "Confirmed." } }] }
      : obedient(q);
  const p = await world.prepare(stage, JUDGED);
  const caller = await opened(p);
  caller.speak("Yes, please.");
  await caller.over();
  const { facts } = await world.settledOf(p.lead_id);
  await world.hungUp(p.call_ref);
  expect(facts).toMatchObject({
    talk: { decided: "confirmed" },
    evaluation: { trace_scores: { clarity: 9 }, summary: "Confirmed.", errors: [] },
  });
  const [question] = model.questions.filter(judging);
  expect(question?.messages.at(-1)?.content).toContain("CUSTOMER: Yes, please.\nAGENT: Thank you, Ada. Goodbye!");
  const silent = await world.prepare(stage, JUDGED);
  (await opened(silent)).hangUp();
  expect((await world.settledOf(silent.lead_id)).facts).not.toHaveProperty("evaluation");
  expect(model.questions.filter(judging)).toHaveLength(1);
});
