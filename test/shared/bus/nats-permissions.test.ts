import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { generateKeyPairSync, sign, verify } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, nkeyAuthenticator, type NatsConnection } from "nats";
import { startNats, type NatsServer } from "../../../local/harness/nats-server.ts";
import { until } from "../../../local/harness/stage.ts";
import {
  KEYS_FILE,
  makeBusUsers,
  ownKeyOf,
  publicKeyOf,
  publicKeysIn,
  seedFile,
  USERS_FILE,
} from "../../../shared/bus/bus-keys.ts";
import { permissionsOf } from "../../../shared/bus/nats-permissions.ts";
import { calleesOf, callersOf, listenersOf, SERVICE_NAMES } from "../../../shared/bus/rights.ts";
import type { ServiceName } from "../../../shared/contracts/index.ts";

const NAMESPACE = "walled";
const folder = mkdtempSync(join(tmpdir(), "callagent-users-"));
afterAll(() => rmSync(folder, { recursive: true }));
makeBusUsers(folder, NAMESPACE);
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

describe("the keys of a bus's users", () => {
  test("are one pair a service, made once, and closed to others", () => {
    const before = SERVICE_NAMES.map((name) => read(seedFile(name)));
    expect(new Set(before).size).toBe(SERVICE_NAMES.length);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(makeBusUsers(folder, NAMESPACE)).toEqual([]);
    expect(SERVICE_NAMES.map((name) => read(seedFile(name)))).toEqual(before);
  });
  test("a key that was removed is made anew, and the others stay", () => {
    const before = publicKeysIn(read(KEYS_FILE));
    rmSync(join(folder, seedFile("leads")));
    expect(makeBusUsers(folder, NAMESPACE)).toEqual(["leads"]);
    const after = publicKeysIn(read(KEYS_FILE));
    expect(SERVICE_NAMES.filter((name) => before?.get(name) !== after?.get(name))).toEqual(["leads"]);
  });
  test("the server's file holds public keys alone", () => {
    const conf = read(USERS_FILE);
    for (const name of SERVICE_NAMES) expect(conf).not.toContain(read(seedFile(name)).trim());
    expect(conf.match(/nkey: U/g)).toHaveLength(SERVICE_NAMES.length);
  });
  test("sign with node's own Ed25519 what the public nkey verifies", () => {
    const own = ownKeyOf(read(seedFile("auth")));
    const known = publicKeyOf(publicKeysIn(read(KEYS_FILE))?.get("auth") ?? "");
    if (own === null || known === null) throw new Error("no key");
    const text = Buffer.from("some words");
    expect(verify(null, text, known, sign(null, text, own.key))).toBe(true);
    expect(verify(null, text, known, sign(null, text, generateKeyPairSync("ed25519").privateKey))).toBe(false);
  });
  test.each(["", "SU", "SAAAA", "U".repeat(56), "su".repeat(29)])("%p is no seed and no key", (text) => {
    expect([ownKeyOf(text), publicKeysIn(text), publicKeysIn(JSON.stringify({ auth: text }))].filter(Boolean)).toEqual(
      /^U{56}$/.test(text) ? [expect.anything()] : [],
    );
  });
  test("a file that is no seed is named, and not replaced", () => {
    const other = mkdtempSync(join(tmpdir(), "callagent-users-"));
    writeFileSync(join(other, seedFile("auth")), "no seed");
    expect(() => makeBusUsers(other, NAMESPACE)).toThrow(/auth\.nk holds no seed/);
    rmSync(other, { recursive: true });
  });
});

describe("the permissions", () => {
  test("of one service, in full", () =>
    expect(permissionsOf("webhook", "ns")).toEqual({
      publish: [
        ...["DISCONNECT", "DISCOVER", "HEARTBEAT", "INFO", "PING"].map((p) => `MOL-ns.${p}`),
        ...["DISCOVER", "INFO", "PING", "PONG"].map((p) => `MOL-ns.${p}.>`),
        ...["auth", "dialer", "leads", "merchants"].map((s) => `MOL-ns.REQ.${s}.>`),
        ...["config", "gateway", "leads", "merchants"].map((s) => `MOL-ns.RES.${s}.>`),
        "MOL-ns.EVENT.gateway.>",
      ],
      subscribe: [
        ...["DISCONNECT", "DISCOVER", "HEARTBEAT", "INFO", "PING"].map((p) => `MOL-ns.${p}`),
        ...["REQ", "RES", "EVENT", "DISCOVER", "INFO", "PING", "PONG"].map((p) => `MOL-ns.${p}.webhook.>`),
        "MOL-ns.PONG.health.>",
      ],
    }));
});

describe("a NATS server with these users", () => {
  let nats: NatsServer;
  const connections = new Map<ServiceName, NatsConnection>();
  /** What the server refused, `<service> publish|subscription <subject>`. */
  const refused = new Set<string>();

  beforeAll(async () => {
    nats = await startNats({ config: join(folder, USERS_FILE) });
    for (const name of SERVICE_NAMES) {
      const connection = await connect({
        servers: nats.url,
        authenticator: nkeyAuthenticator(Buffer.from(read(seedFile(name)).trim())),
      });
      connections.set(name, connection);
      void (async () => {
        for await (const { permissionContext: of } of connection.status())
          if (of) refused.add(`${name} ${of.operation} ${of.subject}`);
      })();
    }
  });
  afterAll(async () => {
    for (const connection of connections.values()) await connection.close();
    await nats?.stop();
  });

  const of = (name: ServiceName): NatsConnection =>
    connections.get(name) ??
    (() => {
      throw new Error(`${name} is not connected`);
    })();
  const subject = (packet: string, to: ServiceName): string => `MOL-${NAMESPACE}.${packet}.${to}.some-node-7`;

  test("refuses everything that is not a service's own, for each pair of services", async () => {
    const forbidden: string[] = [];
    for (const name of SERVICE_NAMES) {
      const may = { REQ: calleesOf(name), RES: callersOf(name), EVENT: listenersOf(name) };
      for (const other of SERVICE_NAMES)
        for (const [packet, allowed] of Object.entries(may)) {
          of(name).publish(subject(packet, other), "{}");
          if (!allowed.includes(other)) forbidden.push(`${name} publish ${subject(packet, other)}`);
          of(name).subscribe(subject(packet, other), { callback: () => undefined });
          if (other !== name) forbidden.push(`${name} subscription ${subject(packet, other)}`);
        }
      for (const all of [">", `MOL-${NAMESPACE}.>`, `MOL-${NAMESPACE}.REQ.>`, "_INBOX.>", "$SYS.>"]) {
        of(name).subscribe(all, { callback: () => undefined });
        forbidden.push(`${name} subscription ${all}`);
      }
      await of(name).flush();
    }
    expect(forbidden.length).toBeGreaterThan(500);
    await until("the last refusal", () => (refused.size >= forbidden.length ? true : undefined));
    expect([...refused].sort()).toEqual(forbidden.sort());
  });

  test("lets a request through to the service that it is for", async () => {
    const heard: string[] = [];
    of("leads").subscribe(`MOL-${NAMESPACE}.REQ.leads.web-1`, { callback: (_e, m) => heard.push(m.string()) });
    await of("leads").flush();
    of("gateway").publish(`MOL-${NAMESPACE}.REQ.leads.web-1`, "a push");
    of("auth").publish(`MOL-${NAMESPACE}.REQ.leads.web-1`, "no push");
    await Promise.all([of("auth").flush(), of("gateway").flush()]);
    await until("the request", () => (heard.length > 0 ? true : undefined));
    expect(heard).toEqual(["a push"]);
  });

  test("knows nobody without a key of the folder", async () => {
    await expect(connect({ servers: nats.url, reconnect: false })).rejects.toThrow(/Authorization/i);
  });
});
