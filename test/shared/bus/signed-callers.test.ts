import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServiceBroker } from "moleculer";
import { asAdmin, asUser, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { KEYS_FILE, makeBusUsers, seedFile } from "../../../shared/bus/bus-keys.ts";
import { busSigners } from "../../../shared/bus/bus-signers.ts";
import { busTrust, type BusTrust } from "../../../shared/bus/bus-trust.ts";
import { busOf, type Bus } from "../../../shared/bus/bus.ts";
import { ACTIONS, EVENTS, mayCall, mayEmit, SERVICE_NAMES } from "../../../shared/bus/rights.ts";
import { PROOF_SECONDS, signatures } from "../../../shared/bus/signatures.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { contractOf, contracts, type ServiceName } from "../../../shared/contracts/index.ts";
import { codeOf } from "../../../shared/errors.ts";
import { randomIds } from "../../../shared/ids.ts";
import { readEnv, type Env } from "../../../shared/process/env.ts";
import { rootLog } from "../../../shared/process/log.ts";
import { provideDeps } from "../../../shared/process/process-deps.ts";
import { systemClock } from "../../../shared/time/clock.ts";

const NAMESPACE = "signed";
const folder = mkdtempSync(join(tmpdir(), "callagent-signed-"));
const strangers = mkdtempSync(join(tmpdir(), "callagent-signed-"));
afterAll(() => [folder, strangers].forEach((f) => rmSync(f, { recursive: true })));
makeBusUsers(folder, NAMESPACE);
makeBusUsers(strangers, NAMESPACE);

const settings = (service: ServiceName, more: Record<string, string> = {}): Record<string, string> => ({
  NAMESPACE,
  LOG_LEVEL: "warn",
  BUS_TRUST: "signed",
  BUS_KEYS_FILE: join(folder, KEYS_FILE),
  BUS_KEY_FILE: join(folder, seedFile(service)),
  ...more,
});

let now_ms = Date.parse("2026-01-01T00:00:00Z");
const clock = { ...systemClock, now: () => new Date(now_ms) };
const said: string[] = [];
const depsWith = (env: Env) => ({
  env,
  clock,
  ids: randomIds,
  random: Math.random,
  log: rootLog(env, { write: (line) => void said.push(line) }),
});
const trustWith = (env: Env): BusTrust => busTrust(busSigners(env).signers, env.BUS_TRUST === "signed", depsWith(env));
const trusts = new Map(SERVICE_NAMES.map((name) => [name, trustWith(readEnv(settings(name)))]));
const trust = (name: ServiceName): BusTrust =>
  trusts.get(name) ??
  (() => {
    throw new Error(name);
  })();

const owner = (action: string): ServiceName => SERVICE_NAMES.find((s) => action.startsWith(`${s}.`)) ?? "gateway";
const takesBy = (action: string): boolean =>
  JSON.stringify(contractOf(action)?.params).includes(`"by":{"type":"object"`);
const codeFor = (work: () => void): string => {
  try {
    work();
    return "admitted";
  } catch (error) {
    return codeOf(error);
  }
};
const proven = (by: By): By => trust("auth").proven(by);
const node = { nodeID: "gateway.1" };

describe("a call that comes over the bus", () => {
  test("is admitted from those that may make it and refused from all others, for each pair of service and action", () => {
    const params = { by: proven(asAdmin) };
    const wrong: string[] = [];
    let forbidden = 0;
    for (const action of ACTIONS)
      for (const caller of SERVICE_NAMES) {
        const headers = trust(caller).callHeaders(action);
        const code = codeFor(() =>
          trust(owner(action)).admit(action, takesBy(action) ? params : {}, { headers, ...node }),
        );
        forbidden += mayCall(caller, action) ? 0 : 1;
        if (code !== (mayCall(caller, action) ? "admitted" : "FORBIDDEN")) wrong.push(`${caller} ${action} ${code}`);
      }
    expect(forbidden).toBeGreaterThan(1000);
    expect(wrong).toEqual([]);
  });

  const admitted = (headers: unknown, params: unknown = { by: proven(asAdmin) }): string =>
    codeFor(() => trust("leads").admit("leads.abort", params, { headers, ...node }));
  const header = (token: string): object => ({ "callagent-caller": token });
  const tokenOf = (headers: Record<string, string> | undefined): string => Object.values(headers ?? {})[0] ?? "";

  test("is refused without a token, with another's, for another service, with another key's or of another namespace", () => {
    const good = tokenOf(trust("gateway").callHeaders("leads.abort"));
    expect(admitted(header(good))).toBe("admitted");
    const stranger = trustWith(
      readEnv({
        ...settings("gateway"),
        BUS_KEYS_FILE: join(strangers, KEYS_FILE),
        BUS_KEY_FILE: join(strangers, seedFile("gateway")),
      }),
    );
    const elsewhere = trustWith(readEnv({ ...settings("gateway"), NAMESPACE: "other" }));
    const [caller = "", expiry = "", signature = ""] = good.split(".");
    const bad: unknown[] = [
      undefined, null, "gateway", {}, header(""), header(caller), header("x".repeat(100_000)), { "callagent-caller": { token: good } },
      header(tokenOf(trust("gateway").callHeaders("auth.login"))),
      header(tokenOf(trust("gateway").eventHeaders())),
      header(tokenOf(trust("dialer").callHeaders("leads.abort"))),
      header(tokenOf(stranger.callHeaders("leads.abort"))),
      header(tokenOf(elsewhere.callHeaders("leads.abort"))),
      header(`dialer.${expiry}.${signature}`), header(`${caller}.${Number(expiry) + 1}.${signature}`), header(`${caller}.${expiry}.`),
    ]; // prettier-ignore
    expect(bad.map((headers) => admitted(headers))).toEqual(bad.map(() => "FORBIDDEN"));
  });

  test("is refused with a token that has expired; callers make new ones in time", () => {
    const old = tokenOf(trust("gateway").callHeaders("leads.abort"));
    now_ms += 299_000;
    expect(tokenOf(trust("gateway").callHeaders("leads.abort"))).toBe(old);
    now_ms += 2000;
    expect(tokenOf(trust("gateway").callHeaders("leads.abort"))).not.toBe(old);
    expect(admitted(header(old))).toBe("admitted");
    now_ms += 300_000;
    expect(admitted(header(old))).toBe("FORBIDDEN");
  });

  const fromGateway = (by: unknown): string => admitted(trust("gateway").callHeaders("leads.abort"), { by });

  test("`by` alone makes nobody an admin: only auth's signature of exactly this asker counts", () => {
    const user = proven(asUser("r1", "m1"));
    expect(fromGateway(user)).toBe("admitted");
    expect(fromGateway(proven(asAdmin))).toBe("admitted");
    const forged: unknown[] = [
      asAdmin,
      { ...user, role: "admin" },
      { ...user, reseller_id: "r2" },
      { ...user, merchant_id: null },
      { ...user, id: "another" },
      { ...user, kind: "user" },
      { ...asAdmin, proof: user.proof },
      { ...asAdmin, proof: "" },
      { ...asAdmin, proof: "9999999999.AAAA" },
      { ...user, proof: `${Number(user.proof?.split(".")[0]) + 1}.${user.proof?.split(".")[1]}` },
      null,
      "admin",
      undefined,
      {},
      [],
    ];
    expect(forged.map((by) => fromGateway(by))).toEqual(forged.map(() => "FORBIDDEN"));
  });
  test("another service's key proves nobody, and auth's proof expires", () => {
    const { signers } = busSigners(readEnv(settings("gateway")));
    if (!signers) throw new Error("no key");
    const own = signatures({ ...signers, name: "auth" }, NAMESPACE, clock).proofOf(asAdmin);
    expect(fromGateway({ ...asAdmin, proof: own })).toBe("FORBIDDEN");
    expect(trust("gateway").proven(asAdmin)).toEqual(asAdmin);
    const by = proven(asAdmin);
    now_ms += (PROOF_SECONDS - 1) * 1000;
    expect(fromGateway(by)).toBe("admitted");
    now_ms += 1000;
    expect(fromGateway(by)).toBe("FORBIDDEN");
  });
  test("`by` stands where it is looked for, in every contract", () => {
    for (const { name, actions } of Object.values(contracts))
      for (const [action, { params }] of Object.entries<{ params: object }>(actions)) {
        const places = JSON.stringify(params).split('["user","s2s"]').length - 1;
        // names who set a job up, whose proof is of long ago: nobody acts by it, and leads alone may call it
        const named = `${name}.${action}` === "auth.recordRun";
        const top = named || takesBy(`${name}.${action}`) ? 1 : 0;
        expect([`${name}.${action}`, places]).toEqual([`${name}.${action}`, top]);
      }
  });

  test("what is refused is counted and told once a minute, without token or proof", () => {
    said.length = 0;
    trusts.set("leads", trustWith(readEnv(settings("leads"))));
    for (let i = 0; i < 50; i++) admitted(trust("dialer").callHeaders("leads.abort"));
    for (let i = 0; i < 50; i++) fromGateway({ ...asAdmin, proof: "9999999999.SECRETPROOF" });
    const lines = said.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toEqual([
      expect.objectContaining({
        event: "bus.forbidden",
        action: "leads.abort",
        caller: "dialer",
        times: 1,
        why: "dialer has no right to it",
      }),
      expect.objectContaining({
        event: "bus.forbidden",
        action: "leads.abort",
        caller: "gateway",
        times: 1,
        why: "auth has not signed who asks",
      }),
    ]);
    expect(said.join("")).not.toMatch(/SECRETPROOF|dialer\.\d/);
  });
});

test("an event is heard from those that emit it and from no other, for each pair of service and event", () => {
  const wrong = EVENTS.flatMap((event) =>
    SERVICE_NAMES.filter((from) => {
      const heard = trust("scheduler").hears(event, { headers: trust(from).eventHeaders(), ...node });
      return heard !== mayEmit(from, event) || trust("scheduler").hears(event, { headers: {}, ...node });
    }).map((from) => `${from} ${event}`),
  );
  expect(wrong).toEqual([]);
});

describe("an open bus", () => {
  const open = trustWith(readEnv({ NAMESPACE }));
  const ready = trustWith(readEnv({ ...settings("gateway"), BUS_TRUST: "open" }));
  test("believes everybody, and signs nothing without a key", () => {
    open.admit("leads.abort", { by: asAdmin }, { headers: {}, ...node });
    expect([
      open.hears("lead.queued", { headers: {}, ...node }),
      open.callHeaders("leads.abort"),
      open.proven(asAdmin),
    ]).toEqual([true, undefined, asAdmin]);
    open.mustBe("leads");
  });
  test("is signed already by those that have their key, so that it can be closed one process after the other", () => {
    ready.admit("leads.abort", { by: asAdmin }, { headers: {}, ...node });
    expect(
      codeFor(() =>
        trust("leads").admit(
          "leads.abort",
          { by: proven(asAdmin) },
          { headers: ready.callHeaders("leads.abort"), ...node },
        ),
      ),
    ).toBe("admitted");
  });
});

test("a process with the key of another service, or with several services, does not start", () => {
  expect(() => trust("leads").mustBe("leads")).not.toThrow();
  expect(() => trust("leads").mustBe("auth")).toThrow(/the key of this process is that of leads, not of auth/);
});

describe("over a bus", () => {
  let stage: Stage;
  const brokers: ServiceBroker[] = [];
  const bus = { url: "Fake", namespace: `${NAMESPACE}-${randomUUID()}` };

  async function callerAs(env: Record<string, string>): Promise<Bus> {
    const broker = new ServiceBroker({
      namespace: bus.namespace,
      nodeID: randomUUID(),
      logger: false,
      transporter: "Fake" as never,
    });
    provideDeps(broker, depsWith(readEnv({ NODE_ENV: "test", ...env })));
    brokers.push(broker);
    await broker.start();
    await broker.waitForServices(["blacklist"]);
    return busOf(broker);
  }
  beforeAll(async () => {
    stage = await setStage({
      services: [standIn("blacklist", { list: () => ({ count: 0, entries: [], next_cursor: null }) })],
      env: settings("blacklist"),
      onLog: (line) => void said.push(line),
      clock,
      bus,
    });
  });
  afterAll(async () => {
    await Promise.all(brokers.map((b) => b.stop()));
    await stage?.stop();
  });
  const code = (work: Promise<unknown>): Promise<string> => work.then(() => "admitted", codeOf);

  test("a signed caller with a signed asker is answered; a forged asker, another service and a stranger are not", async () => {
    const gateway = await callerAs(settings("gateway"));
    const webhook = await callerAs(settings("webhook"));
    const by = proven(asAdmin);
    expect(await code(gateway.call("blacklist.list", { by }))).toBe("admitted");
    expect(await code(gateway.call("blacklist.list", { by: asAdmin }))).toBe("FORBIDDEN");
    expect(await code(webhook.call("blacklist.list", { by }))).toBe("FORBIDDEN");
    expect(await code((await callerAs({})).call("blacklist.list", { by }))).toBe("FORBIDDEN");
    expect(await code(stage.bus.call("blacklist.list", { by }))).toBe("FORBIDDEN");
  });
});
