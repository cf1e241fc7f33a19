import { randomUUID } from "node:crypto";
import { noFacts, type ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import { OWN_QUEUE, type QueueHead } from "../../../shared/contracts/records/lead.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import { isRecord } from "../../../shared/json.ts";
import { asAdmin, until as untilThere } from "../../../local/harness/stage.ts";
import { claimSeen, dueLead, leadsStage, PHONE, TEMPLATE, type LeadsStage } from "../../fixtures/leads-stage.ts";

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

/** Of a conversation as versions before bounded none: hundreds of kilobytes of words, in two bytes each. */
const LONG_TALK: ConversationFacts = {
  decided: null,
  ended_by: "customer",
  user_turns: 250,
  idle_out: false,
  time_limit: false,
  machine: false,
  message_left: false,
  transcription: Array.from({ length: 80 }, (_, i) => ({ role: "user", content: `${i} ${"é".repeat(1990)}` })),
  node_traversal: ["hello", "bye"],
  variables: { day: "Friday", note: "v".repeat(100_000) },
  errors: [],
};
const codesIn = (errors: unknown): unknown[] =>
  Array.isArray(errors) ? errors.map((e: unknown) => (isRecord(e) ? e["code"] : null)) : [];

describe("a lead with the largest payload, and with more than is kept", () => {
  const HOOK = "https://example.com/hook";
  const get = (lead_id: string) => at.stage.bus.call("leads.get", { by: asAdmin, lead_id });

  /** A lead of the largest payload in its attempt. */
  async function claimed(): Promise<{ lead_id: string; claim_no: number }> {
    const payload = { customer_name: "Ada", customer_mobile_number: PHONE, note: "n".repeat(250_000) };
    const { lead_call_tracker_id } = await at.push({ payload, reporting_webhook_url: HOOK });
    await at.clock.advance(30_000);
    const seen = await dueLead(at.stage, at.clock.now(), lead_call_tracker_id);
    const claim = seen ? await claimSeen(at.stage, seen) : null;
    return { lead_id: lead_call_tracker_id, claim_no: claim?.claim_no ?? 0 };
  }

  test("the end of a long conversation is kept within bounds, whoever sends it: metaData say what is gone; reports and answers are taken", async () => {
    const lease = await claimed();
    const facts = { ...noFacts("completed"), answered_at: until(), ended_at: until(), talk: LONG_TALK };
    const settled = await at.stage.bus.call("leads.settle", { ...lease, facts: { ...facts, talk: { ...LONG_TALK, decided: "confirmed" } } }); // prettier-ignore
    expect(settled).toMatchObject({ done: true, status: "FINISHED" });
    const lead = await get(lease.lead_id);
    expect(bytes(lead)).toBeLessThan(MOST_BYTES);
    expect(lead.metaData).toMatchObject({ variables: { day: "Friday" }, call_ended_by: "customer" });
    expect(codesIn(lead.metaData["errors"])).toEqual(["TRANSCRIPT_CUT", "VARIABLES_CUT"]);
    const lines = lead.metaData["transcription"];
    expect(Array.isArray(lines) && lines.at(-1)).toEqual(LONG_TALK.transcription.at(-1));
    const [report] = await untilThere("the report", () => (at.reports.length > 0 ? at.reports : undefined));
    expect(bytes(report)).toBeLessThan(MOST_BYTES);
    expect(report?.data).toMatchObject({ transcription: lines, variables: { day: "Friday" } });
  });

  test("a lead of an older version with more than a message takes is shown in part, and says what is left out", async () => {
    const meta = {
      transcription: [...LONG_TALK.transcription, ...LONG_TALK.transcription],
      variables: LONG_TALK.variables,
      node_traversal: ["bye"],
      errors: [{ code: "STT_FAILED" }],
    };
    const payload = { customer_name: "Ada", small: 1, large: "x".repeat(300_000), larger: "y".repeat(310_000) };
    const [first = "", second = ""] = await planted([{ meta }, { meta: { drop_reason: "d" }, payload }]);
    const lead = await get(first);
    expect(bytes(lead)).toBeLessThan(MOST_BYTES);
    expect(codesIn(lead.metaData["errors"])).toEqual(["STT_FAILED", "TRANSCRIPT_CUT"]);
    expect(lead.metaData["variables"]).toEqual(meta.variables);
    const other = await get(second);
    expect(bytes(other)).toBeLessThan(MOST_BYTES);
    expect(other.payload).toEqual({ customer_name: "Ada", small: 1, large: payload.large });
    expect(other.metaData).toEqual({ drop_reason: "d", left_out: ["payload.larger"] });
  });

  test("variables of pre-checks are taken as far as there is room; the history names the others", async () => {
    const lease = await claimed();
    const exported = { open_orders: 3, one: "a".repeat(20_000), two: "b".repeat(20_001) };
    await at.stage.bus.call("leads.annotate", { ...lease, exported, pre_check_results: [{ name: "crm", exported }, { name: "erp", detail: "d".repeat(40_000) }] }); // prettier-ignore
    const lead = await get(lease.lead_id);
    expect(lead.payload).toMatchObject({ open_orders: 3, one: exported.one });
    expect(lead.payload["two"]).toBeUndefined();
    expect(lead.metaData["pre_check_results"]).toEqual([
      { name: "crm", exported: ["open_orders", "one", "two"] },
      { name: "erp", detail: "d".repeat(40_000) },
    ]);
    const more = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`v${i}`, "c".repeat(3500)]));
    await at.stage.bus.call("leads.annotate", { ...lease, exported: more });
    expect(bytes((await get(lease.lead_id)).payload)).toBeLessThan(289 * 1024);
    const { events } = await at.stage.bus.call("leads.timeline", { by: asAdmin, lead_id: lease.lead_id });
    const refused = events.flatMap(({ details }) => (Array.isArray(details["not_exported"]) ? details["not_exported"] : [])); // prettier-ignore
    expect(refused).toContain("two");
    expect(refused.length).toBeGreaterThan(1);
  });

  test("a timeline longer than a message begins with how much is left out", async () => {
    const entry = (i: number) => ({ event: "noted", at: new Date(Date.UTC(2026, 0, 1) + i * 1000), details: { i, note: "h".repeat(5000) } }); // prettier-ignore
    const [lead_id = ""] = await planted([{ history: Array.from({ length: 200 }, (_, i) => entry(i)) }]);
    const answer = await at.stage.bus.call("leads.timeline", { by: asAdmin, lead_id });
    expect(bytes(answer)).toBeLessThan(MOST_BYTES);
    const [first, ...rest] = answer.events;
    const shown = rest.filter((e) => e.event === "noted");
    expect(first).toMatchObject({ at: shown[0]?.at, source: "leads", event: "left_out" });
    expect(shown.at(-1)?.details["i"]).toBe(199);
    expect(Number(first?.details["events"]) + rest.length).toBe(201);
    expect(answer.count).toBe(answer.events.length);
  });
});
