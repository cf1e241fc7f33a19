import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { ServiceBroker } from "moleculer";
import { freePort } from "../../local/tools/stack/ports.ts";
import { systemClock } from "../../shared/time/clock.ts";
import { makeBusUsers, seedFile } from "../../shared/bus/bus-keys.ts";
import { BusTransporter } from "../../shared/bus/bus-transporter.ts";
import { natsOptions } from "../../shared/bus/nats-options.ts";
import { readEnv } from "../../shared/process/env.ts";
import { rootLog } from "../../shared/process/log.ts";
import { read, readCompose } from "./compose-file.ts";
import { ROOT } from "../house/sources.ts";

const START_MS = 30_000;
const POLL_MS = 50;

/** The container's health check as Docker runs it: its exit status and what it says. */
async function health(env: Record<string, string>, ...args: string[]): Promise<{ code: number; said: string }> {
  const child = spawn(process.execPath, [join(ROOT, "deploy/docker/health.ts"), ...args], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (data: Buffer) => {
    said += data.toString();
  });
  const [code] = (await once(child, "close")) as [number];
  return { code, said };
}

describe("the health check over the bus", () => {
  let nats: ChildProcess;
  let address: string;
  let port: number;
  let broker: ServiceBroker;
  const users = mkdtempSync(join(tmpdir(), "callagent-health-"));
  const key = join(users, seedFile("leads"));
  const log = rootLog(readEnv({ LOG_LEVEL: "silent" }));

  const nodeOf = (nodeID: string): ServiceBroker =>
    new ServiceBroker({
      namespace: "healthy",
      nodeID,
      logger: false,
      internalServices: false,
      transporter: new BusTransporter(
        { ...natsOptions({ TRANSPORTER: address, NATS_NKEY_FILE: key }) },
        { log, clock: systemClock, strict: true },
      ),
    });

  beforeAll(async () => {
    port = await freePort();
    const http = await freePort();
    makeBusUsers(users, "healthy");
    const { command, configs } = readCompose().services["nats"] ?? {};
    const conf = read("deploy/nats/server.conf");
    expect([command, configs?.[0]?.target]).toEqual([
      ["nats-server", "--config", "/etc/nats/server.conf"],
      "/etc/nats/server.conf",
    ]);
    const own = conf.replace("0.0.0.0:4222", `127.0.0.1:${port}`).replace("0.0.0.0:8222", `127.0.0.1:${http}`);
    writeFileSync(join(users, "server.conf"), own);
    address = `nats://127.0.0.1:${port}`;
    const path = [process.env["PATH"] ?? "", "/usr/sbin"].join(delimiter);
    nats = spawn("nats-server", ["--config", join(users, "server.conf")], { env: { PATH: path }, stdio: "ignore" });
    await once(nats, "spawn");
    const end = Date.now() + START_MS;
    while (
      !(await fetch(`http://127.0.0.1:${http}/healthz`).then(
        (a) => a.ok,
        () => false,
      ))
    ) {
      if (Date.now() > end || nats.exitCode !== null) throw new Error("nats-server does not answer at /healthz");
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    broker = nodeOf(`leads.${hostname().toLowerCase()}-7`);
    await broker.start();
  }, START_MS);
  afterAll(async () => {
    await broker?.stop();
    nats?.kill();
    rmSync(users, { recursive: true });
  });

  const env = (over: Record<string, string> = {}) => ({
    TRANSPORTER: address,
    NATS_NKEY_FILE: key,
    NAMESPACE: "healthy",
    ...over,
  });

  test("is good while this container's node answers", async () =>
    expect(await health(env())).toEqual({ code: 0, said: "" }));
  test("finds a node by the id it was given, with or without its service", async () => {
    expect(await health(env({ NODE_ID: broker.nodeID }))).toEqual({ code: 0, said: "" });
    expect(await health(env({ NODE_ID: broker.nodeID.replace("leads.", "") }))).toEqual({ code: 0, said: "" });
  });
  test(
    "is bad when only other containers' nodes answer",
    async () => {
      const { code, said } = await health(env({ NODE_ID: "somebody-else" }));
      expect([code, said]).toEqual([1, "no node of this container answered on the bus within 3 s\n"]);
    },
    START_MS,
  );
  test("is bad when the bus refuses us, and the password stays out of what is said", async () => {
    const { code, said } = await health(
      env({ TRANSPORTER: address.replace("//", "//leads:guessed@"), NATS_NKEY_FILE: "" }),
    );
    expect(code).toBe(1);
    expect(said).toMatch(/Authorization/i);
    expect(said).not.toContain("guessed");
  });
  test("asks any server of a cluster", async () => {
    const list = `${address.replace(String(port), String(await freePort()))},nats://127.0.0.1:${port}`;
    expect(await health(env({ TRANSPORTER: list }))).toEqual({ code: 0, said: "" });
  });
  test("takes no plain text where TLS was asked for", async () =>
    expect(await health(env({ TRANSPORTER: address.replace("nats:", "tls:") }))).toEqual({
      code: 1,
      said: expect.stringContaining("tls"),
    }));
  test("says what is wrong with an address", async () =>
    expect(await health(env({ TRANSPORTER: "nats://bus:4222,bus:4223" }))).toEqual({
      code: 1,
      said: expect.stringContaining("address 2 of TRANSPORTER is no address of a NATS server"),
    }));
  test("is bad when there is no bus", async () =>
    expect((await health(env({ TRANSPORTER: `nats://127.0.0.1:${await freePort()}` }))).code).toBe(1));
});

describe("the health check over HTTP", () => {
  test.each([
    [200, 0],
    [426, 0],
    [503, 1],
  ])("an answer of %i is exit status %i", async (status, code) => {
    const server = createServer((request, response) => {
      response.writeHead(request.url === "/health/ready" ? status : 599).end("said so");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const found = await health({}, "--http", `${(server.address() as AddressInfo).port}/health/ready`);
    server.close();
    expect(found).toEqual({ code, said: code === 0 ? "" : "the answer is 503: said so\n" });
  });

  test("without a bus the process itself is asked at its own port", async () => {
    const server = createServer((request, response) => {
      response.writeHead(request.url === "/health/live" ? 200 : 500).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const port = (server.address() as AddressInfo).port;
    expect(await health({ HTTP_PORT: String(port) })).toEqual({ code: 0, said: "" });
    server.close();
    server.closeAllConnections();
    expect((await health({ HTTP_PORT: String(port) })).code).toBe(1);
  });
});
