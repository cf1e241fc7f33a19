import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { noFacts } from "../../../shared/contracts/records/attempt.ts";
import { asMerchant } from "../../../local/harness/stage.ts";
import { claimSeen, dueLead, leadsStage, M, PHONE, R, type LeadsStage } from "../../fixtures/leads-stage.ts";

let it: LeadsStage;
beforeAll(async () => {
  it = await leadsStage();
});
afterAll(() => it.stop());

const by = asMerchant(R, M);
const timeline = async (lead_id: string) => (await it.stage.bus.call("leads.timeline", { by, lead_id })).events;
const claim = async (lead_id: string) =>
  (await claimSeen(it.stage, (await dueLead(it.stage, it.clock.now(), lead_id))!))!;

describe("a lead's history", () => {
  test("is written by every move, with its time", async () => {
    const { lead_call_tracker_id: id } = await it.push();
    await it.clock.advance(30_000);
    const first = await claim(id);
    await it.stage.bus.call("leads.release", {
      lead_id: id,
      claim_no: first.claim_no,
      due_at: it.clock.now().toISOString(),
      reason: "dialler_busy",
    });
    const second = await claim(id);
    await it.stage.bus.call("leads.annotate", { lead_id: id, claim_no: second.claim_no, call_id: "CA1" });
    await it.stage.bus.call("leads.settle", {
      lead_id: id,
      claim_no: second.claim_no,
      facts: { ...noFacts("no_answer"), call_id: "CA1" },
    });
    await it.stage.bus.call("leads.abort", { by, leads: [{ lead_id: id, cancellation_reason: "enough" }] });
    const events = await timeline(id);
    expect(events.map((e) => e.event)).toEqual([
      "queued",
      "claimed",
      "claimed",
      "noted",
      "given_back",
      "retry",
      "aborted",
    ]);
    expect(events.find((e) => e.event === "retry")?.details).toMatchObject({
      claim_no: 2,
      outcome: "no_answer",
      call_id: "CA1",
    });
    expect(events.at(-1)?.details).toEqual({ reason: "enough", by: `s2s:${by.id}` });
  });
  test("keeps the newest 200 moves, and weighs on nothing else", async () => {
    const { lead_call_tracker_id: id } = await it.push();
    await it.clock.advance(30_000);
    const { claim_no } = await claim(id);
    for (let i = 0; i < 210; i++) await it.stage.bus.call("leads.annotate", { lead_id: id, claim_no, cost: i });
    const events = await timeline(id);
    expect([events.length, events[0]?.event, events.at(-1)?.details]).toEqual([201, "queued", { claim_no, cost: 209 }]);
    expect(JSON.stringify(await it.stage.bus.call("leads.get", { by, lead_id: id }))).not.toContain("noted");
  });
});

describe("pre-checks", () => {
  const results = (at: string) => [
    { name: "crm.open", at, verdict: "failed", detail: "status 503" },
    { name: "hours", verdict: "passed" },
  ];
  test("put a lead off, are counted by name and told at their time, each once", async () => {
    const { lead_call_tracker_id: id } = await it.push();
    await it.clock.advance(30_000);
    for (const times of [1, 2]) {
      const { claim_no, pre_check_defers } = await claim(id);
      expect(pre_check_defers).toEqual(times === 1 ? {} : { "crm.open": 1 });
      const ran = it.clock.now().toISOString();
      await it.clock.advance(200);
      await it.stage.bus.call("leads.annotate", { lead_id: id, claim_no, pre_check_results: results(ran) });
      await it.stage.bus.call("leads.release", {
        lead_id: id,
        claim_no,
        due_at: it.clock.now().toISOString(),
        reason: "x",
        pre_check: { name: "crm.open", results: results(ran) },
      });
      await it.clock.advance(1);
    }
    const lead = await it.stage.bus.call("leads.get", { by, lead_id: id });
    expect(lead).toMatchObject({
      status: "BACKLOG",
      attempt_count: 0,
      metaData: { pre_check_results: [{ name: "crm.open" }, { name: "hours" }] },
    });
    const events = await timeline(id);
    expect(events.map((e) => e.event)).toEqual([
      "queued",
      "claimed",
      "pre_checked",
      "pre_checked",
      "given_back",
      "claimed",
      "pre_checked",
      "pre_checked",
      "given_back",
    ]);
    expect(events[2]).toEqual({
      at: events[1]?.at,
      source: "dialer",
      event: "pre_checked",
      details: { claim_no: 1, name: "crm.open", at: events[1]?.at, verdict: "failed", detail: "status 503" },
    });
    expect(events.at(-1)?.details).toMatchObject({ claim_no: 2, why: "pre_check:crm.open" });
    expect((await claim(id)).pre_check_defers).toEqual({ "crm.open": 2 });
  });
  test("give variables to the payload, but never the number or the address of the report, and no paths", async () => {
    const { lead_call_tracker_id: id } = await it.push({ reporting_webhook_url: "https://x.example/" });
    await it.clock.advance(30_000);
    const { claim_no } = await claim(id);
    const exported = JSON.parse(
      '{"open_orders":3,"customer_mobile_number":"+14155552699","reporting_webhook_url":"http://evil.example/","a.b":1,"$set":1,"__proto__":{"x":1},"nul":{"a\\u0000b":1}}',
    ) as Record<string, unknown>;
    expect(await it.stage.bus.call("leads.annotate", { lead_id: id, claim_no, exported })).toEqual({ done: true });
    expect((await it.stage.bus.call("leads.get", { by, lead_id: id })).payload).toEqual({
      customer_mobile_number: PHONE,
      customer_name: "Ada",
      reporting_webhook_url: "https://x.example/",
      open_orders: 3,
    });
    const told = (await timeline(id)).find((e) => e.event === "noted")?.details;
    expect(told).toMatchObject({
      claim_no,
      exported: ["open_orders"],
      not_exported: expect.arrayContaining(["customer_mobile_number", "reporting_webhook_url", "a.b", "$set", "nul"]),
    });
    await it.stage.bus.call("leads.release", {
      lead_id: id,
      claim_no,
      due_at: it.clock.now().toISOString(),
      reason: "busy",
    });
    expect((await claim(id)).payload).toMatchObject({ open_orders: 3, customer_mobile_number: PHONE });
  });
  test("the cost of an attempt that comes when the next one has begun is kept, and nothing else of it", async () => {
    const { lead_call_tracker_id: id } = await it.push();
    await it.clock.advance(30_000);
    await claim(id);
    await it.stage.bus.call("leads.settle", {
      lead_id: id,
      claim_no: 1,
      facts: { ...noFacts("no_answer"), call_id: "CA1" },
    });
    await it.clock.advance(60_000);
    await claim(id);
    expect(
      await it.stage.bus.call("leads.annotate", { lead_id: id, claim_no: 1, cost: 0.01, call_id: "late" }),
    ).toEqual({ done: true });
    expect(await it.stage.bus.call("leads.annotate", { lead_id: id, claim_no: 1, call_id: "late" })).toEqual({
      done: false,
    });
    expect(await it.stage.bus.call("leads.get", { by, lead_id: id })).toMatchObject({
      cost: 0.01,
      call_id: "CA1",
      status: "PROCESSING",
    });
  });
});
