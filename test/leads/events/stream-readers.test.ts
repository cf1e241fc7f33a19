import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsMsg } from "nats";
import { until } from "../../../local/harness/stage.ts";
import { makeBusUsers } from "../../../shared/bus/bus-keys.ts";
import { readerInbox } from "../../../shared/bus/nats-permissions.ts";
import { EVENT_STREAM, streamReadersIn, subjectsFor } from "../../../shared/contracts/events/event-subjects.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { ROOT } from "../../house/sources.ts";
import { readerStage, type ReaderStage } from "./fixtures/reader-stage.ts";

const GIVEN_AGAIN_MS = 1500;

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

test("nats:users makes a reader once, and keeps the readers that are there", () => {
  const folder = mkdtempSync(join(tmpdir(), "callagent-users-"));
  try {
    expect(makeBusUsers(folder, "callagent", ["all", "acme"])).toContain("reader acme");
    expect(makeBusUsers(folder, "callagent")).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

describe("readers of the stream, at a real nats-server with the users that nats:users makes", () => {
  let stage: ReaderStage;
  beforeAll(async () => {
    stage = await readerStage();
    await stage.forward("all, acme=acme-id");
  });
  afterAll(() => stage.stop());

  test("the example of docs/events.md prints the events of its tenant and no others, and goes on where it was", async () => {
    const read = async (count: number): Promise<string[]> => {
      const child = spawn(process.execPath, [join(ROOT, "deploy/events/reader.ts")], {
        env: { ...process.env, NATS_URL: stage.url, READER: "acme", READER_KEY: stage.keyOf("acme") },
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
    expect(await read(2)).toEqual(["lead.queued lead-0", "lead.queued lead-2"]);
    const [last] = await stage.log.ofLead("lead-2", 0, 1, 1);
    await stage.log.append([{ ...last!, _id: "lead-2.2", seq: 2, position: 5, type: "lead.claimed" }]);
    await stage.forward("all, acme=acme-id");
    expect(await read(1)).toEqual(["lead.claimed lead-2"]);
  });

  test.each([
    ["another reader's events", `$JS.API.CONSUMER.MSG.NEXT.${EVENT_STREAM}.all`],
    ["the stream itself", `$JS.API.STREAM.MSG.GET.${EVENT_STREAM}`],
    ["the names of all tenants", `$JS.API.STREAM.INFO.${EVENT_STREAM}`],
    ["a consumer of its own making", `$JS.API.CONSUMER.CREATE.${EVENT_STREAM}.mine.callagent.events.v1.>`],
    ["an event of its own making", "callagent.events.v1.acme-id._.lead.queued"],
    ["a request on the bus", "MOL-callagent.REQ.leads.x"],
  ])("a reader can't have %s", async (_, subject) => {
    const connection = await stage.connectAs("acme");
    const refused = (async () => {
      for await (const { type, data } of connection.status()) if (type === "error") return data;
      return null;
    })();
    connection.publish(subject, "{}");
    await connection.flush();
    expect(await refused).toBe("PERMISSIONS_VIOLATION");
  });

  test("a reader hears no answers to others", async () => {
    const connection = await stage.connectAs("acme");
    const heard = connection.subscribe(`${readerInbox("all")}.>`, { callback: () => undefined });
    await expect(heard.closed).resolves.toBeUndefined();
  });

  test("a message names no event of another tenant", async () => {
    const told: string[] = [];
    const as = await stage.connectAs("all");
    const consumer = await as.jetstream({ checkAPI: false }).consumers.get(EVENT_STREAM, "all");
    for await (const message of await consumer.fetch({ max_messages: 4, expires: 2000 })) {
      const headers = message.headers?.keys().map((name) => message.headers?.get(name)) ?? [];
      const own = message.json<{ subject: string }>().subject;
      told.push(...([...headers, message.string()].join(" ").match(/lead-\d/g) ?? []).filter((id) => id !== own));
      message.ack();
    }
    expect(told).toEqual([]);
  });

  test("a reader gets no event before the one before it is acknowledged, so that one that is given again comes in its order", async () => {
    const [last] = await stage.log.ofLead("lead-3", 0, 1, 1);
    await stage.log.append([2, 3].map((seq) => ({ ...last!, _id: `lead-3.${seq}`, seq, position: 4 + seq })));
    await stage.forward("all, acme=acme-id");
    const as = await stage.connectAs("all");
    const consumer = await as.jetstream({ checkAPI: false }).consumers.get(EVENT_STREAM, "all");
    const given: string[] = [];
    const read = async (take: (message: JsMsg) => void): Promise<void> => {
      for await (const message of await consumer.fetch({ max_messages: 3, expires: 1000 })) {
        given.push(message.json<{ id: string }>().id);
        take(message);
      }
    };
    await read((message) => message.nak(GIVEN_AGAIN_MS));
    expect(new Set(given)).toEqual(new Set(["lead-2.2"]));
    given.length = 0;
    await read((message) => message.ack());
    expect(given).toEqual(["lead-2.2", "lead-3.2", "lead-3.3"]);
  });

  test("what a reader reads follows EVENTS_READERS", async () => {
    await stage.forward("all, acme=other-id");
    const consumer = await (
      await stage.connectAs("acme")
    )
      .jetstream({ checkAPI: false })
      .consumers.get(EVENT_STREAM, "acme");
    expect((await consumer.info()).config.filter_subject).toBe("callagent.events.v1.other-id.>");
  });
});
