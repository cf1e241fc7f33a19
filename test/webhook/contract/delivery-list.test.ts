import { MongoClient, type Db } from "mongodb";
import webhook from "../../../services/webhook/webhook.service.ts";
import type { DeliveryState } from "../../../shared/contracts/webhooks/delivery.ts";
import {
  asAdmin,
  asMerchant,
  asReseller,
  asUser,
  setStage,
  standIn,
  type Stage,
} from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { needing } from "../../fixtures/database-abilities.ts";

/** The list of all deliveries, over documents of every state and owner. */
const [R1, R2] = ["11111111-1111-4111-8111-111111111111", "11111111-1111-4111-8111-222222222222"];
const [M1, M2] = ["22222222-2222-4222-8222-111111111111", "22222222-2222-4222-8222-222222222222"];
const OWNERS = [
  [R1, M1],
  [R1, M2],
  [R1, null],
  [R2, null],
] as const;
const STATES: readonly DeliveryState[] = ["pending", "delivered", "exhausted", "refused"];
const clock = virtualClock();
const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
let stage: Stage;
let client: MongoClient;
let db: Db;

const COUNT = 320;
beforeAll(async () => {
  stage = await setStage({ clock, services: [webhook, standIn("merchants", {}), standIn("auth", {})] });
  client = await MongoClient.connect(stage.uri);
  db = client.db();
  await db.collection<{ _id: string }>("deliveries").insertMany(
    Array.from({ length: COUNT }, (_, n) => {
      const [reseller_id, merchant_id] = OWNERS[n % OWNERS.length]!;
      const state = STATES[Math.floor(n / 7) % STATES.length]!;
      const at = new Date(clock.now().getTime() - Math.floor(n / 3) * 1000); // three at each instant: ids break ties
      return {
        _id: `msg_${id(n)}`,
        lead_id: id(n),
        reseller_id,
        merchant_id,
        url: "https://shop.example.com/hook",
        host: "shop.example.com",
        body: "the body is not for lists",
        state,
        try_count: 1,
        ...(state === "pending" ? { next_try_at: new Date(clock.now().getTime() + 3_600_000) } : {}),
        tries: [{ at, status: 500, error: null, duration_ms: 5 }],
        created_at: at,
      };
    }),
  );
});
afterAll(async () => {
  await client.close();
  await stage.stop();
});

type By = Parameters<typeof stage.bus.call<"webhook.list">>[1]["by"];
type Filter = Omit<Parameters<typeof stage.bus.call<"webhook.list">>[1], "by">;
const list = (by: By, filter: Filter = {}) => stage.bus.call("webhook.list", { by, ...filter });
async function all(by: By, filter: Filter = {}, limit = 50) {
  const out: Awaited<ReturnType<typeof list>>["deliveries"] = [];
  for (let cursor: string | undefined; ;) {
    const page = await list(by, { ...filter, limit, ...(cursor ? { cursor } : {}) });
    expect(page.count).toBe(page.deliveries.length);
    out.push(...page.deliveries);
    if (page.next_cursor === null) return out;
    cursor = page.next_cursor;
  }
}

test("the newest come first, each once, over all pages and states", async () => {
  const found = await all(asAdmin, {}, 37);
  expect(found).toHaveLength(COUNT);
  const expected = found.toSorted((a, b) =>
    a.created_at === b.created_at ? (a.id < b.id ? 1 : -1) : a.created_at < b.created_at ? 1 : -1,
  );
  expect(found.map((d) => d.id)).toEqual(expected.map((d) => d.id));
  expect(JSON.stringify(found)).not.toContain("the body is not for lists");
  expect(found[0]).toMatchObject({ lead_id: expect.any(String), reseller_id: R1, tries: [{ status: 500 }] });
});

test.each(STATES)("state %s gives those of that state", async (state) => {
  const found = await all(asAdmin, { state }, 11);
  expect(found.length).toBe(
    Array.from({ length: COUNT }, (_, n) => STATES[Math.floor(n / 7) % 4]).filter((s) => s === state).length,
  );
  expect(new Set(found.map((d) => d.state))).toEqual(new Set([state]));
});

test.each<[string, By, Filter, number]>([
  ["an admin, of all", asAdmin, {}, 4],
  ["an admin, of a reseller", asAdmin, { reseller_id: R1 }, 3],
  ["an admin, of a merchant", asAdmin, { merchant_id: M2 }, 1],
  ["a reseller", asReseller(R1), {}, 3],
  ["a reseller, of its merchant", asReseller(R1), { merchant_id: M1 }, 1],
  ["a reseller, of another", asReseller(R1), { reseller_id: R2 }, 0],
  ["a merchant", asMerchant(R1, M1), {}, 1],
  ["a user", asUser(R1, M2), {}, 1],
  ["a merchant, of another", asMerchant(R1, M1), { merchant_id: M2 }, 0],
])("%s sees what lies in its scope", async (_, by, filter, owners) => {
  const found = await all(by, filter);
  expect(found).toHaveLength((COUNT / 4) * owners);
  if ("reseller_id" in by && by.reseller_id)
    expect(
      found.every(
        (d) => d.reseller_id === by.reseller_id && (by.role === "reseller" || d.merchant_id === by.merchant_id),
      ),
    ).toBe(true);
});

test("an unknown state, a cursor of another list and a limit out of bounds are refused", async () => {
  await expect(stage.bus.call("webhook.list", { by: asAdmin, state: "lost" as DeliveryState })).rejects.toMatchObject({
    code: 422,
  });
  await expect(list(asAdmin, { cursor: "nonsense" })).rejects.toMatchObject({ type: "VALIDATION_FAILED" });
  await expect(list(asAdmin, { limit: 501 })).rejects.toMatchObject({ code: 422 });
});

needing("plans", () => {
  test.each<[string, object, string]>([
    ["of all", { state: "exhausted" }, "by_state"],
    ["of a reseller", { reseller_id: R1, state: "exhausted" }, "by_reseller"],
    ["of a merchant", { reseller_id: R1, merchant_id: M1, state: "exhausted" }, "by_merchant"],
  ])("the list %s comes out of an index in its order", async (_, filter, index) => {
    const explained = await db
      .collection("deliveries")
      .find(filter)
      .sort({ created_at: -1, _id: -1 })
      .limit(21)
      .explain("queryPlanner");
    const text = JSON.stringify(explained);
    expect([text.includes(`"${index}"`), text.includes('"SORT"')]).toEqual([true, false]);
  });
});
