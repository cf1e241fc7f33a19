import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServiceBroker } from "moleculer";
import { startNats, type NatsServer } from "../../../local/harness/nats-server.ts";
import { until } from "../../../local/harness/stage.ts";
import { BusTransporter } from "../../../shared/bus/bus-transporter.ts";
import { codeOf } from "../../../shared/errors.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { rootLog, type Log } from "../../../shared/process/log.ts";
import { systemClock } from "../../../shared/time/clock.ts";

const WAIT_MS = 10_000;
const TEST_MS = 30_000;
/** Everything resumes this soon after the server's return (docs/reliability.md). */
const RESUMES_MS = 2000;
/** A node that was silent for so long is forgotten: short here, so that each outage is long. */
const FORGOTTEN_SECONDS = 1;
const LARGE = "x".repeat(1_100_000);

interface LogLine {
  event?: string;
  about?: string;
  packet?: string;
  stood_ms?: number;
}

const logTo = (lines: LogLine[]): Log =>
  rootLog(readEnv({}), {
    write(line: string) {
      lines.push(JSON.parse(line) as LogLine);
    },
  });

describe("a bus whose server is a real one", () => {
  let nats: NatsServer;
  let lines: LogLine[];
  let brokers: ServiceBroker[];
  let asked: string[];
  let release: () => void;

  const node = (nodeID: string): ServiceBroker => {
    const log = logTo(lines);
    const { port } = nats;
    const broker = new ServiceBroker({
      namespace: "away",
      nodeID,
      logger: false,
      requestTimeout: WAIT_MS,
      heartbeatInterval: FORGOTTEN_SECONDS / 4,
      heartbeatTimeout: FORGOTTEN_SECONDS,
      transporter: new BusTransporter({ servers: [`127.0.0.1:${port}`] }, { log, clock: systemClock, strict: false }),
    });
    brokers.push(broker);
    return broker;
  };
  const events = (): (string | undefined)[] => lines.map(({ event }) => event);
  const seen = (event: string): Promise<LogLine> =>
    until(event, () => lines.find((line) => line.event === event), WAIT_MS);
  const codeFrom = (answer: Promise<unknown>): Promise<string> => answer.then(() => "answered", codeOf);

  beforeEach(async () => {
    lines = [];
    brokers = [];
    asked = [];
    nats = await startNats();
    const held = new Promise<void>((resolve) => (release = resolve));
    const callee = node("callee");
    callee.createService({
      name: "there",
      actions: {
        ask(ctx: { params: { what: string } }) {
          asked.push(ctx.params.what);
          return ctx.params.what.length;
        },
        slowly: () => held.then(() => "late"),
        much: () => LARGE,
      },
    });
    await Promise.all([callee.start(), node("caller").start()]);
    await brokers[1]?.waitForServices("there", WAIT_MS);
  }, TEST_MS);
  afterEach(async () => {
    release();
    await Promise.all(brokers.map((broker) => broker.stop()));
    await nats.stop();
  }, TEST_MS);

  const call = (action: string, what: string): Promise<unknown> => {
    const [, caller] = brokers;
    if (!caller) throw new Error("no caller");
    return caller.call(`there.${action}`, { what });
  };
  const leave = async (): Promise<void> => {
    await nats.stop("SIGKILL");
    await until(
      "both nodes to notice",
      () => events().filter((e) => e === "bus.away").length === 2 || undefined,
      WAIT_MS,
    );
  };
  const comeBack = async (): Promise<void> => {
    nats = await startNats({ port: nats.port });
  };

  test("a request is refused at once while the server is away, and never delivered late", async () => {
    await leave();
    const began = performance.now();
    await expect(codeFrom(call("ask", "in vain"))).resolves.toBe("DEPENDENCY_DOWN");
    expect(performance.now() - began).toBeLessThan(RESUMES_MS);
    await comeBack();
    await until("calls to be answered again", () => call("ask", "again").then(Boolean, () => undefined), WAIT_MS, 20);
    expect(asked).not.toContain("in vain");
  });

  test("calls are answered within 2 s of the server's return, although the nodes had forgotten each other", async () => {
    await leave();
    await until(
      "the callee to be forgotten",
      () => (brokers[1]?.registry.nodes.get("callee")?.available === false ? true : undefined),
      WAIT_MS,
    );
    await comeBack();
    const back = performance.now();
    await until("calls to be answered again", () => call("ask", "again").then(Boolean, () => undefined), WAIT_MS, 20);
    expect(performance.now() - back).toBeLessThan(RESUMES_MS);
    await seen("bus.back");
  });

  test("a request under way when the server goes fails at once, for nobody knows what became of it", async () => {
    const answer = codeFrom(call("slowly", ""));
    await call("ask", "to know that the request before has arrived");
    const began = performance.now();
    await leave();
    await expect(answer).resolves.toBe("TIMEOUT");
    expect(performance.now() - began).toBeLessThan(RESUMES_MS);
  });

  test.each([
    ["a request", () => call("ask", LARGE), { packet: "REQ", about: "there.ask" }],
    ["an answer", () => call("much", ""), { packet: "RES" }],
  ])("%s above the server's limit fails at once and is an alarm by name", async (_what, ask, alarm) => {
    const began = performance.now();
    await expect(codeFrom(ask())).resolves.toBe("INTERNAL");
    expect(performance.now() - began).toBeLessThan(WAIT_MS / 2);
    expect(await seen("bus.max_payload")).toMatchObject(alarm);
    await expect(call("ask", "still here")).resolves.toBe("still here".length);
  });
});

describe("a process that does not read what it is sent", () => {
  let folder: string;
  let nats: NatsServer;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "callagent-nats-"));
    const config = join(folder, "nats.conf");
    writeFileSync(config, 'write_deadline: "200ms"\nmax_pending: 1048576\n');
    nats = await startNats({ config });
  }, TEST_MS);
  afterAll(async () => {
    await nats.stop();
    rmSync(folder, { recursive: true, force: true });
  }, TEST_MS);

  test(
    "is told by name why it lost its connection: slow consumer",
    async () => {
      const lines: LogLine[] = [];
      const log = logTo(lines);
      const broker = new ServiceBroker({
        namespace: "slow",
        nodeID: "reader",
        logger: false,
        transporter: new BusTransporter(
          { servers: [`127.0.0.1:${nats.port}`] },
          { log, clock: systemClock, strict: false },
        ),
      });
      await broker.start();
      const flood = spawn(
        process.execPath,
        [
          "-e",
          `const {connect}=require("nats");connect({servers:"127.0.0.1:${nats.port}"}).then(async c=>{process.stdout.write("go");const b=Buffer.alloc(500000);for(let i=0;i<100;i++){c.publish("MOL-slow.RES.reader",b);await c.flush();}await c.close();});`,
        ],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      await once(flood.stdout, "data");
      // the process stands still, as one without CPU does
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
      const alarm = await until("the alarm", () => lines.find(({ event }) => event === "bus.slow_consumer"), WAIT_MS);
      expect(alarm.stood_ms).toBeGreaterThan(1000);
      await broker.stop();
      flood.kill();
    },
    TEST_MS,
  );
});
