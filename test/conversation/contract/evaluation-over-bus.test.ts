import { randomUUID } from "node:crypto";
import { callEvaluations, type CallEvaluations } from "../../../services/conversation/evaluation/call-evaluations.ts";
import { chatModel } from "../../../services/conversation/providers/llm/chat-model.ts";
import { openAiChat } from "../../../services/conversation/providers/llm/openai-chat.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { endedByAgent, type Evaluation, type ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { rootLog } from "../../../shared/process/log.ts";
import { startScriptedModel, type ScriptedModel } from "../fixtures/scripted-model.ts";
import { setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { flowTemplate } from "../../fixtures/flow-template.ts";

let model: ScriptedModel;
let stage: Stage;
let after: CallEvaluations;
const annotated: ParamsOf<"leads.annotate">[] = [];

beforeAll(async () => {
  model = await startScriptedModel();
  stage = await setStage({
    services: [
      standIn("leads", {
        annotate: (p) => {
          annotated.push(p);
          return { done: true };
        },
      }),
    ],
  });
  const chat = chatModel(openAiChat({ base_url: model.url, key: "k", model: "judge" }), systemClock);
  after = callEvaluations({ bus: stage.bus, clock: systemClock, log: rootLog(stage.env), model: () => chat });
});
afterAll(async () => {
  await after?.close();
  await stage?.stop();
  await model?.close();
});

const talk: ConversationFacts = {
  ...endedByAgent("confirmed"),
  transcription: [
    { role: "assistant", content: "Do you confirm?" },
    { role: "user", content: "Yes." },
  ],
  node_traversal: ["ask", "confirmed"],
};
const wanted = {
  evaluators: [
    { name: "clarity", question: "How clear was the agent?" },
    { name: "mood", question: "How did they feel?", scale: { min: -5, max: 5 } },
  ],
  summary: true,
};
const end = async (over: Partial<TemplateRecord> = {}): Promise<{ lead_id: string; settled: Evaluation | null }> => {
  const lead_id = randomUUID();
  let settled: Evaluation | null = null;
  await after.settle(
    { lead_id, claim_no: 3, template: flowTemplate({ ...wanted, ...over }), talk },
    async (evaluation) => {
      settled = evaluation;
      return true;
    },
  );
  return { lead_id, settled };
};
const added = (lead_id: string) =>
  until("the evaluation to be added", () => annotated.find((a) => a.lead_id === lead_id));
const REPORT = {
  calls: [{ name: "report_evaluation", arguments: { clarity: 9, mood: -6, _summary: "The order was confirmed." } }],
};
const RESULT = {
  trace_scores: { clarity: 9 },
  summary: "The order was confirmed.",
  errors: [{ code: "EVALUATION_FAILED", reason: "OUT_OF_SCALE", evaluator: "mood" }],
};

describe("over a model's wire and the bus", () => {
  test("the end of a conversation has its scores and its summary, from one question", async () => {
    model.questions.length = 0;
    model.reply = () => REPORT;
    expect((await end({ evaluation_wait_seconds: 10 })).settled).toEqual(RESULT);
    expect(model.questions.map((q) => [q.model, q.tools?.map((t) => t.function.name)])).toEqual([
      ["judge", ["report_evaluation"]],
    ]);
  });
  test("where nobody waits the lead is told later, as the contract has it", async () => {
    model.reply = () => REPORT;
    const { lead_id, settled } = await end({ evaluation_wait_seconds: 0 });
    expect(settled).toBeNull();
    expect(await added(lead_id)).toEqual({ lead_id, claim_no: 3, evaluation: RESULT });
  });
  test("a model that refuses is an entry of the lead's, no fault of the call", async () => {
    model.reply = () => ({ status: 401 });
    expect((await end({ evaluation_wait_seconds: 10 })).settled).toEqual({
      trace_scores: {},
      summary: null,
      errors: [{ code: "EVALUATION_FAILED", reason: "MODEL_REFUSED" }],
    });
  });
  test("at shutdown a model that hangs is let go within 2 s", async () => {
    model.reply = () => ({ hang: true, text: "Well" });
    model.questions.length = 0;
    const aborted = model.aborted();
    const { lead_id } = await end({ evaluation_wait_seconds: 0 });
    await until(
      "the model to be asked",
      () => model.questions.at(-1)?.messages.at(-1)?.content?.includes("Yes.") || undefined,
    );
    await after.close();
    expect((await added(lead_id)).evaluation?.errors).toEqual([{ code: "EVALUATION_FAILED", reason: "SHUTDOWN" }]);
    await until("the request to be let go", () => model.aborted() > aborted || undefined);
  });
});
