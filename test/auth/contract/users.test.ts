import { generateKeyPairSync } from "node:crypto";
import { MongoClient, type Db } from "mongodb";
import auth from "../../../services/auth/auth.service.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { asAdmin, asReseller, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { needing } from "../../fixtures/database-abilities.ts";

const ROOT = { email: "root@example.com", password: "a long first password" };
const clock = virtualClock();
const inactive = new Set<string>();
const merchants = standIn("merchants", {
  lookup: ({ reseller_id, merchant_id }) => ({
    reseller: reseller_id !== "r9",
    merchant: reseller_id !== "r9" && (merchant_id === undefined || merchant_id.startsWith(`${reseller_id}-`)),
  }),
  active: ({ reseller_id, merchant_id }) => ({
    active: !inactive.has(reseller_id) && !inactive.has(merchant_id ?? ""),
  }),
});

let stage: Stage;
let client: MongoClient;
let db: Db;
beforeAll(async () => {
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  stage = await setStage({
    services: [auth, merchants],
    env: { JWT_PRIVATE_KEY: pem, ADMIN_EMAIL: ROOT.email, ADMIN_PASSWORD: ROOT.password },
    clock,
  });
  client = await MongoClient.connect(stage.uri);
  db = client.db();
});
afterAll(async () => {
  await client.close();
  await stage.stop();
});

const failure = (type: string) => expect.objectContaining({ type });
const PASSWORD = "correct horse battery";
type By = ParamsOf<"auth.createUser">["by"];
let count = 0;
const create = (over: Partial<ParamsOf<"auth.createUser">> = {}) =>
  stage.bus.call("auth.createUser", {
    by: asAdmin,
    email: `person${++count}@example.com`,
    password: PASSWORD,
    role: "reseller",
    reseller_id: "r1",
    ...over,
  });
const update = (id: string, change: Partial<ParamsOf<"auth.updateUser">>, by: By = asAdmin) =>
  stage.bus.call("auth.updateUser", { by, id, ...change });
const remove = (id: string, by: By = asAdmin) => stage.bus.call("auth.deleteUser", { by, id });
const login = async (email: string, password = PASSWORD) =>
  (await stage.bus.call("auth.login", { email, password })).access_token;
const identify = (token: string) => stage.bus.call("auth.identify", { token });
const isNobody = (token: string) => expect(identify(token)).rejects.toEqual(failure("UNAUTHENTICATED"));
const auditOf = async (subject: string) =>
  (await stage.bus.call("auth.listAudit", { by: asAdmin, subject })).entries.map((e) => [e.action, e.details]);

describe("creating", () => {
  test("gives the record without password; the user logs in and is who it is; the password is kept as argon2id only", async () => {
    const made = await create({
      by: asReseller("r1"),
      email: "Desk@Shop.example",
      role: "merchant",
      merchant_id: "r1-m1",
    });
    expect(made).toEqual({
      id: expect.any(String),
      access_given_by: { kind: "s2s", id: "r-r1" },
      email: "desk@shop.example",
      role: "merchant",
      reseller_id: "r1",
      merchant_id: "r1-m1",
      is_active: true,
      created_at: clock.now().toISOString(),
      updated_at: clock.now().toISOString(),
    });
    expect(await identify(await login("DESK@shop.example"))).toEqual({
      kind: "user",
      id: made.id,
      role: "merchant",
      reseller_id: "r1",
      merchant_id: "r1-m1",
    });
    expect(
      (await db.collection<{ _id: string; password_hash: string }>("users").findOne({ _id: made.id }))?.password_hash,
    ).toMatch(/^\$argon2id\$/);
    expect(Object.fromEntries(await auditOf(made.id))).toEqual({
      "user.created": { email: "desk@shop.example", role: "merchant" },
      "user.logged_in": { address: "unknown" },
    });
  });

  const refused: [string, Partial<ParamsOf<"auth.createUser">>, string][] = [
    ["an e-mail that is taken, in other letters", { email: "ROOT@example.com" }, "EMAIL_EXISTS"],
    ["eleven characters", { password: "12345678901" }, "VALIDATION_ERROR"],
    ["no e-mail address", { email: "desk" }, "VALIDATION_ERROR"],
    ["an unknown reseller", { reseller_id: "r9" }, "RESELLER_NOT_FOUND"],
    ["another reseller's merchant", { role: "user", merchant_id: "r2-m1" }, "MERCHANT_NOT_FOUND"],
    ["a user of no merchant", { role: "user" }, "VALIDATION_FAILED"],
    ["an admin by a reseller", { by: asReseller("r1"), role: "admin", reseller_id: null }, "FORBIDDEN"],
    ["in another reseller", { by: asReseller("r2") }, "FORBIDDEN"],
  ];
  test.each(refused)("%s is refused, nothing is written", async (_, over, code) => {
    const before = await db.collection("users").countDocuments();
    await expect(create(over)).rejects.toEqual(failure(code));
    expect(await db.collection("users").countDocuments()).toBe(before);
  });
});

describe("reading", () => {
  test("a reseller sees its own; a foreign user and an unknown one look the same", async () => {
    const [mine, other] = [await create({ reseller_id: "r3" }), await create({ reseller_id: "r4" })];
    expect((await stage.bus.call("auth.listUsers", { by: asReseller("r3") })).users).toEqual([mine]);
    expect((await stage.bus.call("auth.listUsers", { by: asReseller("r3"), reseller_id: "r4" })).count).toBe(0);
    expect(await stage.bus.call("auth.getUser", { by: asReseller("r3"), id: mine.id })).toEqual(mine);
    const words = (id: string) =>
      stage.bus.call("auth.getUser", { by: asReseller("r3"), id }).then(
        () => "found",
        (e: { type: string; message: string }) => `${e.type} ${e.message}`,
      );
    expect(await words(other.id)).toBe(await words("nobody"));
    expect(await words("nobody")).toMatch(/^USER_NOT_FOUND /);
  });

  test("filters", async () => {
    const user = await create({ reseller_id: "r5", role: "user", merchant_id: "r5-m1" });
    const off = await create({ reseller_id: "r5" });
    await update(off.id, { is_active: false });
    const ids = async (filter: Partial<ParamsOf<"auth.listUsers">>) =>
      (await stage.bus.call("auth.listUsers", { by: asReseller("r5"), ...filter })).users.map((u) => u.id);
    expect(await ids({ role: "user" })).toEqual([user.id]);
    expect(await ids({ is_active: false })).toEqual([off.id]);
    expect(await ids({ merchant_id: "r5-m1" })).toEqual([user.id]);
    expect(await ids({ email: user.email.toUpperCase() })).toEqual([user.id]);
    expect((await ids({})).sort()).toEqual([user.id, off.id].sort());
  });
});

describe("changing", () => {
  test("a subset; the audit log names what changed and never the password", async () => {
    const made = await create();
    await clock.advance(1000);
    const changed = await update(made.id, { email: "New@example.com", password: "another good password" });
    expect(changed).toEqual({ ...made, email: "new@example.com", updated_at: clock.now().toISOString() });
    await login("new@example.com", "another good password");
    expect(await auditOf(made.id)).toContainEqual(["user.updated", { email: "new@example.com", password: "changed" }]);
    await expect(update(made.id, { email: ROOT.email })).rejects.toEqual(failure("EMAIL_EXISTS"));
    await expect(update(made.id, {})).rejects.toEqual(failure("VALIDATION_FAILED"));
    await expect(update("nobody", { is_active: true })).rejects.toEqual(failure("USER_NOT_FOUND"));
  });

  test("a new role takes what it needs", async () => {
    const made = await create({ role: "user", merchant_id: "r1-m1" });
    expect(await update(made.id, { role: "reseller" })).toMatchObject({
      role: "reseller",
      reseller_id: "r1",
      merchant_id: null,
    });
    await expect(update(made.id, { role: "merchant" })).rejects.toMatchObject({
      type: "VALIDATION_FAILED",
      data: { errors: [{ path: "merchant_id" }] },
    });
    await expect(update(made.id, { role: "merchant", merchant_id: "r2-m1" })).rejects.toEqual(
      failure("MERCHANT_NOT_FOUND"),
    );
    expect(await update(made.id, { role: "merchant", merchant_id: "r1-m2" })).toMatchObject({
      role: "merchant",
      merchant_id: "r1-m2",
    });
  });

  test("another's user is not found; no user raises its own role", async () => {
    const made = await create({ reseller_id: "r4" });
    await expect(update(made.id, { is_active: false }, asReseller("r3"))).rejects.toEqual(failure("USER_NOT_FOUND"));
    await expect(remove(made.id, asReseller("r3"))).rejects.toEqual(failure("USER_NOT_FOUND"));
    const root = (await stage.bus.call("auth.listUsers", { by: asAdmin, role: "admin" })).users[0]!;
    await expect(update(root.id, { password: PASSWORD }, asReseller("r3"))).rejects.toEqual(failure("USER_NOT_FOUND"));
    await expect(remove(root.id, asReseller("r3"))).rejects.toEqual(failure("USER_NOT_FOUND"));
    await expect(
      update(
        made.id,
        { role: "admin" },
        { kind: "user", id: made.id, role: "reseller", reseller_id: "r4", merchant_id: null },
      ),
    ).rejects.toEqual(failure("FORBIDDEN"));
  });
});

describe("what ends access tokens", () => {
  const ends: [string, (id: string) => Promise<unknown>][] = [
    ["with a new password", (id) => update(id, { password: "another good password" })],
    ["when the user is switched off", (id) => update(id, { is_active: false })],
    [
      "and stay ended when it is switched on again",
      async (id) => {
        await update(id, { is_active: false });
        await update(id, { is_active: true });
      },
    ],
    ["when the user is deleted", (id) => remove(id)],
    [
      "with their merchant",
      async () => {
        inactive.add("r1-m7");
      },
    ],
    [
      "with their reseller",
      async () => {
        inactive.add("r1");
      },
    ],
  ];
  test.each(ends)("%s", async (_, end) => {
    const { id, email } = await create({ role: "user", merchant_id: "r1-m7" });
    const token = await login(email);
    await identify(token);
    await end(id);
    await isNobody(token);
    if (inactive.size > 0) await expect(login(email)).rejects.toEqual(failure("INVALID_CREDENTIALS"));
    inactive.clear();
  });

  test("not with another e-mail, and the new role and scope hold at once", async () => {
    const { id, email } = await create({ role: "user", merchant_id: "r1-m1" });
    const token = await login(email);
    await update(id, { email: "moved@example.com", role: "merchant", merchant_id: "r1-m2" });
    expect(await identify(token)).toMatchObject({ role: "merchant", merchant_id: "r1-m2" });
  });
});

describe("the last active admin", () => {
  const admins = async () =>
    (await stage.bus.call("auth.listUsers", { by: asAdmin, role: "admin", is_active: true })).users;

  test("can't be deleted, switched off or demoted, and is left as it was", async () => {
    const [root] = await admins();
    const token = await login(ROOT.email, ROOT.password);
    const ended = await Promise.allSettled([
      remove(root!.id),
      update(root!.id, { is_active: false }),
      update(root!.id, { role: "reseller", reseller_id: "r1", email: "else@example.com" }),
    ]);
    const refused = { status: "rejected", reason: failure("RESOURCE_IN_USE") };
    expect(ended).toEqual([refused, refused, refused]);
    expect(await admins()).toEqual([root]);
    expect(await identify(token)).toMatchObject({ role: "admin" });
    expect(await update(root!.id, { email: ROOT.email })).toMatchObject({ email: ROOT.email });
  });

  test("one of two can; two that leave at once leave one", async () => {
    for (let round = 0; round < 5; round++) {
      const [root] = await admins();
      const second = await create({ role: "admin", reseller_id: null });
      const [a, b] =
        round % 2
          ? [remove(root!.id), update(second.id, { is_active: false })]
          : [update(root!.id, { role: "reseller", reseller_id: "r1" }), remove(second.id)];
      await Promise.allSettled([a, b]);
      expect((await admins()).length).toBeGreaterThanOrEqual(1);
      for (const spare of (await admins()).slice(1)) await remove(spare.id);
    }
  });
});

needing("plans", () => {
  describe("every filter has an index", () => {
    const cases: ["users" | "s2s_tokens", object, string][] = [
      ["users", {}, "newest"],
      ["users", { role: "user" }, "by_role"],
      ["users", { is_active: false }, "by_active"],
      ["users", { email: "a@b.c" }, "email"],
      ["users", { merchant_id: "m" }, "by_merchant"],
      ["users", { reseller_id: "r" }, "by_reseller"],
      ["users", { reseller_id: "r", role: "user" }, "by_reseller_role"],
      ["users", { reseller_id: "r", is_active: true }, "by_reseller_active"],
      ["s2s_tokens", {}, "newest"],
      ["s2s_tokens", { role: "user" }, "by_role"],
      ["s2s_tokens", { merchant_id: "m" }, "by_merchant"],
      ["s2s_tokens", { reseller_id: "r" }, "by_reseller"],
      ["s2s_tokens", { reseller_id: "r", role: "user" }, "by_reseller_role"],
    ];
    test.each(cases)("%s %j: %s", async (collection, filter, index) => {
      const { queryPlanner } = (await db
        .collection(collection)
        .find(filter)
        .sort({ created_at: -1, _id: -1 })
        .explain("queryPlanner")) as { queryPlanner: { winningPlan: object } };
      const plan = JSON.stringify(queryPlanner.winningPlan);
      expect(/"indexName":"(\w+)"/.exec(plan)?.[1]).toBe(index);
      if (index !== "email") expect(plan).not.toContain('"SORT"'); // of one document there is nothing to sort
    });
  });
});
