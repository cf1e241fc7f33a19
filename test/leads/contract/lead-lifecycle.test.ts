import leads from "../../../services/leads/leads.service.ts";
import { noFacts } from "../../../shared/contracts/records/attempt.ts";
import { fail } from "../../../shared/errors.ts";
import { asAdmin, asMerchant, asReseller, setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { resolvesPushes } from "../../fixtures/push-resolution.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { claimSeen, dueLead, dueNow, M, PHONE, R, resolvedTemplate, TEMPLATE } from "../../fixtures/leads-stage.ts";

const clock = virtualClock();
const enqueued: { lead_id: string; data: Record<string, unknown> }[] = [];
let stage: Stage;

beforeAll(async () => {
  stage = await setStage({
    clock,
    services: [
      leads,
      standIn(
        "config",
        resolvesPushes(({ template_id, payload }) => {
          if (template_id !== TEMPLATE) fail("TEMPLATE_UNKNOWN", "no such template");
          if (payload["customer_name"] === undefined) fail("PAYLOAD_INVALID", "customer_name is missing");
          return resolvedTemplate;
        }),
      ),
      standIn("blacklist", { check: ({ pairs }) => ({ listed: pairs.map((p) => p.phone_number.endsWith("99")) }) }),
      standIn("webhook", {
        checkAddresses: ({ urls }) => ({
          refusals: urls.map((url) => (url.startsWith("http") ? null : "it is not a URL")),
        }),
        enqueueMany({ reports }) {
          enqueued.push(...reports.map(({ lead_id, data }) => ({ lead_id, data })));
          return { delivery_ids: reports.map(({ lead_id }) => `msg_${lead_id}`) };
        },
      }),
      standIn("dialer", { reconcile: () => ({ verdict: "never_dialled" }) }),
    ],
  });
});
afterAll(() => stage.stop());

const by = asMerchant(R, M);
const input = (over: object = {}) => ({
  request_id: "order-1",
  template_id: TEMPLATE,
  reseller_id: R,
  merchant_id: M,
  payload: { customer_mobile_number: PHONE, customer_name: "Ada" },
  ...over,
});
const push = async (over: object = {}): Promise<string> =>
  (await stage.bus.call("leads.push", { by, lead: input(over) })).lead_call_tracker_id;
const get = (lead_id: string) => stage.bus.call("leads.get", { by: asAdmin, lead_id });
const dueOf = (lead_id: string) => dueLead(stage, clock.now(), lead_id);
async function claim(lead_id: string) {
  const due = await dueOf(lead_id);
  return due ? claimSeen(stage, due) : null;
}

describe("push", () => {
  test("a lead is queued, due after the initial offset, its number normalised", async () => {
    const id = await push({ payload: { customer_mobile_number: "+1 (415) 555-2601", customer_name: "Ada" } });
    expect(await get(id)).toMatchObject({
      id,
      status: "BACKLOG",
      attempt_count: 0,
      template: "order-confirmation",
      request_id: "order-1",
      payload: { customer_mobile_number: PHONE },
      execution_mode: "TELEPHONY",
      call_direction: "OUTBOUND",
    });
    expect(await dueOf(id)).toBeUndefined();
    await clock.advance(30_000);
    expect(await dueOf(id)).toMatchObject({ phone_number: PHONE, claim_no: 0 });
  });
  test("a missing number is accepted and rests in BACKLOG; the message says so", async () => {
    const answer = await stage.bus.call("leads.push", { by, lead: input({ payload: { customer_name: "Ada" } }) });
    expect(answer.message).toContain("customer_mobile_number");
    await clock.advance(60_000);
    expect(await dueOf(answer.lead_call_tracker_id)).toBeUndefined();
  });
  test.each([
    ["no number", "12345"],
    ["not text", 14155552601],
    ["empty", ""],
    ["null", null],
  ])("a number that is none (%s) is refused", async (_n, value) => {
    await expect(push({ payload: { customer_mobile_number: value, customer_name: "Ada" } })).rejects.toMatchObject({
      type: "INVALID_PHONE_NUMBER",
    });
  });
  test.each<[string, object, string]>([
    [
      "blacklisted",
      { payload: { customer_mobile_number: "+14155552699", customer_name: "Ada" } },
      "NUMBER_BLACKLISTED",
    ],
    ["unknown template", { template_id: "nope" }, "TEMPLATE_UNKNOWN"],
    ["payload fault", { payload: { customer_mobile_number: PHONE } }, "PAYLOAD_INVALID"],
    ["foreign reseller", { reseller_id: M }, "FORBIDDEN"],
    ["foreign merchant", { merchant_id: R }, "FORBIDDEN"],
    ["bad webhook", { reporting_webhook_url: "nope" }, "WEBHOOK_ADDRESS_REFUSED"],
    ["unknown mode", { execution_mode: "FAX" }, "VALIDATION_ERROR"],
  ])("%s is refused and nothing is stored", async (_n, over, type) => {
    const before = (await stage.bus.call("leads.list", { by: asAdmin, limit: 500 })).count;
    await expect(push(over)).rejects.toMatchObject({ type });
    expect((await stage.bus.call("leads.list", { by: asAdmin, limit: 500 })).count).toBe(before);
  });
  test("a field that a later version's gateway lets through is passed over", async () => {
    expect(await get(await push({ status: "FINISHED" }))).toMatchObject({ status: "BACKLOG" });
  });
  test("hostile payload keys are stored inert", async () => {
    const payload = JSON.parse(
      '{"customer_mobile_number":"+14155552601","customer_name":"Ada","$where":"1","a.b":2,"__proto__":{"polluted":true},"constructor":"x"}',
    ) as Record<string, unknown>;
    const id = await push({ payload });
    expect((await get(id)).payload).toMatchObject({ $where: "1", "a.b": 2, constructor: "x" });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("claim and settle", () => {
  test("of two claims one wins, and the loser gets null", async () => {
    const id = await push();
    await clock.advance(30_000);
    const due = await dueOf(id);
    const claims = await Promise.all(Array.from({ length: 10 }, () => claimSeen(stage, due!)));
    expect(claims.filter((c) => c !== null)).toHaveLength(1);
    expect(await get(id)).toMatchObject({ status: "PROCESSING", attempt_count: 1 });
  });
  test("no answer is retried once, then the lead finishes; each settle works once", async () => {
    const id = await push({ reporting_webhook_url: "https://x.example/" });
    await clock.advance(30_000);
    const first = await claim(id);
    const facts = noFacts("no_answer");
    expect(await stage.bus.call("leads.settle", { lead_id: id, claim_no: first!.claim_no, facts })).toEqual({
      done: true,
      status: "RETRY",
      outcome: null,
    });
    expect(await stage.bus.call("leads.settle", { lead_id: id, claim_no: first!.claim_no, facts })).toMatchObject({
      done: false,
    });
    expect(await dueOf(id)).toBeUndefined();
    await clock.advance(60_000);
    const second = await claim(id);
    expect(second).toMatchObject({ claim_no: 2, attempt_count: 2 });
    expect(await stage.bus.call("leads.settle", { lead_id: id, claim_no: first!.claim_no, facts })).toMatchObject({
      done: false,
    });
    expect(await stage.bus.call("leads.settle", { lead_id: id, claim_no: 2, facts })).toEqual({
      done: true,
      status: "FINISHED",
      outcome: "no_answer",
    });
    await until("its report", () => enqueued.find((e) => e.lead_id === id && e.data["outcome"] === "no_answer"));
  });
  test("a lead given back has spent no attempt", async () => {
    const id = await push();
    await clock.advance(30_000);
    const claimed = await claim(id);
    expect(
      await stage.bus.call("leads.release", {
        lead_id: id,
        claim_no: claimed!.claim_no,
        due_at: clock.now().toISOString(),
        reason: "dialler_busy",
      }),
    ).toEqual({ done: true });
    expect(await get(id)).toMatchObject({ status: "BACKLOG", attempt_count: 0 });
    expect(await claim(id)).toMatchObject({ claim_no: 2, attempt_count: 1 });
  });
  test("facts that come late are noted whatever the status", async () => {
    const id = await push();
    await clock.advance(30_000);
    const claimed = await claim(id);
    await stage.bus.call("leads.settle", {
      lead_id: id,
      claim_no: claimed!.claim_no,
      facts: { ...noFacts("invalid_number"), call_id: null },
    });
    expect(
      await stage.bus.call("leads.annotate", { lead_id: id, claim_no: claimed!.claim_no, call_id: "CA1", cost: 0.013 }),
    ).toEqual({ done: true });
    expect(await get(id)).toMatchObject({ status: "FINISHED", outcome: "INVALID_NUMBER", call_id: "CA1", cost: 0.013 });
  });
});

describe("abort", () => {
  const abort = async (ids: string[], who: Parameters<typeof stage.bus.call<"leads.abort">>[1]["by"] = by) =>
    (
      await stage.bus.call("leads.abort", {
        by: who,
        leads: ids.map((lead_id) => ({ lead_id, cancellation_reason: "changed my mind" })),
      })
    ).leads;
  test("mixed results, in order", async () => {
    const [waiting, running, unknown] = [
      await push({ reporting_webhook_url: "https://x.example/" }),
      await push(),
      "33333333-3333-4333-8333-333333333333",
    ];
    await clock.advance(30_000);
    await claim(running);
    expect((await abort([waiting, running, unknown, "nonsense", waiting])).map((l) => l.status).slice(0, 4)).toEqual([
      "success",
      "processing",
      "error",
      "error",
    ]);
    expect((await abort([waiting]))[0]?.status).toBe("already_aborted");
    expect(await get(waiting)).toMatchObject({
      status: "FINISHED",
      outcome: "ABORTED",
      metaData: { cancellation: { reason: "changed my mind" } },
    });
    await until("the report of the abort", () => enqueued.find((e) => e.lead_id === waiting));
  });
  test("somebody else's lead reads like an unknown one", async () => {
    const id = await push();
    const [foreign] = await abort([id], asReseller("44444444-4444-4444-8444-444444444444"));
    const [unknown] = await abort(["33333333-3333-4333-8333-333333333333"]);
    expect(foreign?.message).toBe(unknown?.message);
  });
  test("races of abort against claim: exactly one wins, every time", async () => {
    const ids = await Promise.all(Array.from({ length: 100 }, () => push()));
    await clock.advance(30_000);
    const dues = new Map((await dueNow(stage, clock.now())).map((l) => [l.lead_id, l]));
    const results = await Promise.all(
      ids.map(async (id) => {
        const due = dues.get(id)!;
        const [aborted, claimed] = await Promise.all([abort([id]), claimSeen(stage, due)]);
        return { aborted: aborted[0]?.status, claimed: claimed !== null };
      }),
    );
    for (const r of results)
      expect([r.aborted === "success", r.claimed]).toEqual(r.claimed ? [false, true] : [true, false]);
  });
});

describe("reading", () => {
  test("a lead is read by its own tenant only", async () => {
    const id = await push({ request_id: "order-read" });
    await expect(stage.bus.call("leads.get", { by: asReseller(M), lead_id: id })).rejects.toMatchObject({
      type: "LEAD_NOT_FOUND",
    });
    await expect(
      stage.bus.call("leads.byRequest", { by: asReseller(M), request_id: "order-read" }),
    ).rejects.toMatchObject({ type: "LEAD_NOT_FOUND" });
    expect(await stage.bus.call("leads.byRequest", { by, request_id: "order-read" })).toMatchObject({
      count: 1,
      leads: [{ id, status: "BACKLOG" }],
    });
  });
  test("pages do not repeat or skip while leads come in", async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { leads: { id: string }[]; next_cursor: string | null } = await stage.bus.call("leads.list", {
        by: asAdmin,
        limit: 40,
        ...(cursor ? { cursor } : {}),
      });
      seen.push(...page.leads.map((l) => l.id));
      await clock.advance(1);
      await push();
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThan(100);
  });
  test("test runs are left out unless asked for", async () => {
    await push({ request_id: "pg", is_playground: true });
    const shown = (await stage.bus.call("leads.list", { by: asAdmin, limit: 1 })).leads[0];
    expect(shown?.request_id).not.toBe("pg");
  });
});
