import { randomUUID } from "node:crypto";
import { createPeers } from "../../../services/dialer/peers.ts";
import { endedByAgent, noFacts } from "../../../shared/contracts/records/attempt.ts";
import { callRef } from "../../../shared/ids.ts";
import { jsonBytes } from "../../../shared/json.ts";
import { boundedTalk } from "../../../shared/talk-bounds.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { asAdmin, until } from "../../../local/harness/stage.ts";
import { at, delivery, KIB, largestStage, lead, merchant, MOST_BYTES, R, stamps, TEMPLATE, wide, type LargestStage } from "../../fixtures/bus/largest-stage.ts"; // prettier-ignore
import type { FlowNode } from "../../../shared/contracts/flow/flow-node.ts";

/** The largest answers and requests beside the pages of lists (largest-pages.test.ts) that stored data can give, over a real server. */
const TEST_MS = 120_000;
const by = asAdmin;
let it: LargestStage;
beforeAll(async () => {
  it = await largestStage();
}, TEST_MS);
afterAll(() => it?.stop());

test("a lead's deliveries: the newest of them, as many as a message takes", async () => {
  const docs = Array.from({ length: 100 }, (_, i) => ({ _id: randomUUID(), ...delivery(i) }));
  await it.planted("deliveries", docs);
  const { deliveries } = await it.small("webhook.deliveries", { lead_id: TEMPLATE });
  expect(deliveries.length).toBeGreaterThan(5);
  expect(deliveries.map((d) => d.id)).toEqual(
    docs
      .slice(0, deliveries.length)
      .map((d) => d._id)
      .reverse(),
  );
});

test("sums over more templates and outcome words than a message takes: those with most leads are listed, the totals are of all", async () => {
  const word = (t: number, w: number): string => `w${"o".repeat(50)}_${t}_${w}`;
  const counted = (t: number, w: number) => ({ ...lead(0), _id: randomUUID(), template_id: `${t}-${TEMPLATE}`.slice(0, 36), template: wide(200), outcome: word(t, w), answered_count: 0, talk_seconds: 0, costs: {}, created_at: new Date() }); // prettier-ignore
  const docs = Array.from({ length: 200 }, (_, t) => Array.from({ length: 20 }, (_word, w) => counted(t, w))).flat();
  await it.planted("leads", docs);
  const sums = await it.small("leads.summary", { by });
  expect(sums.leads).toBe(docs.length);
  expect(Object.keys(sums.by_outcome)).toHaveLength(1000);
  expect(sums.templates.length).toBeGreaterThan(50);
  expect(sums.templates.every((t) => t.leads === 20 && Object.keys(t.by_outcome).length === 20)).toBe(true);
});

test("a thousand paused merchants with the longest reasons: every one of them is told", async () => {
  const docs = Array.from({ length: 1000 }, (_, i) => ({ _id: randomUUID(), ...merchant(i) }));
  await it.planted("merchants", docs);
  const merchant_ids = docs.map((d) => d._id);
  const { merchants: paused } = await it.small("merchants.pauses", { merchant_ids });
  expect(paused.map((m) => m.id).sort()).toEqual([...merchant_ids].sort());
});

describe("leads of a template that takes nothing else than a name", () => {
  const hook = "http://127.0.0.1:9/hook";
  let template_id = "";
  const largest = { customer_mobile_number: "+14155552601", note: "n".repeat(255 * KIB) };
  const row = (payload: Record<string, unknown>) => ({ request_id: "r", template_id, reseller_id: R, payload, reporting_webhook_url: hook }); // prettier-ignore

  beforeAll(async () => {
    const hello: FlowNode = { name: "a", say: "Hello.", on_enter: [{ type: "end_call" }] };
    const template = { reseller_id: R, name: "t", initial_node: "a", nodes: [hello] };
    const payload_schema = { type: "object", properties: { note: { type: "string" } }, additionalProperties: false };
    await it.planted("resellers", [{ _id: R, name: "r", name_key: "r", is_active: true, ...stamps(0) }]);
    template_id = (await it.stage.bus.call("config.createTemplate", { by, template: { ...template, payload_schema } }))
      .id;
  });

  test("a batch whose every field is wrong is refused row by row", async () => {
    const fields = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`field_${i}`, i]));
    const rows = Array.from({ length: 50 }, () => row(fields));
    const { results } = await it.small("leads.pushMany", { by, rows });
    expect(results.map((r) => r.code)).toEqual(rows.map(() => "PAYLOAD_INVALID"));
    expect(results.every((r) => (r.errors?.length ?? 0) > 10 && r.errors?.at(-1)?.message.endsWith("more are not listed"))).toBe(true); // prettier-ignore
  });

  test("a thousand leads that are not there are aborted, with the longest ids and reasons a body holds", async () => {
    const asked = Array.from({ length: 1000 }, () => ({ lead_id: wide(30), cancellation_reason: "r" }));
    expect((await it.small("leads.abort", { by, leads: asked })).leads).toHaveLength(1000);
  });

  test("the largest lead: its conversation's end, its record and its report are taken, and so is the preparation of its call", async () => {
    const { lead_call_tracker_id: lead_id } = await it.stage.bus.call("leads.push", { by, lead: row(largest) });
    const attempt = { number_id: TEMPLATE, provider: "PROVIDER_ONE", template_version: 1, policy: { max_retry: 0, retry_offset: 0, retry_on: [] }, claimed_at: new Date() }; // prettier-ignore
    await it.db.collection<{ _id: string }>("leads").updateOne(
      { _id: lead_id },
      { $set: { status: "PROCESSING", claim_no: 1, attempt_count: 1, attempt, lease_until: new Date(Date.now() + 60_000) }, $unset: { due_at: 1 } },
    ); // prettier-ignore
    const name = "n".repeat(64);
    const talk = boundedTalk({
      ...endedByAgent(name),
      user_turns: 500,
      transcription: Array.from({ length: 500 }, () => ({ role: "user", content: wide(2000) })),
      node_traversal: Array.from({ length: 500 }, () => name),
      variables: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`v${i}`, wide(300)])),
      errors: Array.from({ length: 50 }, () => ({ code: name, node: name, detail: wide(500) })),
    });
    const pre_check_results = Array.from({ length: 10 }, () => ({
      name: wide(200),
      exported: { v: "x".repeat(3000) },
    }));
    const evaluation = { trace_scores: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`${name}${i}`, 1])), summary: wide(2000), errors: [] }; // prettier-ignore
    const facts = { ...noFacts("completed"), answered_at: at(1).toISOString(), ended_at: at(0).toISOString(), talk, pre_check_results, evaluation }; // prettier-ignore
    expect(jsonBytes(facts)).toBeLessThan(MOST_BYTES);
    expect(jsonBytes(facts)).toBeGreaterThan(256 * KIB);
    expect(await it.stage.bus.call("leads.settle", { lead_id, claim_no: 1, facts })).toMatchObject({ done: true, outcome: name }); // prettier-ignore
    const shown = await it.small("leads.get", { by, lead_id });
    expect(shown.payload["note"]).toBe(largest.note);
    const body = await until("the report", async () => (await it.db.collection<{ _id: string; body: string }>("deliveries").findOne({ _id: `msg_${lead_id}` }))?.body); // prettier-ignore
    expect(body.length).toBeLessThan(MOST_BYTES);
    expect(body).toContain('"TRANSCRIPT_CUT"');
    await it.small("leads.timeline", { by, lead_id });
  });

  test("preparations of many calls with the largest payloads, asked for at once, each get their answer", async () => {
    const peers = createPeers(it.stage.bus, 30, systemClock);
    const call = (n: number) => ({ call_ref: callRef(randomUUID(), 1), lead_id: randomUUID(), claim_no: 1, provider: "PROVIDER_ONE" as const, template_id, template_version: 1, voicemail_action: "hangup" as const, carrier: "none", engine: null, record: false, payload: { ...largest, n }, max_call_seconds: 60, ttl_seconds: 60 }); // prettier-ignore
    const prepared = await Promise.all(Array.from({ length: 20 }, (_, n) => peers.prepareConversation(call(n))));
    expect(prepared.map((p) => p.token)).toEqual(Array.from({ length: 20 }, (_, n) => String(n)));
  });
});
