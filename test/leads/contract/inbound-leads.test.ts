import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import leads from "../../../services/leads/leads.service.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { noFacts, type AttemptFacts } from "../../../shared/contracts/records/attempt.ts";
import type { Verdict } from "../../../shared/contracts/dialer.ts";
import { asMerchant, setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { dueNow, keepsReports, M, PHONE, R, TEMPLATE } from "../../fixtures/leads-stage.ts";

const clock = virtualClock();
const reports: { lead_id: string; url: string; data: Record<string, unknown> }[] = [];
let verdict: Verdict = { verdict: "never_dialled" };
let stage: Stage;
beforeAll(async () => {
  stage = await setStage({
    clock,
    services: [
      leads,
      standIn("dialer", { reconcile: () => verdict, history: () => ({ calls: [], carrier_events: [] }) }),
      standIn("auth", { record: () => ({}) }),
      standIn("webhook", {
        deliveries: () => ({ deliveries: [] }),
        enqueueMany: keepsReports(reports),
      }),
    ],
  });
});
afterAll(() => stage.stop());
beforeEach(() => {
  verdict = { verdict: "never_dialled" };
});

const by = asMerchant(R, M);
const OURS = "+14155550100";
const received = (over: Partial<ParamsOf<"leads.receive">> = {}): ParamsOf<"leads.receive"> => ({
  lead_id: randomUUID(),
  call_id: "CA1",
  provider: "PROVIDER_ONE",
  number_id: randomUUID(),
  reseller_id: R,
  merchant_id: M,
  template_id: TEMPLATE,
  template: "hotline",
  template_version: 3,
  from: PHONE,
  to: OURS,
  reporting_webhook_url: null,
  lease_seconds: 30,
  ...over,
});
const receive = (p: ParamsOf<"leads.receive">) => stage.bus.call("leads.receive", p);
const get = (lead_id: string) => stage.bus.call("leads.get", { by, lead_id });
const settle = (lead_id: string, facts: AttemptFacts) =>
  stage.bus.call("leads.settle", { lead_id, claim_no: 1, facts });
const names = async (lead_id: string) =>
  (await stage.bus.call("leads.timeline", { by, lead_id })).events.map((e) => e.event);

/** The caller hung up before we answered. */
const LEFT: AttemptFacts = { ...noFacts("completed"), hangup_source: { by: "callee", reason: null } };

describe("a call of somebody to us", () => {
  test("is a lead in its only attempt, once however often it is told", async () => {
    const p = received();
    expect(await receive(p)).toEqual({ lead_id: p.lead_id, claim_no: 1, made: true });
    expect(await receive(p)).toEqual({ lead_id: p.lead_id, claim_no: 1, made: false });
    expect(await get(p.lead_id)).toMatchObject({
      status: "PROCESSING",
      call_direction: "INBOUND",
      execution_mode: "TELEPHONY",
      attempt_count: 1,
      call_id: "CA1",
      request_id: "inbound:CA1",
      template: "hotline",
      outbound_number_id: p.number_id,
      merchant_id: M,
      payload: { caller_number: PHONE, called_number: OURS },
    });
    expect(await names(p.lead_id)).toEqual(["received"]);
    expect((await stage.bus.call("leads.list", { by, phone: PHONE })).leads.map((l) => l.id)).toEqual([p.lead_id]);
  });

  test.each(["no_answer", "busy", "failed"] as const)(
    "is never due and never tried again, even after %s",
    async (ended) => {
      const { lead_id } = await receive(received());
      expect(await settle(lead_id, noFacts(ended))).toMatchObject({ done: true, status: "FINISHED" });
      expect((await dueNow(stage, new Date(clock.now().getTime() + 86_400_000))).map((l) => l.lead_id)).not.toContain(
        lead_id,
      );
    },
  );

  test("can't be given back nor aborted", async () => {
    const { lead_id } = await receive(received());
    expect(
      await stage.bus.call("leads.release", { lead_id, claim_no: 1, due_at: clock.now().toISOString(), reason: "x" }),
    ).toEqual({ done: false });
    const {
      leads: [answer],
    } = await stage.bus.call("leads.abort", { by, leads: [{ lead_id, cancellation_reason: "x" }] });
    expect(answer?.status).toBe("processing");
    expect((await get(lead_id)).status).toBe("PROCESSING");
  });

  test("with a withheld number is a lead like others, without a number", async () => {
    const { lead_id } = await receive(received({ from: null }));
    expect(await get(lead_id)).toMatchObject({ payload: { caller_number: null, called_number: OURS } });
    expect(await settle(lead_id, LEFT)).toMatchObject({
      status: "FINISHED",
      outcome: "customer_hangup",
    });
  });

  test("reports to the configuration's webhook", async () => {
    const { lead_id } = await receive(received({ reporting_webhook_url: "https://shop.example/in" }));
    await settle(lead_id, { ...noFacts("completed"), answered_at: clock.now().toISOString() });
    const report = await until("the report", async () => {
      await clock.advance(2000);
      return reports.find((r) => r.lead_id === lead_id);
    });
    expect(report).toMatchObject({
      url: "https://shop.example/in",
      data: { status: "FINISHED", lead_call_tracker_id: lead_id },
    });
  });

  test("is explained as what it is", async () => {
    const { lead_id } = await receive(received());
    const explain = () => stage.bus.call("leads.explain", { by, lead_id });
    expect(await explain()).toMatchObject({
      status: "PROCESSING",
      eligible: false,
      next_eligible_at: null,
      summary: expect.stringMatching(/inbound.*under way/),
    });
    await settle(lead_id, LEFT);
    expect((await explain()).summary).toMatch(/inbound.*finished \(customer_hangup\)/);
  });
});

describe("a holder that goes silent", () => {
  test("before the call was written down leaves a failed lead, not one that is dialled", async () => {
    const { lead_id } = await receive(received());
    const over = await until("the end of the lead", async () => {
      await clock.advance(5000);
      const lead = await get(lead_id);
      return lead.status === "FINISHED" ? lead : undefined;
    });
    expect(over).toMatchObject({ outcome: "failed", metaData: { errors: [{ code: "INBOUND_LOST" }] } });
    expect(await names(lead_id)).toEqual(["received", "holder_silent", "finished"]);
  });

  test("with a live call keeps the lead", async () => {
    verdict = { verdict: "live", lease_seconds: 300 };
    const { lead_id } = await receive(received());
    await until("the sweep", async () => {
      await clock.advance(5000);
      return (await names(lead_id)).includes("holder_silent") || undefined;
    });
    expect((await get(lead_id)).status).toBe("PROCESSING");
  });
});
