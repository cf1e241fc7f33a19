import { randomUUID } from "node:crypto";
import type { Model } from "mongoose";
import { pino } from "pino";
import { eventCursors, eventCursorSchema, type EventCursors } from "../../../shared/database/event-cursor.ts";
import { logEntrySchema, type LogEntry } from "../../../services/leads/events/event-log.model.ts";
import { eventLog, type EventLog } from "../../../services/leads/events/event-log.repository.ts";
import { createPublisher, type Publisher } from "../../../services/leads/events/publisher.ts";
import { documentOf } from "../../../services/leads/push/lead-document.ts";
import { leadSchema, type LeadDoc } from "../../../services/leads/leads.model.ts";
import { leadsRepository, type LeadsRepository } from "../../../services/leads/leads.repository.ts";
import { abort } from "../../../services/leads/rules/lead-state-machine.ts";
import { openStore } from "../../../shared/database/mongo.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { freshDatabase } from "../../../local/harness/stage.ts";
import { leadInput, PHONE, resolvedTemplate } from "../../fixtures/leads-stage.ts";
import { needing } from "../../fixtures/database-abilities.ts";
import { servedBy } from "../../fixtures/query-plan.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const LEASE_MS = 6000;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: ReturnType<typeof openStore>;
let model: Model<LeadDoc>;
let entries: Model<LogEntry>;
let leads: LeadsRepository;
let log: EventLog;
let cursors: EventCursors;
let hints: string[];
const clock = virtualClock();

beforeEach(async () => {
  database = await freshDatabase();
  store = openStore(database.uri);
  model = store.model("leads", leadSchema);
  entries = store.model("lead_events", logEntrySchema);
  leads = leadsRepository(model, { base64url: () => randomUUID().slice(0, 12) });
  log = eventLog(entries);
  cursors = eventCursors(store.model("event_cursors", eventCursorSchema));
  await store.open();
  hints = [];
});
afterEach(async () => {
  await store.close();
  await database.drop();
});

/** A publisher of a process of its own; what it gets of the log and the leads may be changed. `silent`: it renews no lease. */
const publisher = (
  nodeId: string,
  over: { events?: Partial<EventLog>; leads?: Partial<LeadsRepository>; silent?: boolean } = {},
): Publisher =>
  createPublisher({
    clock,
    nodeId,
    log: pino({ level: "silent" }),
    env: { ...readEnv({ MONGODB_URI: database.uri }), EVENTS_RETENTION_DAYS: 3 },
    bus: {
      call: () => Promise.reject(new Error("nobody is asked")),
      emit: () => undefined,
      broadcast: (name) => void hints.push(name),
    },
    cursors: { ...cursors, ...(over.silent === true ? { renew: () => Promise.reject(new Error("silent")) } : {}) },
    events: { ...log, ...over.events },
    leads: { ...leads, ...over.leads },
  });

async function push(): Promise<string> {
  const lead = documentOf(randomUUID(), null, leadInput(), resolvedTemplate, PHONE, clock.now());
  await leads.insert([lead]);
  return lead._id;
}
const end = (_id: string) =>
  leads.transition(abort({ _id }, { reason: "r", by: "user:a", at: clock.now() }, clock.now()));
const logged = () => entries.find({}).sort({ position: 1 }).lean<LogEntry[]>();
const owing = async () => (await leads.owingEvents(500)).map(({ _id }) => _id);

/** Every lead's three events are in the log once, in order, at positions without a gap. */
async function expectWhole(ids: readonly string[]): Promise<void> {
  const found = await logged();
  expect(found.map(({ position }) => position)).toEqual(found.map((_, i) => i + 1));
  for (const id of ids)
    expect(found.filter(({ subject }) => subject === id).map(({ seq, type }) => `${seq} ${type}`)).toEqual([
      "1 lead.queued",
      "2 lead.aborted",
      "3 lead.finished",
    ]);
  expect(await owing()).toEqual([]);
}

test("events go into the log with their places, for as long as is set, and out of the outbox; then nothing is left to do", async () => {
  const one = publisher("a");
  const ids = [await push(), await push()];
  await Promise.all(ids.map(end));
  await one.pass();
  await expectWhole(ids);
  expect(hints).toEqual(["events.published"]);
  const [first] = await logged();
  expect(first?.expires_at.getTime()).toBe(clock.now().getTime() + 3 * 86_400_000);
  const late = await push();
  await one.pass();
  await end(late);
  await one.pass();
  await expectWhole([...ids, late]);
  expect(await one.pass()).toBe(false);
});

test("a publisher that dies between the log and the outbox is followed by one that repeats nothing", async () => {
  const dying = publisher("a", {
    silent: true,
    leads: { emptyOutboxes: () => Promise.reject(new Error("killed")) },
  });
  const ids = [await push(), await push()];
  await expect(dying.pass()).rejects.toThrow("killed");
  await Promise.all(ids.map(end));
  const next = publisher("b");
  expect(await next.pass()).toBe(false);
  expect(await owing()).toHaveLength(2);
  await clock.advance(LEASE_MS + 1);
  await next.pass();
  await expectWhole(ids);
});

test("one that dies in the middle of the log, likewise", async () => {
  const dying = publisher("a", {
    silent: true,
    events: { append: async (some) => (await log.append(some.slice(0, 1))) && Promise.reject(new Error("killed")) },
  });
  const ids = [await push(), await push()];
  await Promise.all(ids.map(end));
  await expect(dying.pass()).rejects.toThrow("killed");
  expect(await logged()).toHaveLength(1);
  await clock.advance(LEASE_MS + 1);
  await publisher("b").pass();
  await expectWhole(ids);
});

test("one that wakes up after another has taken its place repeats nothing, leaves no gap, and stands back", async () => {
  const ids = [await push(), await push()];
  await Promise.all(ids.map(end));
  const other = publisher("b");
  // it has read the outboxes, stands still, and only then writes
  const stood = publisher("a", {
    silent: true,
    events: {
      append: async (some) => {
        await clock.advance(LEASE_MS + 1);
        await other.pass();
        return log.append(some);
      },
    },
  });
  await stood.pass();
  await expectWhole(ids);
  ids.push(await push());
  await end(ids[2] ?? "");
  expect(await stood.pass()).toBe(false);
  await other.pass();
  await expectWhole(ids);
});

test("a lead that moves on while it is published keeps what is new", async () => {
  const id = await push();
  const one = publisher("a", {
    events: {
      append: async (some) => {
        if (some[0]?.seq === 1) await end(id);
        return log.append(some);
      },
    },
  });
  expect(await one.pass()).toBe(true);
  expect((await logged()).map(({ seq }) => seq)).toEqual([1]);
  await one.pass();
  await expectWhole([id]);
});

test("positions go on where they were when the log has expired", async () => {
  const one = publisher("a");
  await push();
  await one.pass();
  await one.leave();
  await entries.deleteMany({});
  await push();
  await publisher("b").pass();
  expect((await logged()).map(({ position }) => position)).toEqual([2]);
});

test("who does not publish tells who does, once for what there is", async () => {
  const [one, other] = [publisher("a"), publisher("b")];
  await one.pass();
  other.owed(true);
  other.owed(true);
  expect([await other.pass(), await other.pass()]).toEqual([false, false]);
  expect(hints).toEqual(["events.owed"]);
  await one.leave();
  await clock.advance(LEASE_MS);
  await push();
  await other.pass();
  expect(await logged()).toHaveLength(1);
});

needing("plans", () => {
  test("every read is served by an index, and none but of one lead's events sorts", async () => {
    const id = await push();
    const served = (collection: string, work: () => Promise<unknown>) => servedBy(database.uri, collection, work);
    const of = (reseller_id: string | null, merchant_id: string | null) => () =>
      log.between({ reseller_id, merchant_id }, 0, 10, 5);
    expect(await served("leads", () => leads.owingEvents(5))).toEqual({ index: "outbox", sorted: false });
    expect(await served("lead_events", of(null, null))).toEqual({ index: "by_position", sorted: false });
    expect(await served("lead_events", of("r", null))).toEqual({ index: "of_reseller", sorted: false });
    expect((await served("lead_events", of("r", "m"))).index).toMatch(/^of_(?:merchant|reseller)$/);
    expect(await served("lead_events", () => log.ofLead(id, 0, 5))).toEqual({ index: "_id_", sorted: true });
    expect(await served("lead_events", () => log.known([`${id}.1`]))).toEqual({ index: "_id_", sorted: false });
  });
});
