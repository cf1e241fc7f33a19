import { ServiceBroker } from "moleculer";
import { startNats, type NatsServer } from "../../../local/harness/nats-server.ts";
import { until } from "../../../local/harness/stage.ts";
import { BusTransporter } from "../../../shared/bus/bus-transporter.ts";
import { codeOf } from "../../../shared/errors.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { freePort } from "../../../local/tools/stack/ports.ts";
import { logTo, type LogLine } from "./fixtures/bus-log.ts";

const WAIT_MS = 10_000;
const TEST_MS = 30_000;
/** Everything resumes this soon after the server's return (docs/reliability.md). */
const RESUMES_MS = 2000;
/** A node that was silent for so long is forgotten: short here, so that each outage is long. Moleculer adds up to half a second to the pause between heartbeats, or takes it off. */
const [HEARTBEAT_SECONDS, FORGOTTEN_SECONDS] = [0.51, 1.1];
const LARGE = "x".repeat(1_100_000);

describe("a bus whose server is a real one", () => {
  let nats: NatsServer;
  let lines: LogLine[];
  let brokers: ServiceBroker[];
  let asked: string[];
  let release: () => void;
  let away = false;

  const node = (nodeID: string): ServiceBroker => {
    const log = logTo(lines);
    const { port } = nats;
    const broker = new ServiceBroker({
      namespace: "away",
      nodeID,
      logger: false,
      requestTimeout: WAIT_MS,
      dependencyInterval: 10,
      heartbeatInterval: HEARTBEAT_SECONDS,
      heartbeatTimeout: FORGOTTEN_SECONDS,
      transporter: new BusTransporter({ servers: [`127.0.0.1:${port}`] }, { log, clock: systemClock, strict: false }),
    });
    brokers.push(broker);
    return broker;
  };
  const times = (wanted: string): number => lines.filter(({ event }) => event === wanted).length;
  const seen = (event: string): Promise<LogLine> =>
    until(event, () => lines.find((line) => line.event === event), WAIT_MS);
  const codeFrom = (answer: Promise<unknown>): Promise<string> => answer.then(() => "answered", codeOf);

  beforeEach(async () => {
    lines = [];
    brokers = [];
    asked = [];
    nats = await startNats({ port: await freePort() });
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
    // a broker that stops without its bus goes on dialling
    if (away) await comeBack();
    await until("every node to be back", () => times("bus.back") === times("bus.away") || undefined, WAIT_MS);
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
    away = true;
    await until("both nodes to notice", () => times("bus.away") === 2 || undefined, WAIT_MS);
  };
  const comeBack = async (): Promise<void> => {
    nats = await startNats({ port: nats.port });
    away = false;
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
