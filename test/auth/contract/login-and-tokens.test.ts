import { generateKeyPairSync } from "node:crypto";
import { SignJWT } from "jose";
import { MongoClient, type Db } from "mongodb";
import { ServiceBroker } from "moleculer";
import auth from "../../../services/auth/auth.service.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { provideDeps } from "../../../shared/process/process-deps.ts";
import { randomIds, sha256 } from "../../../shared/ids.ts";
import { rootLog } from "../../../shared/process/log.ts";
import { BusValidator } from "../../../shared/bus/bus-validator.ts";
import { asAdmin, asMerchant, asReseller, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const EMAIL = "Root@Example.com";
const PASSWORD = "a long first password";
const clock = virtualClock();
const env = {
  JWT_PRIVATE_KEY: pem.replaceAll("\n", "\\n"),
  ADMIN_EMAIL: EMAIL,
  ADMIN_PASSWORD: PASSWORD,
  ACCESS_TOKEN_TTL_SECONDS: "3600",
  S2S_TOKEN_TTL_DAYS: "30",
};
const merchants = standIn("merchants", {
  lookup: ({ reseller_id, merchant_id }) => ({
    reseller: reseller_id === "r1",
    merchant: reseller_id === "r1" && (merchant_id === undefined || merchant_id === "m1"),
  }),
  active: () => ({ active: true }),
});

const lines: string[] = [];
let stage: Stage;
let client: MongoClient;
let db: Db;
beforeAll(async () => {
  stage = await setStage({
    services: [auth, merchants],
    env: { ...env, LOG_LEVEL: "warn" },
    clock,
    onLog: (line) => lines.push(line),
  });
  client = await MongoClient.connect(stage.uri);
  db = client.db();
});
afterAll(async () => {
  await client.close();
  await stage.stop();
});

const login = (email: string, password: string) => stage.bus.call("auth.login", { email, password });
const failure = (type: string) => expect.objectContaining({ type });

describe("log-in", () => {
  test("the first admin logs in, however the e-mail is capitalised", async () => {
    const answer = await login("rOOT@example.COM", PASSWORD);
    expect(answer).toEqual({
      access_token: expect.any(String),
      token_type: "bearer",
      user: { id: expect.any(String), email: "root@example.com", role: "admin", reseller_id: null },
    });
    expect(await stage.bus.call("auth.identify", { token: answer.access_token })).toEqual({
      kind: "user",
      id: answer.user.id,
      role: "admin",
      reseller_id: null,
      merchant_id: null,
    });
  });

  test("a wrong password and an unknown e-mail get the same answer", async () => {
    const wrong = (await login("root@example.com", "not the password").catch((e: unknown) => e)) as Error & {
      type: string;
    };
    const unknown = (await login("nobody@example.com", "not the password").catch((e: unknown) => e)) as Error & {
      type: string;
    };
    expect([wrong.type, wrong.message]).toEqual(["INVALID_CREDENTIALS", unknown.message]);
    expect(unknown.type).toBe("INVALID_CREDENTIALS");
  });

  test("operators and other types in place of texts fail the contract", async () => {
    const injected = { email: { $gt: "" }, password: { $ne: 1 } } as unknown as { email: string; password: string };
    await expect(stage.bus.call("auth.login", injected)).rejects.toEqual(failure("VALIDATION_ERROR"));
  });

  test("the eleventh failed attempt within a minute must wait; successful log-ins are not counted", async () => {
    for (let i = 0; i < 12; i++) await login(EMAIL, PASSWORD);
    for (let i = 0; i < 10; i++)
      await expect(login("mallory@example.com", "guess")).rejects.toEqual(failure("INVALID_CREDENTIALS"));
    await expect(login("MALLORY@example.com", "guess")).rejects.toMatchObject({
      type: "RATE_LIMITED",
      data: { retry_after_seconds: 60 },
    });
    await clock.advance(60_000);
    await expect(login("mallory@example.com", "guess")).rejects.toEqual(failure("INVALID_CREDENTIALS"));
  });

  test("a log-in is in the audit log, with the client's address", async () => {
    const address = "203.0.113.31";
    const { user } = await stage.bus.call("auth.login", { email: "root@example.com", password: PASSWORD, address });
    const asked = { by: asAdmin, subject: user.id, action: "user.logged_in", limit: 1 };
    const { entries } = await stage.bus.call("auth.listAudit", asked);
    expect(entries[0]).toMatchObject({ actor: { kind: "user", id: user.id, role: "admin" }, details: { address } });
  });

  test("failures and hold-ups are in the log at most once a minute each, without e-mail and password", async () => {
    await clock.advance(120_000);
    lines.length = 0;
    for (let i = 0; i < 15; i++)
      await stage.bus
        .call("auth.login", { email: "eve@example.com", password: "my guess", address: "203.0.113.9" })
        .catch(() => undefined);
    const said = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(said.map(({ event, address, times }) => [event, address, times])).toEqual([
      ["auth.login_failed", "203.0.113.9", expect.any(Number)],
      ["auth.login_locked", "203.0.113.9", expect.any(Number)],
    ]);
    expect(lines.join("")).not.toMatch(/eve@|my guess/);
  });

  test("a second replica with another ADMIN_PASSWORD leaves the admin as it is", async () => {
    const replica = new ServiceBroker({ logger: false, nodeID: "replica", validator: new BusValidator() });
    const second = readEnv({
      ...env,
      LOG_LEVEL: "silent",
      ADMIN_PASSWORD: "quite another password",
      MONGODB_URI: stage.uri,
    });
    provideDeps(replica, { env: second, clock, ids: randomIds, log: rootLog(second), random: Math.random });
    replica.createService(auth);
    await replica.start();
    await replica.stop();
    expect(await db.collection("users").countDocuments()).toBe(1);
    await login(EMAIL, PASSWORD);
    await expect(login(EMAIL, "quite another password")).rejects.toEqual(failure("INVALID_CREDENTIALS"));
  });

  test("an inactive user is refused, with every token", async () => {
    const { access_token } = await login(EMAIL, PASSWORD);
    await db.collection("users").updateOne({ email: "root@example.com" }, { $set: { is_active: false } });
    await expect(stage.bus.call("auth.identify", { token: access_token })).rejects.toEqual(failure("UNAUTHENTICATED"));
    await expect(login(EMAIL, PASSWORD)).rejects.toEqual(failure("INVALID_CREDENTIALS"));
    await db.collection("users").updateOne({ email: "root@example.com" }, { $set: { is_active: true } });
  });

  test("an access token ends with its time", async () => {
    const { access_token } = await login(EMAIL, PASSWORD);
    await clock.advance(3600_000);
    await expect(stage.bus.call("auth.identify", { token: access_token })).rejects.toEqual(failure("UNAUTHENTICATED"));
  });

  test("a token signed with another key is refused", async () => {
    const now = Math.floor(clock.now().getTime() / 1000);
    const forged = await new SignJWT({ role: "admin" })
      .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt" })
      .setIssuer("callagent")
      .setAudience("callagent-api")
      .setSubject("x")
      .setIssuedAt(now)
      .setExpirationTime(now + 60)
      .sign(generateKeyPairSync("ed25519").privateKey);
    await expect(stage.bus.call("auth.identify", { token: forged })).rejects.toEqual(failure("UNAUTHENTICATED"));
  });
});

describe("server-to-server tokens", () => {
  test("are issued, stand for their scope, and are kept as hash and prefix only", async () => {
    const issued = await stage.bus.call("auth.issueS2s", {
      by: asReseller("r1"),
      name: "crm",
      role: "merchant",
      reseller_id: "r1",
      merchant_id: "m1",
    });
    expect(issued).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      token: expect.stringMatching(/^cag_s2s_[A-Za-z0-9_-]{43}$/),
      name: "crm",
      role: "merchant",
      reseller_id: "r1",
      merchant_id: "m1",
      created_at: clock.now().toISOString(),
    });
    const stored = await db.collection("s2s_tokens").findOne({ name: "crm" });
    expect(stored).toMatchObject({
      token_hash: sha256(issued.token),
      token_prefix: issued.token.slice(0, 14),
      issued_by: { kind: "s2s", id: "r-r1" },
    });
    expect(JSON.stringify(stored)).not.toContain(issued.token.slice(14));
    expect(await stage.bus.call("auth.identify", { token: issued.token })).toEqual({
      kind: "s2s",
      id: String(stored?._id),
      role: "merchant",
      reseller_id: "r1",
      merchant_id: "m1",
    });
  });

  test("a use is recorded at most once a minute", async () => {
    const { token } = await stage.bus.call("auth.issueS2s", {
      by: asAdmin,
      name: "seen",
      role: "reseller",
      reseller_id: "r1",
    });
    const seen = async (): Promise<string | undefined> =>
      (await db.collection("s2s_tokens").findOne({ name: "seen" }))?.["last_seen_at"]?.toISOString();
    await stage.bus.call("auth.identify", { token });
    const first = await seen();
    expect(first).toBe(clock.now().toISOString());
    await clock.advance(59_000);
    await stage.bus.call("auth.identify", { token });
    expect(await seen()).toBe(first);
    await clock.advance(2000);
    await stage.bus.call("auth.identify", { token });
    expect(await seen()).toBe(clock.now().toISOString());
  });

  test("end with their days, and at once when revoked", async () => {
    const { token } = await stage.bus.call("auth.issueS2s", {
      by: asAdmin,
      name: "short",
      role: "reseller",
      reseller_id: "r1",
    });
    const other = await stage.bus.call("auth.issueS2s", {
      by: asAdmin,
      name: "revoked",
      role: "reseller",
      reseller_id: "r1",
    });
    await db.collection("s2s_tokens").updateOne({ name: "revoked" }, { $set: { revoked_at: clock.now() } });
    await expect(stage.bus.call("auth.identify", { token: other.token })).rejects.toEqual(failure("UNAUTHENTICATED"));
    await clock.advance(30 * 86_400_000 - 1);
    await stage.bus.call("auth.identify", { token });
    await clock.advance(1);
    await expect(stage.bus.call("auth.identify", { token })).rejects.toEqual(failure("UNAUTHENTICATED"));
  });

  test.each([
    ["an unknown reseller", { by: asAdmin, role: "reseller", reseller_id: "r9" }, "RESELLER_UNKNOWN"],
    ["no merchant", { by: asAdmin, role: "merchant", reseller_id: "r1", merchant_id: "m9" }, "VALIDATION_FAILED"],
    ["no merchant", { by: asAdmin, role: "user", reseller_id: "r1" }, "VALIDATION_FAILED"],
    ["a foreign reseller", { by: asReseller("r2"), role: "reseller", reseller_id: "r1" }, "FORBIDDEN"],
    [
      "a merchant's wish",
      { by: asMerchant("r1", "m1"), role: "user", reseller_id: "r1", merchant_id: "m1" },
      "FORBIDDEN",
    ],
  ] as const)("%s: refused, nothing written", async (_, wanted, code) => {
    const before = await db.collection("s2s_tokens").countDocuments();
    await expect(stage.bus.call("auth.issueS2s", { name: "x", ...wanted })).rejects.toEqual(failure(code));
    expect(await db.collection("s2s_tokens").countDocuments()).toBe(before);
  });

  test("the role admin can't be asked for", async () => {
    const wanted = { by: asAdmin, name: "x", role: "admin", reseller_id: "r1" } as unknown as {
      by: typeof asAdmin;
      name: string;
      role: "user";
      reseller_id: string;
    };
    await expect(stage.bus.call("auth.issueS2s", wanted)).rejects.toEqual(failure("VALIDATION_ERROR"));
  });

  test.each(["cag_s2s_", `cag_s2s_${"A".repeat(43)}`, "Bearer x", "{}"])("%s is refused", async (token) => {
    await expect(stage.bus.call("auth.identify", { token })).rejects.toEqual(failure("UNAUTHENTICATED"));
  });
});

describe("start", () => {
  const create = (over: Record<string, string>): void => {
    const broker = new ServiceBroker({ logger: false, validator: new BusValidator() });
    const given = readEnv({ LOG_LEVEL: "silent", ...over });
    provideDeps(broker, { env: given, clock, ids: randomIds, log: rootLog(given), random: Math.random });
    broker.createService(auth);
  };
  test("is refused with one line when the signing key is missing or no key", () => {
    expect(() => create({})).toThrow(
      /^auth can't start: JWT_PRIVATE_KEY is not set;.*openssl genpkey -algorithm ed25519\)$/,
    );
    expect(() => create({ JWT_PRIVATE_KEY: "x" })).toThrow(
      /^auth can't start: JWT_PRIVATE_KEY is not an Ed25519 private key/,
    );
  });
});
