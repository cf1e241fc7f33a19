import { randomUUID } from "node:crypto";
import mongoose from "mongoose";
import { MongoClient, type Document } from "mongodb";
import { noFacts } from "../../../shared/contracts/records/attempt.ts";
import { codeOf } from "../../../shared/errors.ts";
import type { DueLead, QueueHead } from "../../../shared/contracts/records/lead.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import { NEVER_AGES } from "../../../services/leads/rules/faults.ts";
import { freshDatabase, until as eventually } from "../../../local/harness/stage.ts";
import { leadsStage, M, QUEUE, R, TEMPLATE, type LeadsStage } from "../../fixtures/leads-stage.ts";
import { played } from "../../fixtures/long-form.ts";
import { needing } from "../../fixtures/database-abilities.ts";

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
const heads = (over: Partial<{ own: boolean; after: string | null; limit: number; until: string }> = {}) =>
  at.stage.bus.call("leads.heads", { until: iso(), own: false, after: null, limit: 1000, ...over });
async function everyHead(own: boolean, limit: number): Promise<QueueHead[]> {
  const all: QueueHead[] = [];
  let after: string | null = null;
  do {
    const page: { heads: QueueHead[]; next: string | null } = await heads({ own, after, limit });
    all.push(...page.heads);
    after = page.next;
  } while (after !== null);
  return all;
}
const dueOf = async (queue: string, limit = 100, ahead_ms = 0): Promise<DueLead[]> =>
  (await at.stage.bus.call("leads.dueOf", { queues: [{ queue, limit }], until: iso(ahead_ms) })).leads;
const claims = (due: DueLead[]) =>
  at.stage.bus.call("leads.claimMany", {
    lease_seconds: 30,
    items: due.map((d) => ({ lead_id: d.lead_id, due_at: d.due_at, claim_no: d.claim_no, attempt: PLAN })),
  });

/** A waiting lead of any queue, put straight into the database: a copy of a pushed one. */
async function planted(some: Partial<LeadDoc>[]): Promise<void> {
  const template = await leads().findOne({ _id: await pushed() });
  await leads().deleteMany({});
  await leads().insertMany(some.map((over) => ({ ...template!, _id: randomUUID(), ...over })));
}

describe("queues", () => {
  test("a lead waits in its template's queue, a playground lead with its own configuration in one of its own, also when a key gave it its id", async () => {
    const plain = await pushed();
    const own = (await at.push({ is_playground: true, configurations_override: { enable_calling: false } }, "key-1"))
      .lead_call_tracker_id;
    const row = (
      await at.pushMany([at.input({ is_playground: true, configurations_override: { enable_calling: true } })], "key-2")
    ).results[0]?.lead_call_tracker_id;
    await at.clock.advance(30_000);
    expect(await everyHead(false, 10)).toEqual([
      {
        queue: QUEUE,
        template_id: TEMPLATE,
        reseller_id: R,
        merchant_id: M,
        due_at: iso(),
        configurations_override: null,
      },
    ]);
    const owned = await everyHead(true, 10);
    expect(owned.map((h) => h.configurations_override)).toEqual(
      expect.arrayContaining([{ enable_calling: false }, { enable_calling: true }]),
    );
    expect(
      (await Promise.all(owned.map((h) => dueOf(h.queue))))
        .flat()
        .map((l) => l.lead_id)
        .sort(),
    ).toEqual([own, row].sort());
    expect((await dueOf(QUEUE)).map((l) => l.lead_id)).toEqual([plain]);
  });

  test("heads come in the order of names, page by page, none twice and none left out", async () => {
    const names = Array.from({ length: 60 }, () => randomUUID());
    const past = at.clock.now();
    await planted([
      ...names.flatMap((name) => [
        { queue: name, template_id: name, due_at: past },
        { queue: name, template_id: name, due_at: new Date(past.getTime() - 5000) },
      ]),
      { queue: randomUUID(), due_at: new Date(past.getTime() + 1) },
    ]);
    for (const limit of [7, 60, 1000]) {
      const all = await everyHead(false, limit);
      expect(all.map((h) => h.queue)).toEqual([...names].sort());
      expect(new Set(all.map((h) => h.due_at))).toEqual(new Set([iso(-5000)]));
    }
    expect(await everyHead(true, 10)).toEqual([]);
  });

  test("each queue gives its longest waiting leads first, as many as asked for, a little ahead where asked to", async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    const t = at.clock.now().getTime();
    await planted(
      [3, 1, 2, -300]
        .map((s) => ({ queue: a, due_at: new Date(t - s * 1000) }))
        .concat([{ queue: b, due_at: new Date(t) }]),
    );
    expect((await dueOf(a)).map((l) => Date.parse(l.due_at) - t)).toEqual([-3000, -2000, -1000]);
    expect(await dueOf(a, 2)).toHaveLength(2);
    expect(await dueOf(a, 10, 300_000)).toHaveLength(4);
    const both = await at.stage.bus.call("leads.dueOf", {
      queues: [
        { queue: b, limit: 1 },
        { queue: a, limit: 1 },
      ],
      until: iso(),
    });
    expect(both.leads.map((l) => l.queue)).toEqual([b, a]);
  });
});

describe("schedulers are told", () => {
  /** The first `n` announcements of these leads; one of an earlier test's may still be on its way. */
  const heard = (n: number, ...ids: (string | undefined)[]) =>
    eventually(`${n} announcements`, () => {
      const told = at.announced.filter(({ lead_id }) => ids.includes(lead_id));
      return told.length >= n ? told : undefined;
    });
  test("of a push, of each queue of a bulk push with what is due first, of a lead given back and of one to be tried again", async () => {
    const id = await pushed();
    expect(await heard(1, id)).toEqual([{ lead_id: id, queue: QUEUE, due_at: iso(30_000) }]);
    const rows = [
      at.input(),
      at.input(),
      at.input({ is_playground: true, configurations_override: { enable_calling: true } }),
      at.input({ payload: { customer_name: "Ada" } }),
    ];
    const { results } = await at.pushMany(rows);
    const told = await heard(2, ...results.map((r) => r.lead_call_tracker_id));
    expect(told.map((t) => [t.lead_id, t.due_at])).toEqual([
      [results[0]?.lead_call_tracker_id, iso(30_000)],
      [results[2]?.lead_call_tracker_id, iso(30_000)],
    ]);
    expect(told[0]?.queue).toBe(QUEUE);
    expect(told[1]?.queue).toContain(results[2]?.lead_call_tracker_id);

    await at.clock.advance(30_000);
    const mine = (await dueOf(QUEUE)).filter((d) => d.lead_id === id);
    await claims(mine);
    await at.stage.bus.call("leads.release", { lead_id: id, claim_no: 1, due_at: iso(), reason: "carrier_limit" });
    expect((await heard(2, id)).at(-1)).toEqual({ lead_id: id, queue: QUEUE, due_at: iso() });
    await claims((await dueOf(QUEUE)).filter((d) => d.lead_id === id));
    await at.stage.bus.call("leads.settle", { lead_id: id, claim_no: 2, facts: noFacts("busy") });
    expect((await heard(3, id)).at(-1)).toEqual({ lead_id: id, queue: QUEUE, due_at: iso(60_000) });
  });
});

needing("plans", () => {
  describe("what reading costs", () => {
    interface Asked {
      filter: Document;
      sort: Record<string, 1 | -1>;
    }
    /** The finds and keys of the index that work looks at, by the database's own account of the very same queries. */
    async function keysOf(work: () => Promise<unknown>): Promise<{ finds: number; keys: number; indexes: string[] }> {
      const asked: Asked[] = [];
      mongoose.set("debug", (_collection: string, method: string, filter: Document, options: Pick<Asked, "sort">) => {
        if (method.startsWith("find")) asked.push({ filter, sort: options.sort });
      });
      try {
        await work();
      } finally {
        mongoose.set("debug", false);
      }
      const plans = await Promise.all(
        asked.map(({ filter, sort }) => leads().find(filter).sort(sort).limit(1).explain("executionStats")),
      );
      return {
        finds: asked.length,
        keys: plans.reduce((n, p) => n + (p["executionStats"] as { totalKeysExamined: number }).totalKeysExamined, 0),
        indexes: [...new Set(plans.map((p) => JSON.stringify(p).match(/"indexName":"(\w+)"/)?.[1] ?? "none"))],
      };
    }
    test("a backlog that is parked for later costs nothing: 20 queues, 5,000 leads to come and 3 that are due", async () => {
      const queues = Array.from({ length: 20 }, () => randomUUID());
      const t = at.clock.now().getTime();
      const parked = Array.from({ length: played(1000, 5000) }, (_, i) => ({
        queue: queues[i % 20]!,
        due_at: new Date(t + 3_600_000 + i),
      }));
      await planted([...parked, ...queues.slice(4, 7).map((queue) => ({ queue, due_at: new Date(t) }))]);
      let found: QueueHead[] = [];
      const cost = await keysOf(async () => {
        found = await everyHead(false, 1000);
      });
      expect(found.map((h) => h.queue)).toEqual(queues.slice(4, 7).sort());
      expect(cost.indexes).toEqual(["due_by_queue"]);
      expect(cost.finds).toBeLessThanOrEqual(16 + 3);
      // One key for each queue that is passed by, a step more for each find: nothing for the leads in them.
      expect(cost.keys).toBeLessThanOrEqual(2 * 20 + 2 * cost.finds);
    });
    test("expiry costs nothing for leads that don't expire: 20 templates, 5,000 young or parked leads and 3 that are old", async () => {
      const templates = Array.from({ length: 20 }, () => randomUUID()).sort();
      const t = at.clock.now().getTime();
      const others = Array.from({ length: played(1000, 5000) }, (_, i) => ({
        template_id: templates[i % 20]!,
        expiry_from: i % 2 === 0 ? new Date(t) : NEVER_AGES,
      }));
      const old = Array.from({ length: 3 }, () => ({ template_id: templates[4]!, expiry_from: new Date(t - 60_001) }));
      await planted([...others, ...old]);
      const read = await keysOf(() => at.stage.bus.call("leads.aging", { after: null, limit: 500 }));
      // the last find meets nothing, by whichever index
      expect([read.indexes[0], read.finds, read.keys <= 3 * 21]).toEqual(["expiry_by_template", 21, true]);
      const created_before = new Date(t - 60_000).toISOString();
      const expire = { template_id: templates[4]!, created_before, reason: "x", limit: 500 };
      const ended = await keysOf(() => at.stage.bus.call("leads.expire", expire));
      expect([ended.indexes[0], await leads().countDocuments({ outcome: "EXPIRED" })]).toEqual([
        "expiry_by_template",
        3,
      ]);
      const again = await keysOf(() => at.stage.bus.call("leads.expire", expire));
      expect(again.keys).toBeLessThanOrEqual(2);
    });
  });
});

describe("a folder of an older version", () => {
  test("is taken over: waiting leads get a queue, and those that were in a call get theirs when they wait again", async () => {
    const [waiting, called] = [await pushed(), await pushed()];
    const old = await leads().find().toArray();
    const database = await freshDatabase();
    const client = await MongoClient.connect(database.uri);
    const there = client.db().collection<LeadDoc>("leads");
    await there.insertMany(old.map(({ queue: _queue, pre_check_defers: _defers, ...lead }) => lead as LeadDoc));
    const { due_at } = (await there.findOne({ _id: called }))!;
    await there.updateOne(
      { _id: called },
      {
        $set: {
          status: "PROCESSING",
          claim_no: 1,
          attempt_count: 1,
          lease_until: new Date(Date.now() + 1e9),
          attempt: { ...PLAN, claimed_at: due_at! },
        },
        $unset: { due_at: 1 },
      },
    );

    const later = await leadsStage({ MONGODB_URI: database.uri });
    try {
      const { bus } = later.stage;
      later.clock.set(at.clock.now());
      await later.clock.advance(30_000);
      const until = (): string => later.clock.now().toISOString();
      const head = await eventually("the lead to have a queue", async () => {
        await later.clock.advance(2000);
        return (await bus.call("leads.heads", { until: until(), own: false, after: null, limit: 10 })).heads[0];
      });
      expect(head).toMatchObject({ template_id: TEMPLATE, merchant_id: M });
      await bus.call("leads.settle", { lead_id: called, claim_no: 1, facts: noFacts("no_answer") });
      await later.clock.advance(60_000);
      const due = (await bus.call("leads.dueOf", { queues: [{ queue: head.queue, limit: 10 }], until: until() })).leads;
      expect(due.map((d) => d.lead_id)).toEqual([waiting, called]);
      expect(
        (
          await bus.call("leads.claimMany", {
            lease_seconds: 30,
            items: due.map((d) => ({ lead_id: d.lead_id, due_at: d.due_at, claim_no: d.claim_no, attempt: PLAN })),
          })
        ).claimed,
      ).toMatchObject([
        { lead_id: waiting, claim_no: 1, pre_check_defers: {} },
        { lead_id: called, claim_no: 2 },
      ]);
    } finally {
      await later.stop();
      await client.close();
      await database.drop();
    }
  });
  test("unknown queues have no leads", async () => {
    expect(await dueOf("nobody")).toEqual([]);
    await expect(
      heads({ limit: 0 }).catch((error: unknown) => Promise.reject(new Error(codeOf(error)))),
    ).rejects.toThrow("VALIDATION");
  });
});
