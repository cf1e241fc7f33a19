import { pino } from "pino";
import { callEvaluations, type EvaluatedCall } from "../../../services/conversation/evaluation/call-evaluations.ts";
import { ModelError, type ChatModel, type ModelAnswer } from "../../../services/conversation/providers/port.ts";
import type { Bus, ParamsOf } from "../../../shared/bus/bus.ts";
import { endedByAgent, type Evaluation, type ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { flowTemplate } from "../../fixtures/flow-template.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const LEAD = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const facts: ConversationFacts = {
  ...endedByAgent("confirmed"),
  transcription: [
    { role: "assistant", content: "Do you confirm?" },
    { role: "user", content: "Yes, private." },
  ],
  node_traversal: ["ask"],
};
const over = (template: Partial<TemplateRecord> = {}, talk: Partial<ConversationFacts> = {}): EvaluatedCall => ({
  lead_id: LEAD,
  claim_no: 2,
  template: flowTemplate({ evaluators: [{ name: "clarity", question: "How clear?" }], ...template }),
  talk: { ...facts, ...talk },
});
const SCORED: Evaluation = { trace_scores: { clarity: 7 }, summary: null, errors: [] };
const failed = (reason: string): Evaluation => ({
  trace_scores: {},
  summary: null,
  errors: [{ code: "EVALUATION_FAILED", reason }],
});
const turnOver = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** Everything around it: a model that answers when told to, a bus that keeps what is annotated. */
function set({ busFails = 0, most, model }: { busFails?: number; most?: number; model?: () => ChatModel } = {}) {
  const clock = virtualClock();
  const lines: string[] = [];
  const told: ParamsOf<"leads.annotate">[] = [];
  const waiting: ((score: number) => void)[] = [];
  const settled: (Evaluation | null)[] = [];
  let fails = busFails;
  const asked: ChatModel = {
    answer: (_request, { signal }) =>
      new Promise<ModelAnswer>((resolve, reject) => {
        waiting.push((clarity) =>
          resolve({
            text: "",
            calls: [{ id: "c", name: "report_evaluation", arguments: JSON.stringify({ clarity }) }],
            first_token_ms: 1,
            total_ms: 1,
            prompt_tokens: 0,
            completion_tokens: 0,
            tries: 1,
          }),
        );
        signal.addEventListener("abort", () => reject(new ModelError("MODEL_ABORTED", "taken back", false)), {
          once: true,
        });
      }),
  };
  const bus: Bus = {
    call: async (name: string, params: unknown) => {
      if (fails-- > 0) throw new Error("the bus is away");
      if (name === "leads.annotate") told.push(params as ParamsOf<"leads.annotate">);
      return { done: true } as never;
    },
    emit: () => undefined,
    broadcast: () => undefined,
  };
  const after = callEvaluations({
    bus,
    clock,
    log: pino(
      { level: "trace" },
      {
        write: (line: string) => {
          lines.push(line);
        },
      },
    ),
    model: model ?? (() => asked),
    ...(most === undefined ? {} : { most }),
  });
  const settle = async (evaluation: Evaluation | null): Promise<boolean> => {
    settled.push(evaluation);
    return true;
  };
  return { after, clock, lines, told, waiting, settled, settle };
}

describe("the end of a conversation", () => {
  test("waits for an answer that comes in time, and settles with it", async () => {
    const t = set();
    const done = t.after.settle(over(), t.settle);
    await turnOver();
    expect(t.settled).toEqual([]);
    t.waiting[0]?.(7);
    expect(await done).toBe(true);
    expect(t.settled).toEqual([SCORED]);
    await t.after.close();
    expect(t.told).toEqual([]);
  });
  test("waits 2 s and no longer where the template says nothing else; what comes then is added to the lead", async () => {
    const t = set();
    const done = t.after.settle(over(), t.settle);
    await turnOver();
    await t.clock.advance(1999);
    await turnOver();
    expect(t.settled).toEqual([]);
    await t.clock.advance(1);
    expect(await done).toBe(true);
    expect(t.settled).toEqual([null]);
    t.waiting[0]?.(7);
    await turnOver();
    expect(t.told).toEqual([{ lead_id: LEAD, claim_no: 2, evaluation: SCORED }]);
  });
  test("never waits where the template says so, and as long as it says otherwise", async () => {
    const t = set();
    expect(await t.after.settle(over({ evaluation_wait_seconds: 0 }), t.settle)).toBe(true);
    expect(t.settled).toEqual([null]);
    const long = t.after.settle(over({ evaluation_wait_seconds: 30 }), t.settle);
    await turnOver();
    await t.clock.advance(29_000);
    t.waiting[1]?.(7);
    await long;
    expect(t.settled).toEqual([null, SCORED]);
  });
  test.each([
    ["a machine", {}, { machine: true }],
    ["nobody said anything", {}, { user_turns: 0, transcription: [] }],
    ["a template that asks nothing", { evaluators: [] }, {}],
  ])("%s is not judged, and nothing waits", async (_what, template, talk) => {
    const t = set();
    expect(await t.after.settle(over(template, talk), t.settle)).toBe(true);
    expect([t.settled, t.waiting.length]).toEqual([[null], 0]);
  });
  test("nothing is added to a lead whose attempt could not be settled", async () => {
    const t = set();
    expect(await t.after.settle(over({ evaluation_wait_seconds: 0 }), async () => false)).toBe(false);
    t.waiting[0]?.(7);
    await turnOver();
    expect(t.told).toEqual([]);
  });
  test("a settle that fails fails the same way, whatever the model does", async () => {
    const t = set();
    await expect(
      t.after.settle(over({ evaluation_wait_seconds: 0 }), () => Promise.reject(new Error("store"))),
    ).rejects.toThrow("store");
    await t.after.close();
  });
  test("a model that can't be made, or fails, hurts nothing", async () => {
    const t = set({
      model: () => {
        throw new Error("no such endpoint");
      },
    });
    expect(await t.after.settle(over(), t.settle)).toBe(true);
    const broken = set({
      model: () => ({ answer: () => Promise.reject(new ModelError("MODEL_REFUSED", "the model answered 401", false)) }),
    });
    expect(await broken.after.settle(over(), broken.settle)).toBe(true);
    expect([...t.settled, ...broken.settled]).toEqual([failed("INTERNAL"), failed("MODEL_REFUSED")]);
  });
});

describe("bounds", () => {
  test("past the most at once a conversation is settled at once, and says why it was not judged", async () => {
    const t = set({ most: 2 });
    const both = [t.after.settle(over(), t.settle), t.after.settle(over(), t.settle)];
    await turnOver();
    await t.after.settle(over(), t.settle);
    expect(t.settled).toEqual([failed("TOO_MANY")]);
    for (const answer of t.waiting) answer(7);
    await Promise.all(both);
    const third = t.after.settle(over(), t.settle);
    await turnOver();
    t.waiting[2]?.(7);
    await third;
    expect(t.settled).toEqual([failed("TOO_MANY"), SCORED, SCORED, SCORED]);
  });
  test("telling a lead is tried three times", async () => {
    for (const [busFails, told] of [
      [2, 1],
      [3, 0],
    ] as const) {
      const t = set({ busFails });
      await t.after.settle(over({ evaluation_wait_seconds: 0 }), t.settle);
      t.waiting[0]?.(7);
      for (let i = 0; i < 4; i++) {
        await turnOver();
        await t.clock.advance(2000);
      }
      expect(t.told).toHaveLength(told);
      expect(t.lines.some((l) => l.includes("talk.evaluation_lost"))).toBe(told === 0);
    }
  });
  test("once it hurries nobody waits; answers that come before the end are still added", async () => {
    const t = set();
    const waits = t.after.settle(over({ evaluation_wait_seconds: 30 }), t.settle);
    await turnOver();
    t.after.stopWaiting();
    await waits;
    await t.after.settle(over(), t.settle);
    expect(t.settled).toEqual([null, null]);
    const closed = t.after.close();
    for (const answer of t.waiting) answer(7);
    await closed;
    expect(t.told.map((x) => x.evaluation)).toEqual([SCORED, SCORED]);
  });
  test("at the end what is not there is given up within 2 s, and its lead is told so", async () => {
    const t = set();
    await t.after.settle(over({ evaluation_wait_seconds: 0 }), t.settle);
    const ends: number[] = [];
    const closed = t.after.close().finally(() => ends.push(t.clock.monotonicMs()));
    for (let i = 0; i < 20; i++) {
      await turnOver();
      await t.clock.advance(100);
    }
    await closed;
    expect(ends[0]).toBeLessThanOrEqual(2000);
    expect(t.told.map((x) => x.evaluation)).toEqual([failed("SHUTDOWN")]);
    await t.after.settle(over(), t.settle);
    expect(t.settled.at(-1)).toBeNull();
  });
  test("the log tells counts and reasons, never a word of the conversation or of its summary", async () => {
    const t = set();
    await t.after.settle(over({ evaluation_wait_seconds: 0 }), t.settle);
    t.waiting[0]?.(99);
    await turnOver();
    expect(t.lines.map((l) => (JSON.parse(l) as { event: string }).event)).toEqual([
      "talk.evaluated",
      "talk.evaluation_added",
    ]);
    expect(t.lines[0]).toContain("OUT_OF_SCALE");
    expect(t.lines.join("")).not.toMatch(/private|How clear/);
  });
});
