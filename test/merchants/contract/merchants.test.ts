import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { MongoClient, type Db } from "mongodb";
import merchants from "../../../services/merchants/merchants.service.ts";
import type { ParamsOf } from "../../../shared/bus.ts";
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

const clock = virtualClock();
/** What the neighbours are asked, and what they answer. */
const owned = { templates: false, leads: false };
const asked: object[] = [];
const recorded: ParamsOf<"auth.record">[] = [];
const neighbours = [
  standIn("config", {
    owns: (owner) => {
      asked.push(owner);
      return { any: owned.templates };
    },
  }),
  standIn("leads", {
    unfinished: (owner) => {
      asked.push(owner);
      return { any: owned.leads };
    },
  }),
  standIn("auth", {
    record: (entry) => {
      recorded.push(entry);
      return {};
    },
  }),
];

let stage: Stage;
let client: MongoClient;
let db: Db;
beforeAll(async () => {
  stage = await setStage({ services: [merchants, ...neighbours], clock });
  client = await MongoClient.connect(stage.uri);
  db = client.db();
});
beforeEach(() => {
  Object.assign(owned, { templates: false, leads: false });
  asked.length = 0;
  recorded.length = 0;
});
afterAll(async () => {
  await client.close();
  await stage.stop();
});

const failure = (type: string) => expect.objectContaining({ type });
const reseller = (name: string) => stage.bus.call("merchants.createReseller", { by: asAdmin, name });
const merchant = (reseller_id: string, name: string) =>
  stage.bus.call("merchants.create", { by: asAdmin, name, reseller_id, contact_email: "desk@example.com" });

describe("resellers", () => {
  test("are made by an admin, whole", async () => {
    expect(await reseller("Acme")).toEqual({
      id: expect.any(String),
      name: "Acme",
      is_active: true,
      created_at: clock.now().toISOString(),
      updated_at: clock.now().toISOString(),
    });
  });

  test.each([
    ["reseller", asReseller("r1")],
    ["merchant", asMerchant("r1", "m1")],
    ["user", asUser("r1", "m1")],
  ] as const)("not by a %s", async (_, by) => {
    await expect(stage.bus.call("merchants.createReseller", { by, name: "Mine" })).rejects.toEqual(
      failure("FORBIDDEN"),
    );
  });

  test("everybody but an admin sees its own only", async () => {
    const [one, two] = [await reseller("One"), await reseller("Two")];
    const ids = async (by: Parameters<typeof asList>[0]) => (await asList(by)).resellers.map((r) => r.id);
    const asList = (by: typeof asAdmin | ReturnType<typeof asReseller> | ReturnType<typeof asMerchant>) =>
      stage.bus.call("merchants.listResellers", { by });
    expect(await ids(asReseller(one.id))).toEqual([one.id]);
    expect(await ids(asMerchant(two.id, "m"))).toEqual([two.id]);
    expect(await ids(asAdmin)).toEqual(expect.arrayContaining([one.id, two.id]));
  });
});

describe("merchants", () => {
  test("are made whole, by an admin anywhere and by a reseller in its own", async () => {
    const r = await reseller("Shop owner");
    const made = await stage.bus.call("merchants.create", {
      by: asReseller(r.id),
      name: "Shop",
      reseller_id: r.id,
      contact_email: "desk@shop.example",
    });
    expect(made).toEqual({
      id: expect.any(String),
      name: "Shop",
      reseller_id: r.id,
      contact_email: "desk@shop.example",
      is_active: true,
      paused: null,
      created_at: clock.now().toISOString(),
      updated_at: clock.now().toISOString(),
    });
    expect((await merchant(r.id, "Second")).reseller_id).toBe(r.id);
  });

  test("a foreign reseller, a merchant and a user may not; an unknown reseller is said to an admin only", async () => {
    const r = await reseller("Alone");
    const create = (by: Parameters<typeof stage.bus.call<"merchants.create">>[1]["by"], reseller_id: string) =>
      stage.bus.call("merchants.create", { by, name: "X", reseller_id, contact_email: "x@example.com" });
    for (const by of [asReseller("other"), asMerchant(r.id, "m1"), asUser(r.id, "m1")])
      await expect(create(by, r.id)).rejects.toEqual(failure("FORBIDDEN"));
    await expect(create(asReseller("other"), "unknown")).rejects.toEqual(failure("FORBIDDEN"));
    await expect(create(asAdmin, "unknown")).rejects.toEqual(failure("RESELLER_NOT_FOUND"));
    expect((await stage.bus.call("merchants.list", { by: asReseller(r.id) })).count).toBe(0);
  });

  test("an address that is none is refused by the contract", async () => {
    const r = await reseller("Typo");
    await expect(
      stage.bus.call("merchants.create", {
        by: asAdmin,
        name: "X",
        reseller_id: r.id,
        contact_email: "not an address",
      }),
    ).rejects.toMatchObject({ type: "VALIDATION_ERROR", data: [{ path: "contact_email" }] });
  });

  test("lists are scoped and filtered", async () => {
    const [a, b] = [await reseller("A"), await reseller("B")];
    const [a1, a2, b1] = [await merchant(a.id, "a1"), await merchant(a.id, "a2"), await merchant(b.id, "b1")];
    const ids = async (by: Parameters<typeof stage.bus.call<"merchants.list">>[1]["by"], reseller_id?: string) =>
      (await stage.bus.call("merchants.list", { by, ...(reseller_id ? { reseller_id } : {}) })).merchants
        .map((m) => m.id)
        .sort();
    expect(await ids(asReseller(a.id))).toEqual([a1.id, a2.id].sort());
    expect(await ids(asReseller(a.id), b.id)).toEqual([]);
    expect(await ids(asMerchant(a.id, a1.id))).toEqual([a1.id]);
    expect(await ids(asUser(b.id, b1.id))).toEqual([b1.id]);
    expect(await ids(asUser(b.id, a1.id))).toEqual([]);
    expect(await ids(asAdmin, b.id)).toEqual([b1.id]);
  });

  test("pages are newest first, and stand still while others are added", async () => {
    const r = await reseller("Pages");
    const made: string[] = [];
    for (let i = 0; i < 7; i++) {
      made.unshift((await merchant(r.id, `m${i}`)).id);
      if (i % 2) await clock.advance(5);
    }
    const newest = await stage.bus.call("merchants.list", { by: asReseller(r.id), limit: 3 });
    await clock.advance(5);
    await merchant(r.id, "late");
    const seen = newest.merchants.map((m) => m.id);
    for (let cursor = newest.next_cursor; cursor !== null;) {
      const page = await stage.bus.call("merchants.list", { by: asReseller(r.id), limit: 3, cursor });
      seen.push(...page.merchants.map((m) => m.id));
      expect(page.count).toBe(page.merchants.length);
      cursor = page.next_cursor;
    }
    expect([...seen].sort()).toEqual([...made].sort());
    expect(seen).toHaveLength(7);
    await expect(stage.bus.call("merchants.list", { by: asReseller(r.id), cursor: "bogus" })).rejects.toEqual(
      failure("VALIDATION_FAILED"),
    );
  });

  test("lookup tells whether the ids exist and belong together", async () => {
    const [a, b] = [await reseller("L1"), await reseller("L2")];
    const m = await merchant(a.id, "m");
    const lookup = (reseller_id: string, merchant_id?: string) =>
      stage.bus.call("merchants.lookup", { reseller_id, ...(merchant_id ? { merchant_id } : {}) });
    expect(await lookup(a.id)).toEqual({ reseller: true, merchant: true });
    expect(await lookup(a.id, m.id)).toEqual({ reseller: true, merchant: true });
    expect(await lookup(b.id, m.id)).toEqual({ reseller: true, merchant: false });
    expect(await lookup(a.id, "nobody")).toEqual({ reseller: true, merchant: false });
    expect(await lookup("nobody", m.id)).toEqual({ reseller: false, merchant: false });
    expect(await lookup("nobody")).toEqual({ reseller: false, merchant: false });
  });
});

describe("one merchant", () => {
  const get = (id: string, by: ParamsOf<"merchants.get">["by"] = asAdmin) =>
    stage.bus.call("merchants.get", { by, id });
  const update = (
    id: string,
    change: Partial<ParamsOf<"merchants.update">>,
    by: ParamsOf<"merchants.get">["by"] = asAdmin,
  ) => stage.bus.call("merchants.update", { by, id, ...change });
  const remove = (id: string, by: ParamsOf<"merchants.get">["by"] = asAdmin) =>
    stage.bus.call("merchants.remove", { by, id });

  test("is read within its scope; a foreign one and an unknown one look the same", async () => {
    const [a, b] = [await reseller("A"), await reseller("B")];
    const [mine, other] = [await merchant(a.id, "mine"), await merchant(b.id, "other")];
    const sibling = await merchant(a.id, "sibling");
    for (const by of [asAdmin, asReseller(a.id), asMerchant(a.id, mine.id), asUser(a.id, mine.id)])
      expect(await get(mine.id, by)).toEqual(mine);
    const words = (id: string, by: Parameters<typeof get>[1]) =>
      get(id, by).then(
        () => "found",
        (e: { type: string; message: string }) => `${e.type} ${e.message}`,
      );
    for (const [id, by] of [
      [other.id, asReseller(a.id)],
      [sibling.id, asUser(a.id, mine.id)],
    ] as const)
      expect(await words(id, by)).toBe(await words("nobody", by));
    expect(await words("nobody", asAdmin)).toMatch(/^MERCHANT_NOT_FOUND /);
  });

  test("takes any subset of its fields, and says so in the audit log", async () => {
    const r = await reseller("R");
    const m = await merchant(r.id, "old name");
    await clock.advance(1000);
    expect(await update(m.id, { name: "New name" }, asReseller(r.id))).toEqual({
      ...m,
      name: "New name",
      updated_at: clock.now().toISOString(),
    });
    expect(await update(m.id, { contact_email: "new@example.com", is_active: false })).toMatchObject({
      name: "New name",
      contact_email: "new@example.com",
      is_active: false,
    });
    expect(
      (await stage.bus.call("merchants.list", { by: asReseller(r.id), name: "NEW" })).merchants.map((x) => x.id),
    ).toEqual([m.id]);
    expect(recorded.map((e) => [e.action, e.subject, e.reseller_id, e.merchant_id, e.details])).toEqual([
      ["merchant.updated", m.id, r.id, m.id, { name: "New name" }],
      ["merchant.updated", m.id, r.id, m.id, { contact_email: "new@example.com", is_active: false }],
    ]);
    await expect(update(m.id, {})).rejects.toEqual(failure("VALIDATION_FAILED"));
    await expect(update(m.id, { reseller_id: "other" } as object)).rejects.toMatchObject({
      type: "VALIDATION_ERROR",
      data: [{ path: "reseller_id" }],
    });
  });

  test("is changed and deleted by its reseller and admins alone", async () => {
    const r = await reseller("R");
    const m = await merchant(r.id, "m");
    for (const by of [asReseller("other"), asMerchant("other", "m2"), asMerchant(r.id, m.id), asUser(r.id, m.id)]) {
      await expect(update(m.id, { name: "x" }, by)).rejects.toEqual(failure("FORBIDDEN"));
      await expect(remove(m.id, by)).rejects.toEqual(failure("FORBIDDEN"));
    }
    for (const by of [asAdmin, asReseller(r.id)]) {
      await expect(update("nobody", { name: "x" }, by)).rejects.toEqual(failure("MERCHANT_NOT_FOUND"));
      await expect(remove("nobody", by)).rejects.toEqual(failure("MERCHANT_NOT_FOUND"));
    }
    expect([await get(m.id), recorded]).toEqual([m, []]);
  });

  test.each([["templates"], ["leads"]] as const)("is not deleted while it has %s", async (what) => {
    const r = await reseller("R");
    const m = await merchant(r.id, "m");
    owned[what] = true;
    await expect(remove(m.id)).rejects.toEqual(failure("RESOURCE_IN_USE"));
    expect(await get(m.id)).toEqual(m);
    owned[what] = false;
    await remove(m.id, asReseller(r.id));
    await expect(get(m.id)).rejects.toEqual(failure("MERCHANT_NOT_FOUND"));
    expect(asked).toEqual(Array.from({ length: 4 }, () => ({ reseller_id: r.id, merchant_id: m.id })));
    expect(recorded.map((e) => e.action)).toEqual(["merchant.deleted"]);
  });
});

describe("one reseller", () => {
  test("is read by itself and admins", async () => {
    const [a, b] = [await reseller("A"), await reseller("B")];
    expect(await stage.bus.call("merchants.getReseller", { by: asReseller(a.id), id: a.id })).toEqual(a);
    await expect(stage.bus.call("merchants.getReseller", { by: asReseller(a.id), id: b.id })).rejects.toEqual(
      failure("RESELLER_NOT_FOUND"),
    );
  });

  test("is changed by admins alone", async () => {
    const r = await reseller("R");
    await clock.advance(1000);
    expect(
      await stage.bus.call("merchants.updateReseller", { by: asAdmin, id: r.id, name: "S", is_active: false }),
    ).toEqual({ ...r, name: "S", is_active: false, updated_at: clock.now().toISOString() });
    await expect(
      stage.bus.call("merchants.updateReseller", { by: asReseller(r.id), id: r.id, is_active: true }),
    ).rejects.toEqual(failure("FORBIDDEN"));
    await expect(stage.bus.call("merchants.updateReseller", { by: asAdmin, id: r.id })).rejects.toEqual(
      failure("VALIDATION_FAILED"),
    );
    await expect(stage.bus.call("merchants.updateReseller", { by: asAdmin, id: "nobody", name: "S" })).rejects.toEqual(
      failure("RESELLER_NOT_FOUND"),
    );
    expect(recorded.map((e) => [e.action, e.details])).toEqual([["reseller.updated", { name: "S", is_active: false }]]);
  });

  test("is deleted when nothing hangs on it", async () => {
    const r = await reseller("R");
    const remove = (by: ParamsOf<"merchants.get">["by"] = asAdmin) =>
      stage.bus.call("merchants.deleteReseller", { by, id: r.id });
    const m = await merchant(r.id, "m");
    await expect(remove(asReseller(r.id))).rejects.toEqual(failure("FORBIDDEN"));
    await expect(remove()).rejects.toMatchObject({
      type: "RESOURCE_IN_USE",
      message: expect.stringContaining("merchants"),
    });
    await stage.bus.call("merchants.remove", { by: asAdmin, id: m.id });
    owned.leads = true;
    await expect(remove()).rejects.toMatchObject({
      type: "RESOURCE_IN_USE",
      message: expect.stringContaining("unfinished leads"),
    });
    owned.leads = false;
    await remove();
    await expect(remove()).rejects.toEqual(failure("RESELLER_NOT_FOUND"));
    expect(recorded.map((e) => e.action)).toEqual(["merchant.deleted", "reseller.deleted"]);
  });
});

test("somebody may act for a merchant while it and its reseller are there and switched on", async () => {
  const [r, other] = [await reseller("R"), await reseller("O")];
  const m = await merchant(r.id, "m");
  const active = async (reseller_id: string, merchant_id?: string) =>
    (await stage.bus.call("merchants.active", { reseller_id, ...(merchant_id ? { merchant_id } : {}) })).active;
  expect([
    await active(r.id),
    await active(r.id, m.id),
    await active(other.id, m.id),
    await active("nobody"),
    await active(r.id, "nobody"),
  ]).toEqual([true, true, false, false, false]);
  await stage.bus.call("merchants.update", { by: asAdmin, id: m.id, is_active: false });
  expect([await active(r.id), await active(r.id, m.id)]).toEqual([true, false]);
  await stage.bus.call("merchants.update", { by: asAdmin, id: m.id, is_active: true });
  await stage.bus.call("merchants.updateReseller", { by: asAdmin, id: r.id, is_active: false });
  expect([await active(r.id), await active(r.id, m.id)]).toEqual([false, false]);
});

describe("filters", () => {
  test("the start of a name in any case, and whether it is switched on", async () => {
    const r = await reseller("Zeta One");
    await reseller("zeta two");
    const [a, b] = [await merchant(r.id, "Ärzte am Markt"), await merchant(r.id, "arztpraxis")];
    await stage.bus.call("merchants.update", { by: asAdmin, id: b.id, is_active: false });
    const names = async (filter: Partial<ParamsOf<"merchants.list">>) =>
      (await stage.bus.call("merchants.list", { by: asReseller(r.id), ...filter })).merchants.map((m) => m.name);
    expect(await names({ name: "äRZTE" })).toEqual([a.name]);
    expect(await names({ name: "zte" })).toEqual([]);
    expect(await names({ name: ".*" })).toEqual([]);
    expect(await names({ is_active: true })).toEqual([a.name]);
    expect(await names({ is_active: false, name: "arzt" })).toEqual([b.name]);
    const resellers = await stage.bus.call("merchants.listResellers", { by: asAdmin, name: "ZETA", is_active: true });
    expect(resellers.resellers.map((x) => x.name).sort()).toEqual(["Zeta One", "zeta two"]);
  });

  const name_key = { $gte: "a", $lte: "b" };
  const plans: ["merchants" | "resellers", object, string][] = [
    ["merchants", {}, "newest"],
    ["merchants", { is_active: true }, "by_active"],
    ["merchants", { name_key }, "by_name"],
    ["merchants", { reseller_id: "r" }, "by_reseller"],
    ["merchants", { reseller_id: "r", is_active: true }, "by_reseller_active"],
    ["merchants", { reseller_id: "r", name_key }, "by_reseller_name"],
    ["merchants", { _id: "m", reseller_id: "r" }, "_id_"],
    ["resellers", {}, "newest"],
    ["resellers", { is_active: true }, "by_active"],
    ["resellers", { name_key }, "by_name"],
    ["resellers", { _id: "r" }, "_id_"],
  ];
  test.each(plans)("%s %j have the index %s", async (collection, filter, index) => {
    const { queryPlanner } = (await db
      .collection(collection)
      .find(filter)
      .sort({ created_at: -1, _id: -1 })
      .explain("queryPlanner")) as { queryPlanner: { winningPlan: object } };
    const plan = JSON.stringify(queryPlanner.winningPlan);
    expect(/"indexName":"(\w+)"/.exec(plan)?.[1] ?? (plan.includes("IDHACK") ? "_id_" : plan)).toBe(index);
  });
});
