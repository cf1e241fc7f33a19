import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, nkeyAuthenticator, type NatsConnection } from "nats";
import { pino } from "pino";
import { eventCursors, eventCursorSchema } from "../../../shared/database/event-cursor.ts";
import { startNats, type NatsServer } from "../../../local/harness/nats-server.ts";
import { freshDatabase, until } from "../../../local/harness/stage.ts";
import { logEntrySchema, type LogEntry } from "../../../services/leads/events/event-log.model.ts";
import { eventLog } from "../../../services/leads/events/event-log.repository.ts";
import { createFeed } from "../../../services/leads/events/jet-stream.ts";
import { makeBusUsers, readerSeedFile, seedFile, USERS_FILE } from "../../../shared/bus/bus-keys.ts";
import { readerInbox } from "../../../shared/bus/nats-permissions.ts";
import { EVENT_STREAM, streamReadersIn, subjectsFor } from "../../../shared/contracts/events/event-subjects.ts";
import { openStore } from "../../../shared/database/mongo.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { ROOT } from "../../house/sources.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

describe("EVENTS_READERS", () => {
  test.each([
    [undefined, []],
    [
      "billing, acme=r.1 ,shop=r/m",
      ["callagent.events.v1.>", "callagent.events.v1.r=2e1.>", "callagent.events.v1.r.m.>"],
    ],
  ])("%s reads these subjects", (text, subjects) => {
    expect(streamReadersIn(text)?.map(subjectsFor)).toEqual(subjects);
  });
  test.each(["a.b", "a=", "a=r/", "a=r/m/x", "a=r=m", "-a", "a,a", "a>", "x".repeat(33)])("%s is refused", (text) => {
    expect(streamReadersIn(text)).toBeNull();
    expect(() => readEnv({ TRANSPORTER: "nats://x", CALLAGENT_EVENTS: "jetstream", EVENTS_READERS: text })).toThrow(
      /EVENTS_READERS is "/,
    );
  });
  test("is refused without the stream", () =>
    expect(() => readEnv({ EVENTS_READERS: "a" })).toThrow(/EVENTS_READERS needs CALLAGENT_EVENTS=jetstream/));
});

describe("readers of the stream, at a real nats-server with the users that nats:users makes", () => {
  const folder = mkdtempSync(join(tmpdir(), "callagent-readers-"));
  const clock = virtualClock();
  let nats: NatsServer;
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let store: ReturnType<typeof openStore>;
  const open: NatsConnection[] = [];

  /** Passes all of the log on, with these readers. */
  async function feed(readers: string): Promise<void> {
    const cursors = eventCursors(store.model("event_cursors", eventCursorSchema));
    const env = readEnv({
      TRANSPORTER: nats.url,
      NATS_NKEY_FILE: join(folder, seedFile("leads")),
      CALLAGENT_EVENTS: "jetstream",
      EVENTS_READERS: readers,
    });
    const events = eventLog(store.model("lead_events", logEntrySchema));
    const one = createFeed({ clock, nodeId: "leads.a", log: pino({ level: "silent" }), env, cursors, events });
    await one.pass();
    await one.stop();
  }
  async function connectAs(name: string): Promise<NatsConnection> {
    const seed = readFileSync(join(folder, readerSeedFile(name)), "utf8").trim();
    const connection = await connect({
      servers: nats.url,
      authenticator: nkeyAuthenticator(Buffer.from(seed)),
      inboxPrefix: readerInbox(name),
      reconnect: false,
    });
    open.push(connection);
    return connection;
  }

  beforeAll(async () => {
    expect(makeBusUsers(folder, "callagent", ["all", "acme"])).toContain("reader acme");
    // what is there stays a user, also where it is not named again
    expect(makeBusUsers(folder, "callagent")).toEqual([]);
    const config = join(folder, "server.conf");
    writeFileSync(config, `jetstream { store_dir: ${JSON.stringify(folder)} }\ninclude ${USERS_FILE}\n`);
    nats = await startNats({ config });
    database = await freshDatabase();
    store = openStore(database.uri);
    const log = eventLog(store.model("lead_events", logEntrySchema));
    store.model("event_cursors", eventCursorSchema);
    await store.open();
    const tenants = ["acme-id", "other-id", "acme-id", "other-id"];
    await log.append(
      tenants.map((reseller_id, i): LogEntry => ({
        _id: `lead-${i}.1`,
        position: i + 1,
        subject: `lead-${i}`,
        seq: 1,
        type: "lead.queued",
        at: clock.now(),
        reseller_id,
        merchant_id: null,
        template_id: "t",
        data: { request_id: `order-${i}` },
        expires_at: new Date("2030-01-01T00:00:00.000Z"),
      })),
    );
    await feed("all, acme=acme-id");
  });
  afterAll(async () => {
    await Promise.all(open.map((connection) => connection.close()));
    await store.close();
    await database.drop();
    await nats.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("the example of docs/events.md prints the events of its tenant and no others, and goes on where it was", async () => {
    const read = async (count: number): Promise<string[]> => {
      const child = spawn(process.execPath, [join(ROOT, "deploy/events/reader.ts")], {
        env: { ...process.env, NATS_URL: nats.url, READER: "acme", READER_KEY: join(folder, readerSeedFile("acme")) },
      });
      let [said, wrong] = ["", ""];
      child.stdout.on("data", (data: Buffer) => (said += data.toString()));
      child.stderr.on("data", (data: Buffer) => (wrong += data.toString()));
      const ended = new Promise((resolve) => child.on("exit", resolve));
      const lines = (): string[] => said.split("\n").filter((line) => line !== "");
      await until("the events", () => lines().length >= count || child.exitCode !== null || undefined);
      child.kill("SIGINT");
      expect([await ended, wrong]).toEqual([0, ""]);
      return lines();
    };
    expect(await read(2)).toEqual(["lead.queued order-0", "lead.queued order-2"]);
    await store.model("lead_events", logEntrySchema);
    const log = eventLog(store.model("lead_events", logEntrySchema));
    const [last] = await log.ofLead("lead-2", 0, 1);
    await log.append([{ ...last!, _id: "lead-2.2", seq: 2, position: 5, type: "lead.claimed" }]);
    await feed("all, acme=acme-id");
    expect(await read(1)).toEqual(["lead.claimed order-2"]);
  });

  test.each([
    ["another reader's events", `$JS.API.CONSUMER.MSG.NEXT.${EVENT_STREAM}.all`],
    ["the stream itself", `$JS.API.STREAM.MSG.GET.${EVENT_STREAM}`],
    ["the names of all tenants", `$JS.API.STREAM.INFO.${EVENT_STREAM}`],
    ["a consumer of its own making", `$JS.API.CONSUMER.CREATE.${EVENT_STREAM}.mine.callagent.events.v1.>`],
    ["an event of its own making", "callagent.events.v1.acme-id._.lead.queued"],
    ["a request on the bus", "MOL-callagent.REQ.leads.x"],
  ])("a reader can't have %s", async (_, subject) => {
    const connection = await connectAs("acme");
    const refused = (async () => {
      for await (const { type, data } of connection.status()) if (type === "error") return data;
      return null;
    })();
    connection.publish(subject, "{}");
    await connection.flush();
    expect(await refused).toBe("PERMISSIONS_VIOLATION");
  });

  test("a reader hears no answers to others", async () => {
    const connection = await connectAs("acme");
    const heard = connection.subscribe(`${readerInbox("all")}.>`, { callback: () => undefined });
    await expect(heard.closed).resolves.toBeUndefined();
  });

  test("what a reader reads follows EVENTS_READERS", async () => {
    await feed("all, acme=other-id");
    const consumer = await (await connectAs("acme")).jetstream({ checkAPI: false }).consumers.get(EVENT_STREAM, "acme");
    expect((await consumer.info()).config.filter_subject).toBe("callagent.events.v1.other-id.>");
  });
});
