import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { asAdmin, asMerchant, asReseller, asUser } from "../../../local/harness/stage.ts";
import { MerchantsStage } from "../fixtures/merchants-stage.ts";

const tenants = new MerchantsStage();
beforeAll(() => tenants.start());
beforeEach(() => tenants.reset());
afterAll(() => tenants.stop());

const failure = (type: string) => expect.objectContaining({ type });

describe("merchants", () => {
  test("are made whole, by an admin anywhere and by a reseller in its own", async () => {
    const r = await tenants.reseller("Shop owner");
    const made = await tenants.stage.bus.call("merchants.create", {
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
      test_numbers: [],
      max_calls_per_callee: null,
      spend_ceiling: null,
      webhook_phone_number: "masked",
      created_at: tenants.clock.now().toISOString(),
      updated_at: tenants.clock.now().toISOString(),
    });
    expect((await tenants.merchant(r.id, "Second")).reseller_id).toBe(r.id);
  });

  test("a foreign reseller, a merchant and a user may not; an unknown reseller is reported to an admin only", async () => {
    const r = await tenants.reseller("Alone");
    const create = (by: Parameters<typeof tenants.stage.bus.call<"merchants.create">>[1]["by"], reseller_id: string) =>
      tenants.stage.bus.call("merchants.create", { by, name: "X", reseller_id, contact_email: "x@example.com" });
    for (const by of [asReseller("other"), asMerchant(r.id, "m1"), asUser(r.id, "m1")])
      await expect(create(by, r.id)).rejects.toEqual(failure("FORBIDDEN"));
    await expect(create(asReseller("other"), "unknown")).rejects.toEqual(failure("FORBIDDEN"));
    await expect(create(asAdmin, "unknown")).rejects.toEqual(failure("RESELLER_NOT_FOUND"));
    expect((await tenants.stage.bus.call("merchants.list", { by: asReseller(r.id) })).count).toBe(0);
  });

  test("an address that is none is refused by the contract", async () => {
    const r = await tenants.reseller("Typo");
    await expect(
      tenants.stage.bus.call("merchants.create", {
        by: asAdmin,
        name: "X",
        reseller_id: r.id,
        contact_email: "not an address",
      }),
    ).rejects.toMatchObject({ type: "VALIDATION_ERROR", data: [{ path: "contact_email" }] });
  });

  test("lists are scoped and filtered", async () => {
    const [a, b] = [await tenants.reseller("A"), await tenants.reseller("B")];
    const [a1, a2, b1] = [
      await tenants.merchant(a.id, "a1"),
      await tenants.merchant(a.id, "a2"),
      await tenants.merchant(b.id, "b1"),
    ];
    const ids = async (
      by: Parameters<typeof tenants.stage.bus.call<"merchants.list">>[1]["by"],
      reseller_id?: string,
    ) =>
      (await tenants.stage.bus.call("merchants.list", { by, ...(reseller_id ? { reseller_id } : {}) })).merchants
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
    const r = await tenants.reseller("Pages");
    const made: string[] = [];
    for (let i = 0; i < 7; i++) {
      made.unshift((await tenants.merchant(r.id, `m${i}`)).id);
      if (i % 2) await tenants.clock.advance(5);
    }
    const newest = await tenants.stage.bus.call("merchants.list", { by: asReseller(r.id), limit: 3 });
    await tenants.clock.advance(5);
    await tenants.merchant(r.id, "late");
    const seen = newest.merchants.map((m) => m.id);
    for (let cursor = newest.next_cursor; cursor !== null;) {
      const page = await tenants.stage.bus.call("merchants.list", { by: asReseller(r.id), limit: 3, cursor });
      seen.push(...page.merchants.map((m) => m.id));
      expect(page.count).toBe(page.merchants.length);
      cursor = page.next_cursor;
    }
    expect([...seen].sort()).toEqual([...made].sort());
    expect(seen).toHaveLength(7);
    await expect(tenants.stage.bus.call("merchants.list", { by: asReseller(r.id), cursor: "bogus" })).rejects.toEqual(
      failure("VALIDATION_FAILED"),
    );
  });

  test("lookup tells whether the ids exist and belong together", async () => {
    const [a, b] = [await tenants.reseller("L1"), await tenants.reseller("L2")];
    const m = await tenants.merchant(a.id, "m");
    const lookup = (reseller_id: string, merchant_id?: string) =>
      tenants.stage.bus.call("merchants.lookup", { reseller_id, ...(merchant_id ? { merchant_id } : {}) });
    expect(await lookup(a.id)).toEqual({ reseller: true, merchant: true });
    expect(await lookup(a.id, m.id)).toEqual({ reseller: true, merchant: true });
    expect(await lookup(b.id, m.id)).toEqual({ reseller: true, merchant: false });
    expect(await lookup(a.id, "nobody")).toEqual({ reseller: true, merchant: false });
    expect(await lookup("nobody", m.id)).toEqual({ reseller: false, merchant: false });
    expect(await lookup("nobody")).toEqual({ reseller: false, merchant: false });
  });

  test("lookup tells webhooks how the merchant wants phone numbers shown, once it chose", async () => {
    const r = await tenants.reseller("Shown");
    const m = await tenants.merchant(r.id, "m");
    const choose = (webhook_phone_number: "masked" | "full") =>
      tenants.stage.bus.call("merchants.update", { by: asReseller(r.id), id: m.id, webhook_phone_number });
    const chosen = async () =>
      (await tenants.stage.bus.call("merchants.lookup", { reseller_id: r.id, merchant_id: m.id })).webhook_phone_number;
    expect([m.webhook_phone_number, await chosen()]).toEqual(["masked", undefined]);
    expect([(await choose("full")).webhook_phone_number, await chosen()]).toEqual(["full", "full"]);
    expect([(await choose("masked")).webhook_phone_number, await chosen()]).toEqual(["masked", "masked"]);
  });
});

describe("one merchant", () => {
  const get = (id: string, by: ParamsOf<"merchants.get">["by"] = asAdmin) =>
    tenants.stage.bus.call("merchants.get", { by, id });
  const update = (
    id: string,
    change: Partial<ParamsOf<"merchants.update">>,
    by: ParamsOf<"merchants.get">["by"] = asAdmin,
  ) => tenants.stage.bus.call("merchants.update", { by, id, ...change });
  const remove = (id: string, by: ParamsOf<"merchants.get">["by"] = asAdmin) =>
    tenants.stage.bus.call("merchants.remove", { by, id });

  test("is read within its scope; a foreign one and an unknown one look the same", async () => {
    const [a, b] = [await tenants.reseller("A"), await tenants.reseller("B")];
    const [mine, other] = [await tenants.merchant(a.id, "mine"), await tenants.merchant(b.id, "other")];
    const sibling = await tenants.merchant(a.id, "sibling");
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

  test("takes any subset of its fields, recorded in the audit log", async () => {
    const r = await tenants.reseller("R");
    const m = await tenants.merchant(r.id, "old name");
    await tenants.clock.advance(1000);
    expect(await update(m.id, { name: "New name" }, asReseller(r.id))).toEqual({
      ...m,
      name: "New name",
      updated_at: tenants.clock.now().toISOString(),
    });
    expect(await update(m.id, { contact_email: "new@example.com", is_active: false })).toMatchObject({
      name: "New name",
      contact_email: "new@example.com",
      is_active: false,
    });
    expect(
      (await tenants.stage.bus.call("merchants.list", { by: asReseller(r.id), name: "NEW" })).merchants.map(
        (x) => x.id,
      ),
    ).toEqual([m.id]);
    expect(tenants.recorded.map((e) => [e.action, e.subject, e.reseller_id, e.merchant_id, e.details])).toEqual([
      ["merchant.updated", m.id, r.id, m.id, { name: "New name" }],
      ["merchant.updated", m.id, r.id, m.id, { contact_email: "new@example.com", is_active: false }],
    ]);
    await expect(update(m.id, {})).rejects.toEqual(failure("VALIDATION_FAILED"));
    // what the contract does not know is passed over; the gateway refuses it
    expect(await update(m.id, { name: "Moved", reseller_id: "other" } as object)).toMatchObject({ reseller_id: r.id });
  });

  test("is changed and deleted by its reseller and admins alone", async () => {
    const r = await tenants.reseller("R");
    const m = await tenants.merchant(r.id, "m");
    const refused = [
      [asReseller("other"), "MERCHANT_NOT_FOUND"],
      [asMerchant("other", "m2"), "MERCHANT_NOT_FOUND"],
      [asMerchant(r.id, m.id), "FORBIDDEN"],
      [asUser(r.id, m.id), "FORBIDDEN"],
    ] as const;
    for (const [by, code] of refused) {
      await expect(update(m.id, { name: "x" }, by)).rejects.toEqual(failure(code));
      await expect(remove(m.id, by)).rejects.toEqual(failure(code));
    }
    for (const by of [asAdmin, asReseller(r.id)]) {
      await expect(update("nobody", { name: "x" }, by)).rejects.toEqual(failure("MERCHANT_NOT_FOUND"));
      await expect(remove("nobody", by)).rejects.toEqual(failure("MERCHANT_NOT_FOUND"));
    }
    expect([await get(m.id), tenants.recorded]).toEqual([m, []]);
  });

  test.each([["templates"], ["leads"]] as const)("is not deleted while it has %s", async (what) => {
    const r = await tenants.reseller("R");
    const m = await tenants.merchant(r.id, "m");
    tenants.owned[what] = true;
    await expect(remove(m.id)).rejects.toEqual(failure("RESOURCE_IN_USE"));
    expect(await get(m.id)).toEqual(m);
    tenants.owned[what] = false;
    await remove(m.id, asReseller(r.id));
    await expect(get(m.id)).rejects.toEqual(failure("MERCHANT_NOT_FOUND"));
    expect(tenants.asked).toEqual(Array.from({ length: 4 }, () => ({ reseller_id: r.id, merchant_id: m.id })));
    expect(tenants.recorded.map((e) => e.action)).toEqual(["merchant.deleted"]);
  });
});

test("a merchant is active while it and its reseller exist and are active", async () => {
  const [r, other] = [await tenants.reseller("R"), await tenants.reseller("O")];
  const m = await tenants.merchant(r.id, "m");
  const active = async (reseller_id: string, merchant_id?: string) =>
    (await tenants.stage.bus.call("merchants.active", { reseller_id, ...(merchant_id ? { merchant_id } : {}) })).active;
  expect([
    await active(r.id),
    await active(r.id, m.id),
    await active(other.id, m.id),
    await active("nobody"),
    await active(r.id, "nobody"),
  ]).toEqual([true, true, false, false, false]);
  await tenants.stage.bus.call("merchants.update", { by: asAdmin, id: m.id, is_active: false });
  expect([await active(r.id), await active(r.id, m.id)]).toEqual([true, false]);
  await tenants.stage.bus.call("merchants.update", { by: asAdmin, id: m.id, is_active: true });
  await tenants.stage.bus.call("merchants.updateReseller", { by: asAdmin, id: r.id, is_active: false });
  expect([await active(r.id), await active(r.id, m.id)]).toEqual([false, false]);
});
