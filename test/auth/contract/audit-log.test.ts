import { generateKeyPairSync } from "node:crypto";
import { MongoClient, type Db } from "mongodb";
import auth from "../../../services/auth/auth.service.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { asAdmin, asMerchant, asReseller, asUser, setStage, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { needing } from "../../fixtures/database-abilities.ts";

const clock = virtualClock();
let stage: Stage;
let client: MongoClient;
let db: Db;
beforeAll(async () => {
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  stage = await setStage({ services: [auth], env: { JWT_PRIVATE_KEY: pem }, clock });
  client = await MongoClient.connect(stage.uri);
  db = client.db();
});
afterAll(async () => {
  await client.close();
  await stage.stop();
});

type Entry = ParamsOf<"auth.record">;
const record = (over: Partial<Entry> = {}) =>
  stage.bus.call("auth.record", {
    by: asUser("r1", "m1"),
    action: "lead.aborted",
    subject: "lead-1",
    reseller_id: "r1",
    merchant_id: "m1",
    ...over,
  });
const list = (asked: Partial<ParamsOf<"auth.listAudit">> = {}) =>
  stage.bus.call("auth.listAudit", { by: asAdmin, ...asked });

test("an entry comes back whole", async () => {
  await record({ details: { reason: "order cancelled" } });
  expect(await list()).toEqual({
    count: 1,
    next_cursor: null,
    entries: [
      {
        id: expect.any(String),
        actor: { kind: "s2s", id: "u-m1", role: "user" },
        action: "lead.aborted",
        subject: "lead-1",
        reseller_id: "r1",
        merchant_id: "m1",
        details: { reason: "order cancelled" },
        at: clock.now().toISOString(),
      },
    ],
  });
});

test.each([
  ["an action of another form", { action: "Lead Aborted" }],
  ["no subject", { subject: "" }],
  ["too many details", { details: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, i])) }],
])("%s is refused by the contract", async (_, over) => {
  await expect(record(over)).rejects.toMatchObject({ type: "VALIDATION_ERROR" });
});

test("a reseller sees its own entries only, also when it asks for another's; entries without owner are for admins", async () => {
  await record({ subject: "seen-r2", reseller_id: "r2", merchant_id: null });
  await record({ subject: "seen-nobody", by: asAdmin, reseller_id: null, merchant_id: null });
  await record({ subject: "seen-m2", reseller_id: "r1", merchant_id: "m2" });
  const subjects = async (by: ParamsOf<"auth.listAudit">["by"], reseller_id?: string) =>
    (await list({ by, ...(reseller_id ? { reseller_id } : {}) })).entries.map((e) => e.subject).sort();
  expect(await subjects(asReseller("r2"))).toEqual(["seen-r2"]);
  expect(await subjects(asReseller("r1"), "r2")).toEqual([]);
  expect(await subjects(asReseller("r1"))).toEqual(["lead-1", "seen-m2"]);
  expect(await subjects(asMerchant("r1", "m2"))).toEqual(["seen-m2"]);
  expect(await subjects(asAdmin, "r2")).toEqual(["seen-r2"]);
  expect(await subjects(asAdmin)).toEqual(["lead-1", "seen-m2", "seen-nobody", "seen-r2"]);
});

test("filters: action, subject, from inclusive, to exclusive; pages stand still while entries are added", async () => {
  const start = clock.now();
  for (let i = 0; i < 5; i++) {
    await clock.advance(1000);
    await record({ action: "user.updated", subject: `u${i}`, reseller_id: "r3" });
  }
  const by = asReseller("r3");
  const at = (s: number) => new Date(start.getTime() + s * 1000).toISOString();
  const subjects = async (asked: Partial<ParamsOf<"auth.listAudit">>) =>
    (await list({ by, ...asked })).entries.map((e) => e.subject);
  expect(await subjects({ subject: "u3" })).toEqual(["u3"]);
  expect(await subjects({ action: "user.deleted" })).toEqual([]);
  expect(await subjects({ from: at(2), to: at(4) })).toEqual(["u2", "u1"]);
  const first = await list({ by, limit: 2 });
  await clock.advance(1000);
  await record({ action: "user.updated", subject: "late", reseller_id: "r3" });
  expect(first.entries.map((e) => e.subject)).toEqual(["u4", "u3"]);
  expect(await subjects({ limit: 3, cursor: first.next_cursor! })).toEqual(["u2", "u1", "u0"]);
});

needing("plans", () => {
  describe("every filter has an index", () => {
    const time = { created_at: { $gte: new Date(0), $lt: new Date() } };
    test.each([
      [{}, "newest"],
      [time, "newest"],
      [{ action: "a.b" }, "by_action"],
      [{ subject: "x" }, "by_subject"],
      [{ reseller_id: "r" }, "by_reseller"],
      [{ reseller_id: "r", action: "a.b", ...time }, "by_reseller_action"],
      [{ reseller_id: "r", subject: "x" }, "by_reseller_subject"],
    ])("%j: %s", async (filter, index) => {
      const { queryPlanner } = (await db
        .collection("audit")
        .find(filter)
        .sort({ created_at: -1, _id: -1 })
        .explain("queryPlanner")) as { queryPlanner: { winningPlan: object } };
      const plan = JSON.stringify(queryPlanner.winningPlan);
      expect([/"indexName":"(\w+)"/.exec(plan)?.[1], plan.includes('"SORT"')]).toEqual([index, false]);
    });
  });
});
