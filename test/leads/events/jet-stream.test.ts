import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, nanos, type JsMsg } from "nats";
import { pino } from "pino";
import { eventCursors, eventCursorSchema } from "../../../shared/database/event-cursor.ts";
import { logSheetSchema, type LogEntry } from "../../../services/leads/events/event-log.model.ts";
import { eventLog, type EventLog } from "../../../services/leads/events/event-log.repository.ts";
import { createForwarder, type Forwarder } from "../../../services/leads/events/jet-stream.ts";
import { permissionsOf } from "../../../shared/bus/nats-permissions.ts";
import { EVENT_STREAM, subjectOf, tokenOf } from "../../../shared/contracts/events/event-subjects.ts";
import { CloudEvent } from "../../../shared/contracts/events/event-type.ts";
import { openStore } from "../../../shared/database/mongo.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { issueChecker } from "../../../shared/validator.ts";
import { startNats, type NatsServer } from "../../../local/harness/nats-server.ts";
import { freePort } from "../../../local/tools/stack/ports.ts";
import { freshDatabase, until } from "../../../local/harness/stage.ts";
import { leadsStage, M, R } from "../../fixtures/leads-stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

/** The stream of a real nats-server, with the permissions of the leads service's user. */
const LEASE_MS = 6000;
const folder = mkdtempSync(join(tmpdir(), "callagent-jetstream-"));
const config = join(folder, "server.conf");
let nats: NatsServer;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: ReturnType<typeof openStore>;
let log: EventLog;
let position = 0;
const clock = virtualClock();
const forwarders: Forwarder[] = [];

beforeAll(async () => {
  const { publish, subscribe } = permissionsOf("leads", "callagent");
  const allowed = JSON.stringify({ publish: { allow: publish }, subscribe: { allow: subscribe } });
  writeFileSync(
    config,
    `jetstream { store_dir: ${JSON.stringify(folder)} }
authorization { users: [
  { user: leads, password: secret, permissions: ${allowed} }
  { user: root, password: secret }
] }
`,
  );
  nats = await startNats({ config, port: await freePort() });
  database = await freshDatabase();
  store = openStore(database.uri);
  log = eventLog(store.model("lead_events", logSheetSchema));
  store.model("event_cursors", eventCursorSchema);
  await store.open();
});
afterAll(async () => {
  await Promise.all(forwarders.map((forwarder) => forwarder.stop()));
  await store.close();
  await database.drop();
  await nats.stop();
  rmSync(folder, { recursive: true, force: true });
});

const urlOf = (user: string): string => nats.url.replace("//", `//${user}:secret@`);

/** A process that passes events on. `silent`: it renews no lease. */
function forwarderOf(nodeId: string, { silent = false, events = log, days = 7 } = {}): Forwarder {
  const cursors = eventCursors(store.model("event_cursors", eventCursorSchema));
  const forwarder = createForwarder({
    clock,
    nodeId,
    log: pino({ level: "silent" }),
    env: { ...readEnv({ TRANSPORTER: urlOf("leads"), CALLAGENT_EVENTS: "jetstream" }), EVENTS_RETENTION_DAYS: days },
    cursors: { ...cursors, ...(silent ? { renew: () => Promise.reject(new Error("silent")) } : {}) },
    events,
  });
  forwarders.push(forwarder);
  return forwarder;
}

/** Further events in the log. */
async function logged(count: number, over: Partial<LogEntry> = {}): Promise<void> {
  const entries = Array.from({ length: count }, (_, i): LogEntry => {
    const seq = position + i + 1;
    return {
      _id: `lead.${seq}`,
      position: seq,
      subject: "lead",
      seq,
      type: "lead.answered",
      at: clock.now(),
      reseller_id: "r",
      merchant_id: "m",
      template_id: "t",
      data: {},
      expires_at: new Date("2030-01-01T00:00:00.000Z"),
      ...over,
    };
  });
  position += count;
  await log.append(entries);
}

/** Everything in the stream, read by a consumer. */
async function streamed(
  filter = "callagent.events.v1.>",
): Promise<{ subject: string; id: string; event: CloudEvent }[]> {
  const connection = await connect({ servers: nats.url, user: "root", pass: "secret" });
  try {
    const manager = await connection.jetstreamManager();
    const { name, num_pending } = await manager.consumers.add(EVENT_STREAM, {
      filter_subject: filter,
      inactive_threshold: nanos(5000),
    });
    const found: JsMsg[] = [];
    if (num_pending > 0) {
      const consumer = await connection.jetstream().consumers.get(EVENT_STREAM, name);
      const messages = await consumer.fetch({ max_messages: num_pending, expires: 5000 });
      for await (const message of messages) found.push(message);
    }
    return found.map((message) => ({
      subject: message.subject,
      id: message.headers?.get("Nats-Msg-Id") ?? "",
      event: message.json<CloudEvent>(),
    }));
  } finally {
    await connection.close();
  }
}
const expectWhole = async (): Promise<void> =>
  expect((await streamed()).map(({ event }) => event.seq)).toEqual(Array.from({ length: position }, (_, i) => i + 1));

test("events come into the stream once, in order, under the subject of their tenant, as CloudEvents with their ids", async () => {
  await logged(3);
  await logged(1, { reseller_id: "r.1 *", merchant_id: null, type: "lead.finished" });
  expect(await forwarderOf("a").pass()).toBe(false);
  await expectWhole();
  const all = await streamed();
  expect(all.map(({ subject }) => subject)).toEqual([
    ...Array.from({ length: 3 }, () => "callagent.events.v1.r.m.lead.answered"),
    "callagent.events.v1.r=2e1=20=2a._.lead.finished",
  ]);
  expect(all.map(({ id, event }) => [id, issueChecker(CloudEvent)(event)])).toEqual(
    all.map(({ event }) => [event.id, []]),
  );
  expect(await streamed("callagent.events.v1.r.*.>")).toHaveLength(3);
});

test("the stream has its limits, and follows them when they are changed", async () => {
  await forwarders[0]?.stop();
  await forwarderOf("limits", { days: 3 }).pass();
  const connection = await connect({ servers: nats.url, user: "root", pass: "secret" });
  const { config: made } = await (await connection.jetstreamManager()).streams.info(EVENT_STREAM);
  await connection.close();
  expect(made).toMatchObject({
    subjects: ["callagent.events.v1.>"],
    max_age: nanos(3 * 86_400_000),
    max_bytes: 1_000_000_000,
    discard: "old",
    storage: "file",
  });
  await forwarders.at(-1)?.stop();
});

test("a process that takes over goes on where the stream ends, whatever its predecessor had written down", async () => {
  const dying = forwarderOf("b", { silent: true });
  await logged(5);
  await dying.pass();
  await logged(2);
  await clock.advance(LEASE_MS + 1);
  await forwarderOf("c").pass();
  await expectWhole();
});

test("one that wakes up after another has taken its place puts nothing into the stream twice or out of order", async () => {
  await forwarders.at(-1)?.stop();
  const other = forwarderOf("e");
  const stood = forwarderOf("d", {
    silent: true,
    events: {
      ...log,
      recent: () => null,
      async between(...asked) {
        const found = await log.between(...asked);
        await clock.advance(LEASE_MS + 1);
        await logged(2);
        await other.pass();
        return found;
      },
    },
  });
  await logged(3);
  await stood.pass().catch(() => undefined);
  await other.pass();
  await expectWhole();
});

test("a server that was away is followed again, and has all", async () => {
  const forwarder = forwarders.at(-2);
  await logged(1);
  await nats.stop();
  await expect(forwarder?.pass()).rejects.toThrow();
  nats = await startNats({ config, port: nats.port });
  await forwarder?.pass();
  await expectWhole();
});

test("the leads service passes on what it publishes, also where the stream is that of another database", async () => {
  const at = await leadsStage({ CALLAGENT_EVENTS: "jetstream", TRANSPORTER: urlOf("leads") });
  try {
    const { lead_call_tracker_id } = await at.push();
    const found = await until("the event in the stream", async () => {
      await at.clock.advance(2000);
      return (await streamed(`callagent.events.v1.${R}.${M}.>`)).find(
        ({ event }) => event.subject === lead_call_tracker_id,
      );
    });
    expect(found).toMatchObject({ id: `${lead_call_tracker_id}.1`, event: { type: "lead.queued" } });
  } finally {
    await at.stop();
  }
});

test("an id is one token of a subject, whatever is in it, and no two ids are the same", () => {
  const ids = ["a.b", "a_b", "a b", "a>", "*", "_", "ä", "a=2eb", "5f0c8f0e-7a39-4c53-9d0f-2a2b6a3a1c12"];
  for (const id of ids) expect(tokenOf(id)).toMatch(/^[A-Za-z0-9=-]+$/);
  expect(new Set(ids.map(tokenOf)).size).toBe(ids.length);
  expect(subjectOf({ reseller_id: "_", merchant_id: null, type: "lead.queued" })).toBe(
    "callagent.events.v1.=5f._.lead.queued",
  );
});
