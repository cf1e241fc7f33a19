import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { asAdmin, asMerchant, asReseller, asUser } from "../../../local/harness/stage.ts";
import { MerchantsStage } from "../fixtures/merchants-stage.ts";
import { needing } from "../../fixtures/database-abilities.ts";

const tenants = new MerchantsStage();
beforeAll(() => tenants.start());
beforeEach(() => tenants.reset());
afterAll(() => tenants.stop());

const failure = (type: string) => expect.objectContaining({ type });

describe("resellers", () => {
  test("are made by an admin, whole", async () => {
    expect(await tenants.reseller("Acme")).toEqual({
      id: expect.any(String),
      name: "Acme",
      is_active: true,
      spend_ceiling: null,
      created_at: tenants.clock.now().toISOString(),
      updated_at: tenants.clock.now().toISOString(),
    });
  });

  test.each([
    ["reseller", asReseller("r1")],
    ["merchant", asMerchant("r1", "m1")],
    ["user", asUser("r1", "m1")],
  ] as const)("not by a %s", async (_, by) => {
    await expect(tenants.stage.bus.call("merchants.createReseller", { by, name: "Mine" })).rejects.toEqual(
      failure("FORBIDDEN"),
    );
  });

  test("only an admin sees others than its own", async () => {
    const [one, two] = [await tenants.reseller("One"), await tenants.reseller("Two")];
    const ids = async (by: Parameters<typeof asList>[0]) => (await asList(by)).resellers.map((r) => r.id);
    const asList = (by: typeof asAdmin | ReturnType<typeof asReseller> | ReturnType<typeof asMerchant>) =>
      tenants.stage.bus.call("merchants.listResellers", { by });
    expect(await ids(asReseller(one.id))).toEqual([one.id]);
    expect(await ids(asMerchant(two.id, "m"))).toEqual([two.id]);
    expect(await ids(asAdmin)).toEqual(expect.arrayContaining([one.id, two.id]));
  });
});

test("who is deleted takes its secrets along, who stays keeps them", async () => {
  const { call } = tenants.stage.bus;
  const r = await tenants.reseller("Gone");
  const m = await tenants.merchant(r.id, "Gone shop");
  tenants.owned.templates = true;
  await expect(call("merchants.remove", { by: asAdmin, id: m.id })).rejects.toEqual(failure("RESOURCE_IN_USE"));
  expect(tenants.dropped).toEqual([]);
  tenants.owned.templates = false;
  await call("merchants.remove", { by: asAdmin, id: m.id });
  await call("merchants.deleteReseller", { by: asAdmin, id: r.id });
  expect(tenants.dropped).toEqual([{ reseller_id: r.id, merchant_id: m.id }, { reseller_id: r.id }]);
  expect(tenants.endpointsDropped).toEqual(tenants.dropped);
});

test("who made a reseller and a merchant is in the audit log", async () => {
  const r = await tenants.reseller("Acme");
  const m = await tenants.merchant(r.id, "Shop");
  expect(tenants.made).toMatchObject([
    { by: asAdmin, action: "reseller.created", subject: r.id, reseller_id: r.id, details: { name: "Acme" } },
    { action: "merchant.created", subject: m.id, reseller_id: r.id, merchant_id: m.id, details: { name: "Shop" } },
  ]);
});

describe("one reseller", () => {
  test("is read by itself and admins", async () => {
    const [a, b] = [await tenants.reseller("A"), await tenants.reseller("B")];
    expect(await tenants.stage.bus.call("merchants.getReseller", { by: asReseller(a.id), id: a.id })).toEqual(a);
    await expect(tenants.stage.bus.call("merchants.getReseller", { by: asReseller(a.id), id: b.id })).rejects.toEqual(
      failure("RESELLER_NOT_FOUND"),
    );
  });

  test("is changed by admins alone", async () => {
    const r = await tenants.reseller("R");
    await tenants.clock.advance(1000);
    expect(
      await tenants.stage.bus.call("merchants.updateReseller", { by: asAdmin, id: r.id, name: "S", is_active: false }),
    ).toEqual({ ...r, name: "S", is_active: false, updated_at: tenants.clock.now().toISOString() });
    await expect(
      tenants.stage.bus.call("merchants.updateReseller", { by: asReseller(r.id), id: r.id, is_active: true }),
    ).rejects.toEqual(failure("FORBIDDEN"));
    await expect(tenants.stage.bus.call("merchants.updateReseller", { by: asAdmin, id: r.id })).rejects.toEqual(
      failure("VALIDATION_FAILED"),
    );
    await expect(
      tenants.stage.bus.call("merchants.updateReseller", { by: asAdmin, id: "nobody", name: "S" }),
    ).rejects.toEqual(failure("RESELLER_NOT_FOUND"));
    expect(tenants.recorded.map((e) => [e.action, e.details])).toEqual([
      ["reseller.updated", { name: "S", is_active: false }],
    ]);
  });

  test("is deleted when it owns nothing", async () => {
    const r = await tenants.reseller("R");
    const remove = (by: ParamsOf<"merchants.get">["by"] = asAdmin) =>
      tenants.stage.bus.call("merchants.deleteReseller", { by, id: r.id });
    const m = await tenants.merchant(r.id, "m");
    await expect(remove(asReseller(r.id))).rejects.toEqual(failure("FORBIDDEN"));
    await expect(remove()).rejects.toMatchObject({
      type: "RESOURCE_IN_USE",
      message: expect.stringContaining("merchants"),
    });
    await tenants.stage.bus.call("merchants.remove", { by: asAdmin, id: m.id });
    tenants.owned.leads = true;
    await expect(remove()).rejects.toMatchObject({
      type: "RESOURCE_IN_USE",
      message: expect.stringContaining("unfinished leads"),
    });
    tenants.owned.leads = false;
    await remove();
    await expect(remove()).rejects.toEqual(failure("RESELLER_NOT_FOUND"));
    expect(tenants.recorded.map((e) => e.action)).toEqual(["merchant.deleted", "reseller.deleted"]);
  });
});

describe("filters", () => {
  test("the start of a name in any case, and whether it is switched on", async () => {
    const r = await tenants.reseller("Zeta One");
    await tenants.reseller("zeta two");
    const [a, b] = [await tenants.merchant(r.id, "Ärzte am Markt"), await tenants.merchant(r.id, "arztpraxis")];
    await tenants.stage.bus.call("merchants.update", { by: asAdmin, id: b.id, is_active: false });
    const names = async (filter: Partial<ParamsOf<"merchants.list">>) =>
      (await tenants.stage.bus.call("merchants.list", { by: asReseller(r.id), ...filter })).merchants.map(
        (m) => m.name,
      );
    expect(await names({ name: "äRZTE" })).toEqual([a.name]);
    expect(await names({ name: "zte" })).toEqual([]);
    expect(await names({ name: ".*" })).toEqual([]);
    expect(await names({ is_active: true })).toEqual([a.name]);
    expect(await names({ is_active: false, name: "arzt" })).toEqual([b.name]);
    const resellers = await tenants.stage.bus.call("merchants.listResellers", {
      by: asAdmin,
      name: "ZETA",
      is_active: true,
    });
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
  needing("plans", () => {
    test.each(plans)("%s %j have the index %s", async (collection, filter, index) => {
      const { queryPlanner } = (await tenants.db
        .collection(collection)
        .find(filter)
        .sort({ created_at: -1, _id: -1 })
        .explain("queryPlanner")) as { queryPlanner: { winningPlan: object } };
      const plan = JSON.stringify(queryPlanner.winningPlan);
      expect(/"indexName":"(\w+)"/.exec(plan)?.[1] ?? (plan.includes("IDHACK") ? "_id_" : plan)).toBe(index);
    });
  });
});
