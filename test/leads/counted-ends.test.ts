import { randomUUID } from "node:crypto";
import { pino } from "pino";
import type { Model } from "mongoose";
import { summaryOf, GROUPING, type Group } from "../../services/leads/lists/lead-summary.ts";
import { documentOf } from "../../services/leads/push/lead-document.ts";
import { leadSchema, type LeadDoc } from "../../services/leads/leads.model.ts";
import { leadsRepository } from "../../services/leads/leads.repository.ts";
import { agedLeads } from "../../services/leads/retention/aged-leads.ts";
import { leadCounterSchema, type LeadCounterDoc } from "../../services/leads/retention/lead-counters.model.ts";
import { leadCountersRepository } from "../../services/leads/retention/lead-counters.repository.ts";
import { endAged, type RetentionDeps } from "../../services/leads/retention/retention-run.ts";
import { NO_DAYS, retentionSchema } from "../../services/leads/retention/retentions.model.ts";
import { retentionsRepository } from "../../services/leads/retention/retentions.repository.ts";
import { WHOLE_SCOPE } from "../../shared/contracts/records/identity.ts";
import { openStore } from "../../shared/database/mongo.ts";
import { freshDatabase } from "../../local/harness/stage.ts";
import { leadInput, M, R, resolvedTemplate } from "../fixtures/leads-stage.ts";
import { virtualClock, type VirtualClock } from "../fixtures/virtual-clock.ts";
import { played } from "../fixtures/long-form.ts";

/** Leads that end by their age are counted exactly once, wherever a process dies, and whoever goes on meanwhile. */
const DAY_MS = 86_400_000;
const LEADS = 120; // three batches
const OUTCOMES = ["confirmed", "no_answer", "declined"] as const;
const SET_BY = { kind: "user", id: "u", role: "reseller" } as const;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: ReturnType<typeof openStore>;
let model: Model<LeadDoc>;
let counted: Model<LeadCounterDoc>;
let clock: VirtualClock;
let from: Date;

beforeAll(async () => {
  database = await freshDatabase();
  store = openStore(database.uri);
  model = store.model("leads", leadSchema);
  counted = store.model("lead_counters", leadCounterSchema);
  await store.open();
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

const retentions = () => retentionsRepository(store.model("retentions", retentionSchema));
const counters = () => leadCountersRepository(counted);

/** What a process does, whose writes go through `step`. */
function processOf(step: (name: string, write: () => Promise<unknown>) => Promise<unknown> = (_, write) => write()) {
  const stepped = <A extends unknown[], B>(name: string, write: (...args: A) => Promise<B>) => {
    return async (...args: A): Promise<B> => {
      let answer: { of: B } | undefined;
      await step(name, async () => void (answer = { of: await write(...args) }));
      if (!answer) throw new Error(`${name} was not done`);
      return answer.of;
    };
  };
  const aged = agedLeads(model);
  const kept = retentions();
  const bus = { call: async (name: string) => (name === "auth.recordRun" ? {} : { ended: {}, waiting: [] }) };
  return {
    bus: bus as unknown as RetentionDeps["bus"],
    clock,
    log: pino({ level: "silent" }),
    metrics: { count: () => undefined } as unknown as RetentionDeps["metrics"],
    leads: leadsRepository(model, { base64url: () => randomUUID() }),
    holds: { among: async () => () => false },
    erasures: { underWay: async () => new Set() },
    aged: { ...aged, remove: stepped("remove", aged.remove) },
    counters: { add: stepped("add", counters().add) },
    retentions: { ...kept, progress: stepped("progress", kept.progress) },
  } satisfies RetentionDeps;
}

beforeEach(async () => {
  clock = virtualClock();
  await Promise.all([model.deleteMany({}), counted.deleteMany({}), store.model("retentions", retentionSchema).deleteMany({})]); // prettier-ignore
  from = new Date(Math.floor((clock.now().getTime() - 60 * DAY_MS) / DAY_MS) * DAY_MS);
  const docs = Array.from({ length: LEADS }, (_, i) => {
    const created_at = new Date(from.getTime() + (i % 3) * DAY_MS + i * 60_000);
    const input = { ...leadInput(), request_id: `order-${i}` };
    const doc = documentOf(randomUUID(), M, input, { ...resolvedTemplate, initial_offset: null }, null, created_at);
    const { outbox: _outbox, outbox_at: _owed, ...lead } = { ...doc, outbox_at: undefined, outbox: undefined };
    return {
      ...lead,
      status: "FINISHED",
      is_test: i % 10 === 9,
      outcome: OUTCOMES[i % 3],
      finished_at: created_at,
      attempt_count: 1 + (i % 2),
      answered_count: i % 2,
      talk_seconds: (i % 2) * 30,
      costs: { "1": 0.5, "2": 0.25 },
      meta: i % 20 === 0 ? { do_not_call: true } : {},
    };
  });
  await model.insertMany(docs);
  await retentions().set({ _id: R, days: { ...NO_DAYS, leads_days: 30 }, set_by: SET_BY, updated_at: clock.now(), due_at: clock.now() }); // prettier-ignore
});

/** The figures as analytics give them: of leads that there are, and of those that are gone. */
async function figures() {
  const period = { from, to: clock.now() };
  const live = await leadsRepository(model, { base64url: () => "" }).figures<Group>(
    WHOLE_SCOPE,
    period,
    GROUPING,
    5000,
  );
  const gone = await counters().figures(WHOLE_SCOPE, period, 1000, 5000);
  const { from: _from, to: _to, by_status, ...sums } = summaryOf([...live, ...gone], period, "USD");
  return { ...sums, by_status, by_outcome: Object.entries(sums.by_outcome).sort() };
}

/** Lets processes that don't die do what is due. */
async function finish(): Promise<void> {
  for (let turns = 0; turns < 50 && (await model.countDocuments({})) > 0; turns++) {
    await clock.advance(121_000);
    await endAged(processOf());
  }
  await clock.advance(121_000);
  await endAged(processOf());
}

test("figures of a period are the same before and after its leads have ended", async () => {
  const before = await figures();
  expect(before).toMatchObject({ leads: 108, cost: 81, do_not_call: 6 });
  await finish();
  expect(await model.countDocuments({})).toBe(0);
  expect(await figures()).toEqual(before);
  const days = await counted.distinct("day", {});
  expect(days.map((day) => (new Date(day).getTime() - from.getTime()) / DAY_MS).sort()).toEqual([0, 1, 2]);
});

/** A process that dies at its n-th write: before it, or behind it. */
class Killed extends Error {}
test.each(["before", "behind"] as const)(
  "a process that dies %s any of its writes leaves figures that are right when another one has gone on",
  async (when) => {
    const before = await figures();
    let alive = false;
    for (let n = 1; !alive; n += played(4, 1)) {
      let writes = 0;
      const dying = processOf(async (_, write) => {
        writes += 1;
        if (when === "before" && writes === n) throw new Killed();
        await write();
        if (writes === n) throw new Killed();
      });
      const leads = await model.find({}).lean();
      await clock.advance(121_000);
      alive = await endAged(dying).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof Killed)) throw error;
          return false;
        },
      );
      await finish();
      expect(await figures()).toEqual(before);
      // again from the beginning, over the counters that there are
      await Promise.all([model.deleteMany({}), counted.deleteMany({})]);
      await model.insertMany(leads);
      await retentions().set({ _id: R, days: { ...NO_DAYS, leads_days: 30 }, set_by: SET_BY, updated_at: clock.now(), due_at: clock.now() }); // prettier-ignore
      expect(n).toBeLessThan(40);
    }
  },
);

test.each(["add", "remove"])(
  "a process that stands still before it may %s, and goes on when another one is done, counts nothing twice",
  async (where) => {
    const before = await figures();
    let go: () => void = () => undefined;
    const stands = new Promise<void>((resolve) => (go = resolve));
    let reached: () => void = () => undefined;
    const isThere = new Promise<void>((resolve) => (reached = resolve));
    const slow = endAged(
      processOf(async (name, write) => {
        if (name === where) {
          reached();
          await stands;
        }
        await write();
      }),
    );
    await isThere;
    await finish();
    expect(await figures()).toEqual(before);
    go();
    await slow;
    expect(await figures()).toEqual(before);
  },
);

test("periods that are taken away in the middle of a fold leave it to be finished, and then nothing is due", async () => {
  const before = await figures();
  const dying = processOf(async (name, write) => {
    if (name === "remove") throw new Killed();
    await write();
  });
  await expect(endAged(dying)).rejects.toThrow(Killed);
  await retentions().set({ _id: R, days: NO_DAYS, set_by: SET_BY, updated_at: clock.now() });
  await endAged(processOf());
  expect([await model.countDocuments({}), (await retentions().find(R))?.due_at]).toEqual([LEADS - 50, undefined]);
  expect(await figures()).toEqual(before);
});
