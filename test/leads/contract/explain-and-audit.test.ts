import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { asAdmin, asMerchant, asReseller } from "../../../local/harness/stage.ts";
import {
  claimSeen,
  dueLead,
  leadsStage,
  M,
  NOBODY,
  PHONE,
  R,
  TEMPLATE,
  type LeadsStage,
} from "../../fixtures/leads-stage.ts";

let it: LeadsStage;
beforeAll(async () => {
  it = await leadsStage();
});
afterAll(() => it.stop());

const by = asMerchant(R, M);
const timeline = async (lead_id: string) => (await it.stage.bus.call("leads.timeline", { by, lead_id })).events;
const claim = async (lead_id: string) =>
  (await claimSeen(it.stage, (await dueLead(it.stage, it.clock.now(), lead_id))!))!;

describe("explain", () => {
  test("hands the lead as it is to the scheduler's gates, whatever its status, and at the instant asked for", async () => {
    const { lead_call_tracker_id: id } = await it.push();
    it.explained.length = 0;
    expect(await it.stage.bus.call("leads.explain", { by, lead_id: id })).toMatchObject({
      lead_id: id,
      status: "BACKLOG",
      summary: "it waits",
    });
    await it.clock.advance(30_000);
    const { claim_no } = await claim(id);
    await it.stage.bus.call("leads.release", {
      lead_id: id,
      claim_no,
      due_at: it.clock.now().toISOString(),
      reason: "busy",
    });
    await it.stage.bus.call("leads.explain", { by, lead_id: id.toUpperCase(), at: "2026-11-22T10:00:00.000Z" });
    await it.stage.bus.call("leads.abort", { by, leads: [{ lead_id: id, cancellation_reason: "enough" }] });
    await it.stage.bus.call("leads.explain", { by, lead_id: id });
    expect(it.explained).toMatchObject([
      {
        lead: {
          lead_id: id,
          status: "BACKLOG",
          held: null,
          claim_no: 0,
          phone_number: PHONE,
          template_id: TEMPLATE,
          configurations_override: null,
        },
      },
      {
        at: "2026-11-22T10:00:00.000Z",
        lead: {
          status: "BACKLOG",
          claim_no: 1,
          due_at: it.clock.now().toISOString(),
          held: { why: "busy", until: it.clock.now().toISOString() },
        },
      },
      { lead: { status: "FINISHED", outcome: "ABORTED", due_at: null } },
    ]);
    expect(it.explained[0]).not.toHaveProperty("at");
  });
});

describe("what is asked of others", () => {
  test("calls and deliveries come in", async () => {
    const { lead_call_tracker_id: id } = await it.push();
    const time = it.clock.now().toISOString();
    it.calls.calls.push({
      call_ref: `${id}.1`,
      claim_no: 1,
      state: "RINGING",
      provider: "PROVIDER_ONE",
      call_id: "CA9",
      intended_at: time,
      placed_at: time,
      ringing_at: time,
      answered_at: null,
      joined_at: null,
      ended_at: null,
      closed_at: null,
      ended: null,
      cause: null,
      machine: null,
      hang_up: null,
      talk_seconds: null,
      cost: null,
      cost_currency: null,
    });
    it.deliveries.push({
      id: `msg_${id}`,
      lead_id: id,
      url: "https://x.example/",
      state: "pending",
      next_try_at: time,
      tries: [],
      created_at: time,
    });
    expect((await timeline(id)).map((e) => `${e.source}:${e.event}`)).toEqual([
      "leads:queued",
      "dialer:dial_intended",
      "dialer:placed",
      "carrier:ringing",
      "webhook:report_queued",
    ]);
  });
  test.each(["timeline", "explain", "join", "speak"] as const)(
    "leads.%s of a foreign lead reads like that of none",
    async (action) => {
      const { lead_call_tracker_id: mine } = await it.push();
      const ask = (who: Parameters<typeof it.stage.bus.call<"leads.get">>[1]["by"], lead_id: string) =>
        it.stage.bus
          .call(`leads.${action}`, { by: who, lead_id, ...(action === "speak" ? { text: "hello" } : {}) } as never)
          .then(
            () => "answered",
            (error: unknown) => [(error as { type: string }).type, (error as Error).message],
          );
      const unknown = await ask(asAdmin, NOBODY);
      expect(unknown).toEqual(["LEAD_NOT_FOUND", expect.any(String)]);
      expect([
        await ask(asReseller(NOBODY), mine),
        await ask(asMerchant(R, NOBODY), mine),
        await ask(asAdmin, "nonsense"),
      ]).toEqual([unknown, unknown, unknown]);
      expect(await ask(by, mine)).toEqual(
        action === "timeline" || action === "explain" ? "answered" : ["WRONG_MODE", expect.any(String)],
      );
    },
  );
});

describe("aborts are in the audit log", () => {
  const abort = (ids: string[], who: Parameters<typeof it.stage.bus.call<"leads.abort">>[1]["by"] = by) =>
    it.stage.bus.call("leads.abort", {
      by: who,
      leads: ids.map((lead_id) => ({ lead_id, cancellation_reason: "stop" })),
    });
  test("once for a request, with the ids and what became of all", async () => {
    const ids = await Promise.all(Array.from({ length: 3 }, async () => (await it.push()).lead_call_tracker_id));
    it.audited.length = 0;
    await abort([...ids, NOBODY]);
    expect(it.audited).toEqual([
      {
        by,
        action: "lead.aborted",
        subject: "leads:3",
        reseller_id: R,
        merchant_id: M,
        details: {
          lead_ids: expect.arrayContaining(ids),
          aborted: 3,
          requested: 4,
          statuses: { success: 3, error: 1 },
        },
      },
    ]);
    it.audited.length = 0;
    await abort(ids);
    expect(it.audited).toEqual([]);
  });
  test("an admin's, for each reseller concerned, under the lead's id when it is one", async () => {
    const own = (await it.push()).lead_call_tracker_id;
    const other = (await it.stage.bus.call("leads.push", { by: asAdmin, lead: it.input({ reseller_id: NOBODY }) }))
      .lead_call_tracker_id;
    it.audited.length = 0;
    await abort([own, other], asAdmin);
    expect(it.audited.map((a) => [a.subject, a.reseller_id]).sort()).toEqual(
      [
        [own, R],
        [other, NOBODY],
      ].sort(),
    );
  });
});
