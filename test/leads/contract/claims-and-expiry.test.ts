import { randomUUID } from "node:crypto";
import type { DueLead } from "../../../shared/contracts/records/lead.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import { leadsStage, QUEUE, TEMPLATE, type LeadsStage } from "../../fixtures/leads-stage.ts";

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
    const due = await dueOf(QUEUE);
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
    const [early] = await dueOf(QUEUE, 1, 30_000);
    expect((await claims([early!])).claimed).toEqual([null]);
    await at.clock.advance(30_000);
    expect((await claims([{ ...early!, claim_no: 1 }])).claimed).toEqual([null]);
    expect((await claims([early!, early!])).claimed.map((c) => c !== null)).toEqual([true, false]);
    expect((await claims([])).claimed).toEqual([]);
  });
});

const expire = (created_before: string, limit = 500) =>
  at.stage.bus.call("leads.expire", {
    template_id: TEMPLATE,
    created_before,
    reason: "not dialled within 3600 seconds",
    limit,
  });
/** A lead of another template like a pushed one, put straight into the database. */
async function planted(like: string, over: Partial<LeadDoc> = {}): Promise<LeadDoc> {
  const doc = { ...(await leads().findOne({ _id: like }))!, _id: randomUUID(), template_id: randomUUID(), ...over };
  await leads().insertOne(doc);
  return doc;
}

describe("expiry", () => {
  test("waiting leads from before then end EXPIRED and owe their report; calls under way, newer ones and other templates' do not", async () => {
    const old = [
      await pushed({ reporting_webhook_url: "https://x.example/" }),
      await pushed({ payload: { customer_name: "Ada" }, execution_mode: "RTC" }),
    ];
    const called = await pushed();
    await at.clock.advance(30_000);
    await claims((await dueOf(QUEUE)).filter((d) => d.lead_id === called));
    const { _id: other } = await planted(old[0]!);
    const before = iso();
    await at.clock.advance(1);
    const fresh = await pushed();
    expect(await expire(before, 1)).toEqual({ expired: 1 });
    expect(await expire(before)).toEqual({ expired: 1 });
    expect(await expire(before)).toEqual({ expired: 0 });
    const after = new Map((await leads().find().toArray()).map((d) => [d._id, d]));
    for (const id of old)
      expect(after.get(id)).toMatchObject({
        status: "FINISHED",
        outcome: "EXPIRED",
        meta: { drop_reason: "not dialled within 3600 seconds" },
      });
    expect([called, fresh, other].map((id) => after.get(id)?.status)).toEqual(["PROCESSING", "BACKLOG", "BACKLOG"]);
  });

  test("a lead whose payload has no customer_mobile_number, or misspells it, stays in BACKLOG however old it is", async () => {
    const without = [
      await pushed({ payload: { customer_name: "Ada" } }),
      await pushed({ payload: { customer_name: "Ada", customer_mobil_number: "+14155552601" } }),
    ];
    const neighbour = await pushed();
    await at.clock.advance(365 * 86_400_000);
    expect(await expire(iso())).toEqual({ expired: 1 });
    const after = new Map((await leads().find().toArray()).map((d) => [d._id, d]));
    expect([...without, neighbour].map((id) => [after.get(id)?.status, after.get(id)?.outcome])).toEqual([
      ["BACKLOG", null],
      ["BACKLOG", null],
      ["FINISHED", "EXPIRED"],
    ]);
  });
});

describe("templates with unfinished leads", () => {
  const aging = (after: string | null = null, limit = 500) => at.stage.bus.call("leads.aging", { after, limit });

  test("are read page by page with the age of their oldest lead that ages, finished ones left out", async () => {
    const first = await pushed();
    const began = iso();
    await at.clock.advance(1000);
    const young = await pushed();
    const others = [await planted(young), await planted(young)];
    await planted(first, { status: "FINISHED", finished_at: new Date() });
    const all = [{ template_id: TEMPLATE, expiry_from: began }, ...others.map((d) => ({ template_id: d.template_id, expiry_from: iso() }))]
      .sort((a, b) => (a.template_id < b.template_id ? -1 : 1)); // prettier-ignore
    expect(await aging()).toEqual({ templates: all, next: null });
    const pages = [await aging(null, 2), await aging(all[1]!.template_id, 2)];
    expect(pages).toEqual([
      { templates: all.slice(0, 2), next: all[1]!.template_id },
      { templates: all.slice(2), next: null },
    ]);
  });

  test("that a version before wrote are taken over: parked leads and those without a number don't expire, the others do", async () => {
    const like = await pushed();
    const template_id = randomUUID();
    const old = async (over: Partial<LeadDoc>): Promise<string> => {
      const { _id } = await planted(like, { template_id, ...over });
      await leads().updateOne({ _id }, { $unset: { expiry_from: 1 } });
      return _id;
    };
    const aged_from = new Date(at.clock.now().getTime() - 50_000);
    const parked_at = new Date();
    const ids = [
      await old({}),
      await old({ aged_from }),
      await old({ phone_number: null }),
      await old({ faults: { count: 5, code: "TIMEOUT", since: parked_at, parked_at } }),
    ];
    await leads().deleteOne({ _id: like });
    expect(await aging()).toEqual({ templates: [{ template_id, expiry_from: aged_from.toISOString() }], next: null });
    const after = new Map((await leads().find().toArray()).map((d) => [d._id, d.expiry_from?.toISOString()]));
    expect(ids.map((id) => after.get(id))).toEqual([iso(), aged_from.toISOString(), ...Array<string>(2).fill("9999-12-31T00:00:00.000Z")]); // prettier-ignore
  });
});
