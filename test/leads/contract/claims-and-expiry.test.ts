import { randomUUID } from "node:crypto";
import type { DueLead } from "../../../shared/contracts/records/lead.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import { leadsStage, TEMPLATE, type LeadsStage } from "../../fixtures/leads-stage.ts";

let at: LeadsStage;
const leads = () => at.db.collection<LeadDoc>("leads");
const PLAN = {
  number_id: TEMPLATE,
  provider: "PROVIDER_ONE" as const,
  template_version: 1,
  policy: { max_retry: 1, retry_offset: 60, retry_on: null },
};

beforeAll(async () => {
  at = await leadsStage();
});
afterAll(() => at.stop());
beforeEach(async () => {
  await leads().deleteMany({});
});

const iso = (ms = 0): string => new Date(at.clock.now().getTime() + ms).toISOString();
const pushed = async (over: object = {}): Promise<string> => (await at.push(over)).lead_call_tracker_id;
const dueOf = async (queue: string, limit = 100, ahead_ms = 0): Promise<DueLead[]> =>
  (await at.stage.bus.call("leads.dueOf", { queues: [{ queue, limit }], until: iso(ahead_ms) })).leads;
const claims = (due: DueLead[]) =>
  at.stage.bus.call("leads.claimMany", {
    lease_seconds: 30,
    items: due.map((d) => ({ lead_id: d.lead_id, due_at: d.due_at, claim_no: d.claim_no, attempt: PLAN })),
  });

describe("claiming many", () => {
  test("of two callers with the same leads each lead goes to one; answers are in order, nulls where the race was lost", async () => {
    for (let i = 0; i < 50; i++) await pushed();
    await at.clock.advance(30_000);
    const due = await dueOf(TEMPLATE);
    const [forward, backward] = await Promise.all([claims(due), claims(due.toReversed())]);
    const mine = forward.claimed.map((c) => c?.lead_id ?? null);
    const others = backward.claimed.map((c) => c?.lead_id ?? null).toReversed();
    due.forEach((d, i) => expect([mine[i], others[i]].filter((id) => id !== null)).toEqual([d.lead_id]));
    expect(await leads().countDocuments({ status: "PROCESSING", attempt_count: 1, claim_no: 1 })).toBe(50);
    expect(await at.stage.bus.call("leads.inFlight", {})).toEqual({
      total: 50,
      templates: [{ template_id: TEMPLATE, count: 50 }],
    });
  });
  test("a lead named twice is claimed once; one that is not due yet, or was seen otherwise, not at all", async () => {
    await pushed();
    const [early] = await dueOf(TEMPLATE, 1, 30_000);
    expect((await claims([early!])).claimed).toEqual([null]);
    await at.clock.advance(30_000);
    expect((await claims([{ ...early!, claim_no: 1 }])).claimed).toEqual([null]);
    expect((await claims([early!, early!])).claimed.map((c) => c !== null)).toEqual([true, false]);
    expect((await claims([])).claimed).toEqual([]);
  });
});

describe("expiry", () => {
  test("waiting leads from before then end EXPIRED and owe their report; calls under way, newer ones and other templates' do not", async () => {
    const old = [
      await pushed({ reporting_webhook_url: "https://x.example/" }),
      await pushed({ payload: { customer_name: "Ada" } }),
    ];
    const called = await pushed();
    await at.clock.advance(30_000);
    await claims((await dueOf(TEMPLATE)).filter((d) => d.lead_id === called));
    await planted1(old[0]!);
    const before = iso();
    await at.clock.advance(1);
    const fresh = await pushed();
    const expire = (limit: number) =>
      at.stage.bus.call("leads.expire", {
        template_id: TEMPLATE,
        created_before: before,
        reason: "not dialled within 3600 seconds",
        limit,
      });
    expect(await expire(1)).toEqual({ expired: 1 });
    expect(await expire(500)).toEqual({ expired: 1 });
    expect(await expire(500)).toEqual({ expired: 0 });
    const after = new Map((await leads().find().toArray()).map((d) => [d._id, d]));
    for (const id of old)
      expect(after.get(id)).toMatchObject({
        status: "FINISHED",
        outcome: "EXPIRED",
        meta: { drop_reason: "not dialled within 3600 seconds" },
      });
    expect([called, fresh].map((id) => after.get(id)?.status)).toEqual(["PROCESSING", "BACKLOG"]);
    expect([...after.values()].filter((d) => d.template_id !== TEMPLATE).map((d) => d.status)).toEqual(["BACKLOG"]);
  });
  const planted1 = async (like: string): Promise<void> => {
    await leads().insertOne({
      ...(await leads().findOne({ _id: like }))!,
      _id: randomUUID(),
      template_id: randomUUID(),
    });
  };
});
