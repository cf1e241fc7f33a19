import {
  noFacts,
  type AttemptFacts,
  type Evaluation,
  type ConversationFacts,
} from "../../../shared/contracts/records/attempt.ts";
import type { WebhookEvent } from "../../../shared/contracts/webhook.ts";
import { asMerchant, until } from "../../../local/harness/stage.ts";
import { claimSeen, dueLead, leadsStage, M, R, type LeadsStage } from "../../fixtures/leads-stage.ts";

let it: LeadsStage;
beforeAll(async () => {
  it = await leadsStage();
});
afterAll(() => it.stop());

const by = asMerchant(R, M);
const SCORES = { politeness: 8, clarity: 3.5 };
const FAILED = { code: "EVALUATION_FAILED", reason: "OUT_OF_SCALE", evaluator: "mood" };
const talk: ConversationFacts = {
  decided: null,
  ended_by: "customer",
  user_turns: 1,
  idle_out: false,
  time_limit: false,
  machine: false,
  message_left: false,
  transcription: [{ role: "user", content: "yes" }],
  node_traversal: ["ask"],
  variables: {},
  errors: [],
};
const facts = (over: Partial<AttemptFacts> = {}): AttemptFacts => ({
  ...noFacts("completed"),
  answered_at: "2026-11-21T10:00:00.000Z",
  ended_at: "2026-11-21T10:00:42.000Z",
  talk,
  ...over,
});
const evaluation = (over: Partial<Evaluation> = {}): Evaluation => ({
  trace_scores: SCORES,
  summary: "They said yes.",
  errors: [],
  ...over,
});

async function claimed(over: object = {}): Promise<{ lead_id: string; claim_no: number }> {
  const { lead_call_tracker_id: lead_id } = await it.push(over);
  await it.clock.advance(30_000);
  const lead = await claimSeen(it.stage, (await dueLead(it.stage, it.clock.now(), lead_id))!);
  return { lead_id, claim_no: lead!.claim_no };
}
const record = (lead_id: string) => it.stage.bus.call("leads.get", { by, lead_id });
const settle = (baton: { lead_id: string; claim_no: number }, of: AttemptFacts) =>
  it.stage.bus.call("leads.settle", { ...baton, facts: of });

describe("what a model made of a talk", () => {
  test("that came in time is settled with it, and told by the webhook", async () => {
    const baton = await claimed({ reporting_webhook_url: "https://x.example/" });
    await settle(baton, facts({ evaluation: evaluation({ errors: [FAILED] }) }));
    expect(await record(baton.lead_id)).toMatchObject({
      status: "FINISHED",
      outcome: "customer_hangup",
      trace_scores: SCORES,
      metaData: { summary: "They said yes.", evaluation_errors: [FAILED], errors: [] },
    });
    const report = await until("the report", () => it.reports.find((r: WebhookEvent) => r.lead_id === baton.lead_id));
    expect(report.data).toMatchObject({ trace_scores: SCORES, metaData: { summary: "They said yes." } });
  });
  test("that comes later is added, twice the same, and changes neither state nor outcome", async () => {
    const baton = await claimed();
    await settle(baton, facts());
    const before = await record(baton.lead_id);
    expect(before.trace_scores).toEqual({});
    expect(before.metaData).not.toHaveProperty("summary");
    for (let times = 0; times < 2; times++)
      expect(await it.stage.bus.call("leads.annotate", { ...baton, evaluation: evaluation() })).toEqual({ done: true });
    const after = await record(baton.lead_id);
    expect({ ...after, updated_at: "" }).toEqual({
      ...before,
      updated_at: "",
      trace_scores: SCORES,
      metaData: { ...before.metaData, summary: "They said yes." },
    });
  });
  test("the history tells scores, never a word of the summary", async () => {
    const baton = await claimed();
    await settle(baton, facts({ evaluation: evaluation({ trace_scores: {} }) }));
    await it.clock.advance(1000);
    await it.stage.bus.call("leads.annotate", { ...baton, evaluation: evaluation({ errors: [FAILED] }) });
    const { events } = await it.stage.bus.call("leads.timeline", { by, lead_id: baton.lead_id });
    expect(events.at(-1)).toMatchObject({
      event: "noted",
      details: { evaluation: { trace_scores: SCORES, summary: true, evaluation_errors: 1 } },
    });
    expect(events.find((e) => e.event === "finished")?.details).toMatchObject({
      evaluation: { trace_scores: {}, summary: true },
    });
    expect(JSON.stringify(events)).not.toContain("said yes");
  });
  test("a later talk takes the place of an earlier one whole; an attempt without a talk leaves it", async () => {
    const first = await claimed();
    const dropped: ConversationFacts = { ...talk, user_turns: 0, transcription: [] };
    await settle(
      first,
      facts({ ended_at: "2026-11-21T10:00:02.000Z", talk: dropped, evaluation: evaluation({ errors: [FAILED] }) }),
    );
    expect(await record(first.lead_id)).toMatchObject({ status: "RETRY", trace_scores: SCORES });
    await it.clock.advance(60_000);
    const second = await claimSeen(it.stage, (await dueLead(it.stage, it.clock.now(), first.lead_id))!);
    expect(
      await it.stage.bus.call("leads.annotate", { ...first, evaluation: evaluation({ trace_scores: { late: 1 } }) }),
    ).toEqual({ done: false });
    await settle({ lead_id: first.lead_id, claim_no: second!.claim_no }, facts());
    const after = await record(first.lead_id);
    expect([after.status, after.trace_scores]).toEqual(["FINISHED", {}]);
    expect(Object.keys(after.metaData)).not.toEqual(expect.arrayContaining(["summary"]));
    expect(after.metaData).not.toHaveProperty("evaluation_errors");
  });
  test("an attempt that nobody answered leaves the judgement of the talk before", async () => {
    const first = await claimed();
    await settle(
      first,
      facts({ ended_at: "2026-11-21T10:00:02.000Z", talk: { ...talk, user_turns: 0 }, evaluation: evaluation() }),
    );
    await it.clock.advance(60_000);
    const second = await claimSeen(it.stage, (await dueLead(it.stage, it.clock.now(), first.lead_id))!);
    await settle({ lead_id: first.lead_id, claim_no: second!.claim_no }, noFacts("no_answer"));
    expect(await record(first.lead_id)).toMatchObject({
      outcome: "no_answer",
      trace_scores: SCORES,
      metaData: { summary: "They said yes." },
    });
  });
});
