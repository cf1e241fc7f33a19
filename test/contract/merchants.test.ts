import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import merchants from "../../services/merchants/merchants.service.ts";
import { asAdmin, asMerchant, asReseller, asUser, setStage, type Stage } from "../support/stage.ts";
import { virtualClock } from "../support/virtual-clock.ts";

const clock = virtualClock();
let stage: Stage;
beforeAll(async () => { stage = await setStage({ services: [merchants], clock }); });
afterAll(async () => { await stage.stop(); });

const failure = (type: string) => expect.objectContaining({ type });
const reseller = (name: string) => stage.bus.call("merchants.createReseller", { by: asAdmin, name });
const merchant = (reseller_id: string, name: string) => stage.bus.call("merchants.create", { by: asAdmin, name, reseller_id, contact_email: "desk@example.com" });

describe("resellers", () => {
  test("are made by an admin, whole", async () => {
    expect(await reseller("Acme")).toEqual({ id: expect.any(String), name: "Acme", is_active: true, created_at: clock.now().toISOString(), updated_at: clock.now().toISOString() });
  });

  test.each([["reseller", asReseller("r1")], ["merchant", asMerchant("r1", "m1")], ["user", asUser("r1", "m1")]] as const)("not by a %s", async (_, by) => {
    await expect(stage.bus.call("merchants.createReseller", { by, name: "Mine" })).rejects.toEqual(failure("FORBIDDEN"));
  });

  test("everybody but an admin sees its own only", async () => {
    const [one, two] = [await reseller("One"), await reseller("Two")];
    const ids = async (by: Parameters<typeof asList>[0]) => (await asList(by)).resellers.map((r) => r.id);
    const asList = (by: typeof asAdmin | ReturnType<typeof asReseller> | ReturnType<typeof asMerchant>) => stage.bus.call("merchants.listResellers", { by });
    expect(await ids(asReseller(one.id))).toEqual([one.id]);
    expect(await ids(asMerchant(two.id, "m"))).toEqual([two.id]);
    expect(await ids(asAdmin)).toEqual(expect.arrayContaining([one.id, two.id]));
  });
});

describe("merchants", () => {
  test("are made whole, by an admin anywhere and by a reseller in its own", async () => {
    const r = await reseller("Shop owner");
    const made = await stage.bus.call("merchants.create", { by: asReseller(r.id), name: "Shop", reseller_id: r.id, contact_email: "desk@shop.example" });
    expect(made).toEqual({
      id: expect.any(String), name: "Shop", reseller_id: r.id, contact_email: "desk@shop.example", is_active: true,
      created_at: clock.now().toISOString(), updated_at: clock.now().toISOString(),
    });
    expect((await merchant(r.id, "Second")).reseller_id).toBe(r.id);
  });

  test("a foreign reseller, a merchant and a user may not; an unknown reseller is said to an admin only", async () => {
    const r = await reseller("Alone");
    const create = (by: Parameters<typeof stage.bus.call<"merchants.create">>[1]["by"], reseller_id: string) =>
      stage.bus.call("merchants.create", { by, name: "X", reseller_id, contact_email: "x@example.com" });
    for (const by of [asReseller("other"), asMerchant(r.id, "m1"), asUser(r.id, "m1")]) await expect(create(by, r.id)).rejects.toEqual(failure("FORBIDDEN"));
    await expect(create(asReseller("other"), "unknown")).rejects.toEqual(failure("FORBIDDEN"));
    await expect(create(asAdmin, "unknown")).rejects.toEqual(failure("RESELLER_NOT_FOUND"));
    expect((await stage.bus.call("merchants.list", { by: asReseller(r.id) })).count).toBe(0);
  });

  test("an address that is none is refused by the contract", async () => {
    const r = await reseller("Typo");
    await expect(stage.bus.call("merchants.create", { by: asAdmin, name: "X", reseller_id: r.id, contact_email: "not an address" }))
      .rejects.toMatchObject({ type: "VALIDATION_ERROR", data: [{ path: "contact_email" }] });
  });

  test("lists are scoped and filtered", async () => {
    const [a, b] = [await reseller("A"), await reseller("B")];
    const [a1, a2, b1] = [await merchant(a.id, "a1"), await merchant(a.id, "a2"), await merchant(b.id, "b1")];
    const ids = async (by: Parameters<typeof stage.bus.call<"merchants.list">>[1]["by"], reseller_id?: string) =>
      (await stage.bus.call("merchants.list", { by, ...(reseller_id ? { reseller_id } : {}) })).merchants.map((m) => m.id).sort();
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
    for (let i = 0; i < 7; i++) { made.unshift((await merchant(r.id, `m${i}`)).id); if (i % 2) await clock.advance(5); }
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
    await expect(stage.bus.call("merchants.list", { by: asReseller(r.id), cursor: "bogus" })).rejects.toEqual(failure("VALIDATION_FAILED"));
  });

  test("lookup tells whether the ids exist and belong together", async () => {
    const [a, b] = [await reseller("L1"), await reseller("L2")];
    const m = await merchant(a.id, "m");
    const lookup = (reseller_id: string, merchant_id?: string) => stage.bus.call("merchants.lookup", { reseller_id, ...(merchant_id ? { merchant_id } : {}) });
    expect(await lookup(a.id)).toEqual({ reseller: true, merchant: true });
    expect(await lookup(a.id, m.id)).toEqual({ reseller: true, merchant: true });
    expect(await lookup(b.id, m.id)).toEqual({ reseller: true, merchant: false });
    expect(await lookup(a.id, "nobody")).toEqual({ reseller: true, merchant: false });
    expect(await lookup("nobody", m.id)).toEqual({ reseller: false, merchant: false });
    expect(await lookup("nobody")).toEqual({ reseller: false, merchant: false });
  });
});
