import { randomUUID } from "node:crypto";
import { OWN_QUEUE, type QueueHead } from "../../../shared/contracts/records/lead.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import { leadsStage, TEMPLATE, type LeadsStage } from "../../fixtures/leads-stage.ts";

/** What any answer stays below. */
const MOST_BYTES = 512 * 1024;
const LARGE = { note: "n".repeat(250_000) };

let at: LeadsStage;
beforeAll(async () => {
  at = await leadsStage();
});
afterAll(() => at.stop());
beforeEach(async () => {
  await at.db.collection<LeadDoc>("leads").deleteMany({});
});

const until = (): string => at.clock.now().toISOString();
const bytes = (answer: unknown): number => Buffer.byteLength(JSON.stringify(answer));

/** Waiting leads, put straight into the database: copies of a pushed one. */
async function planted(some: Partial<LeadDoc>[]): Promise<string[]> {
  const leads = at.db.collection<LeadDoc>("leads");
  const _id = (await at.push()).lead_call_tracker_id;
  const like = await leads.findOneAndDelete({ _id });
  const docs = some.map((over) => ({ ...like!, _id: randomUUID(), due_at: at.clock.now(), ...over }));
  await leads.insertMany(docs);
  return docs.map((d) => d._id);
}
/** Playground leads with a large configuration of their own, as they were taken before that was bounded. */
const plantedOwn = (count: number): Promise<string[]> =>
  planted(
    Array.from({ length: count }, () => {
      const _id = randomUUID();
      return { _id, queue: OWN_QUEUE + _id, configurations_override: LARGE };
    }),
  );

test("due queues come in messages that the bus takes, with large overrides in them or by reference", async () => {
  const ids = await plantedOwn(5);
  for (const by_reference of [undefined, true]) {
    const all: QueueHead[] = [];
    for (let after: string | null = null, first = true; first || after !== null; first = false) {
      const page: { heads: QueueHead[]; next: string | null } = await at.stage.bus.call("leads.heads", {
        until: until(),
        own: true,
        after,
        limit: 1000,
        ...(by_reference ? { by_reference } : {}),
      });
      expect(bytes(page)).toBeLessThan(MOST_BYTES);
      all.push(...page.heads);
      after = page.next;
    }
    expect(all.map((h) => h.queue)).toEqual(ids.map((id) => OWN_QUEUE + id).sort());
    expect(all.map((h) => h.configurations_override)).toEqual(all.map(() => (by_reference ? null : LARGE)));
    if (by_reference) expect(all.map((h) => h.override_of)).toEqual([...ids].sort());
  }
  expect(await at.stage.bus.call("leads.overrideOf", { lead_id: ids[0] ?? "" })).toEqual({ override: LARGE });
  expect(await at.stage.bus.call("leads.overrideOf", { lead_id: randomUUID() })).toEqual({ override: null });
});

test("due leads by reference come queue by queue, as many as a message takes", async () => {
  const names = [randomUUID(), randomUUID(), randomUUID()];
  await planted(names.flatMap((queue) => Array.from({ length: 450 }, () => ({ queue, template_id: TEMPLATE }))));
  const own = await plantedOwn(3);
  const queues = [...own.map((id) => OWN_QUEUE + id), ...names].map((queue) => ({ queue, limit: 450 }));
  const found: string[] = [];
  for (let rest = queues; rest.length > 0;) {
    const answer = await at.stage.bus.call("leads.dueOf", { queues: rest, until: until(), by_reference: true });
    expect(bytes(answer)).toBeLessThan(MOST_BYTES);
    expect(answer.leads.map((l) => l.override_of)).toEqual(
      answer.leads.map((l) => (own.includes(l.lead_id) ? l.lead_id : undefined)),
    );
    found.push(...answer.leads.map((l) => l.queue ?? ""));
    expect(answer.read).toBeGreaterThan(0);
    rest = rest.slice(answer.read);
  }
  expect(found).toEqual(
    queues.flatMap(({ queue }) => (queue.startsWith(OWN_QUEUE) ? [queue] : Array.from({ length: 450 }, () => queue))),
  );
});
