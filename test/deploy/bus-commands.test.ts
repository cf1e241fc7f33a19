import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { connect, type NatsConnection } from "nats";
import { PROGRAM_ENV } from "../../local/harness/program.ts";
import { until } from "../../local/harness/stage.ts";
import { freePort } from "../../local/tools/stack/ports.ts";
import { busSigners } from "../../shared/bus/bus-signers.ts";
import { natsOptions } from "../../shared/bus/nats-options.ts";
import { readEnv, type Env } from "../../shared/process/env.ts";
import { blocksOf, pageAt, pages } from "../docs/pages.ts";
import { ROOT } from "../house/sources.ts";

/** The commands of docs/operations.md, "The bus", run as they stand but for the folder, and the names and ports of two servers on one machine. */
const FOLDER = "/etc/callagent/bus";
const RUN_MS = 60_000;

const bus = mkdtempSync(join(tmpdir(), "callagent-commands-"));
const at = (name: string): string => join(bus, name);
const servers: ChildProcess[] = [];
const connections: NatsConnection[] = [];
const ports = { a: 0, b: 0 };
let settings: Record<string, string> = {};

const page = pages.find((p) => p.path === "docs/operations.md");
if (!page) throw new Error("there is no docs/operations.md");
const section = pageAt("docs/operations.md").split("\n## The bus\n")[1]?.split("\n## ")[0] ?? "";
const blocks = blocksOf(page)
  .filter((block) => block.language === "sh" && section.includes(block.text))
  .map((block) => block.text.replaceAll(FOLDER, bus));

/** The one configuration of both servers, as one of them is given it on this machine. */
function configOf(name: "a" | "b", routes: { a: number; b: number }): string {
  let text = readFileSync(at("server.conf"), "utf8")
    .replace("0.0.0.0:4222", `127.0.0.1:${ports[name]}`)
    .replace("0.0.0.0:6222", `127.0.0.1:${routes[name]}`);
  for (const each of ["a", "b"] as const) text = text.replace(`nats-${each}:6222`, `127.0.0.1:${routes[each]}`);
  writeFileSync(at(`${name}.conf`), text);
  return at(`${name}.conf`);
}

beforeAll(async () => {
  const env = { ...PROGRAM_ENV, PATH: [join(ROOT, "node_modules/node/bin"), PROGRAM_ENV["PATH"]].join(delimiter) };
  for (const block of blocks.filter((text) => text.startsWith("BUS=")))
    await promisify(execFile)("bash", ["-euc", block], { cwd: ROOT, env, timeout: RUN_MS });
  for (const name of ["a", "b"] as const) ports[name] = await freePort();
  const routes = { a: await freePort(), b: await freePort() };
  for (const name of ["a", "b"] as const)
    servers.push(spawn("nats-server", ["--config", configOf(name, routes)], { env, stdio: "ignore" }));
  const variables = blocks.find((text) => text.startsWith("TRANSPORTER=")) ?? "";
  settings = Object.fromEntries(
    variables
      .replace("nats-a:4222", `127.0.0.1:${ports.a}`)
      .replace("nats-b:4222", `127.0.0.1:${ports.b}`)
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
}, RUN_MS);
afterAll(async () => {
  for (const connection of connections) await connection.close();
  for (const server of servers) server.kill();
  rmSync(bus, { recursive: true });
});

const envOf = (service: string, more: Record<string, string> = {}): Env =>
  readEnv({ ...settings, NATS_NKEY_FILE: at(`${service}.nk`), ...more });

async function connected(env: Env): Promise<NatsConnection> {
  const connection = await until("a server", () =>
    connect({ ...natsOptions(env), reconnect: false }).catch((error: unknown) => {
      if (String(error).includes("CONNECTION_REFUSED")) return undefined;
      throw error;
    }),
  );
  connections.push(connection);
  return connection;
}

test("the section has commands for users, TLS files and cluster, and the variables of a process", () =>
  expect(blocks.map((text) => text.split(/[ =]/)[0])).toEqual(["BUS", "BUS", "BUS", "TRANSPORTER"]));

test("a process with these variables is the service of its key", () =>
  expect(busSigners(envOf("leads")).signers?.name).toBe("leads"));

test("a request crosses the cluster, over TLS, from one server to the other", async () => {
  const leads = await connected(envOf("leads", { TRANSPORTER: `tls://127.0.0.1:${ports.a}` }));
  const gateway = await connected(envOf("gateway", { TRANSPORTER: `tls://127.0.0.1:${ports.b}` }));
  const heard: string[] = [];
  leads.subscribe("MOL-callagent.REQ.leads.1", { callback: (_error, message) => heard.push(message.string()) });
  await leads.flush();
  await until("the route", async () => {
    gateway.publish("MOL-callagent.REQ.leads.1", "a push");
    await gateway.flush();
    return heard.length > 0 ? true : undefined;
  });
  expect(heard[0]).toBe("a push");
});

test("where one server is away, the other is taken", async () => {
  servers[0]?.kill();
  const connection = await connected(envOf("leads"));
  expect(connection.getServer()).toContain(String(ports.b));
});

test("without a key, or without TLS, nobody gets in", async () => {
  const nobody = { TRANSPORTER: `tls://127.0.0.1:${ports.b}`, NATS_CA_FILE: at("ca.pem") };
  await expect(connected(readEnv(nobody))).rejects.toThrow(/Authorization/i);
  const plain = { ...envOf("leads"), TRANSPORTER: `nats://127.0.0.1:${ports.b}`, NATS_CA_FILE: undefined };
  await expect(connect({ ...natsOptions(plain), reconnect: false, tls: null })).rejects.toThrow();
});
