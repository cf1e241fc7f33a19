import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { codeOf } from "../../../shared/errors.ts";
import { needing } from "../../fixtures/database-abilities.ts";
import { servedBy } from "../../fixtures/query-plan.ts";
import { asAdmin, asMerchant, asReseller } from "../../../local/harness/stage.ts";
import { reserveOne, setNumbersStage, tenant, US } from "../fixtures/numbers-service.ts";

type By = ParamsOf<"numbers.create">["by"];

const at = setNumbersStage();

const create = (by: By, over: Partial<ParamsOf<"numbers.create">> = {}) =>
  at.stage.bus.call("numbers.create", { by, phone_number: US(), provider: "PROVIDER_ONE", ...over });
const reserve = (reseller_id: string, holder: string, merchant_id: string | null = null) =>
  reserveOne(at.stage.bus, holder, { reseller_id, merchant_id });
const codeFrom = (call: Promise<unknown>): Promise<string> => call.then(() => "taken", codeOf);

describe("lists", () => {
  test("are narrowed by what a person would ask for", async () => {
    const r = tenant();
    const by = asReseller(r);
    const a = await create(by, { merchant_id: `${r}.a` });
    const b = await create(by, { provider: "PROVIDER_TWO" });
    const c = await create(by, { status: "DISABLED" });
    await create(asReseller(tenant()));
    const ids = async (who: By, filter: object) =>
      (await at.stage.bus.call("numbers.list", { by: who, ...filter })).numbers.map((n) => n.id);
    expect(await ids(by, {})).toEqual([c.id, b.id, a.id]);
    expect(await ids(by, { provider: "PROVIDER_TWO" })).toEqual([b.id]);
    expect(await ids(by, { status: "DISABLED" })).toEqual([c.id]);
    expect(await ids(by, { status: "AVAILABLE" })).toEqual([b.id, a.id]);
    expect(await ids(by, { merchant_id: `${r}.a` })).toEqual([a.id]);
    expect(await ids(by, { phone_number: `+1 ${b.phone_number.slice(2)}` })).toEqual([b.id]);
    expect(await ids(asAdmin, { reseller_id: r })).toEqual([c.id, b.id, a.id]);
    expect(await ids(asAdmin, { reseller_id: r, provider: "PROVIDER_ONE", status: "AVAILABLE" })).toEqual([a.id]);
    expect(await ids(by, { reseller_id: tenant() })).toEqual([]);
    expect(await ids(asMerchant(r, `${r}.b`), {})).toEqual([c.id, b.id]);
    await reserve(r, `${r}-1`, `${r}.a`);
    expect(await ids(by, { status: "IN_USE" })).toEqual([a.id]);
    expect(await codeFrom(at.stage.bus.call("numbers.list", { by, phone_number: "12" }))).toBe("INVALID_PHONE_NUMBER");
  });

  needing("plans", () => {
    test.each<[string, By, object, string]>([
      ["an admin's", asAdmin, {}, "created_at_-1__id_-1"],
      ["an admin's by reseller", asAdmin, { reseller_id: "rs-1" }, "reseller_id_1_created_at_-1__id_-1"],
      ["a reseller's", asReseller("rs-1"), {}, "reseller_id_1_created_at_-1__id_-1"],
      ["a merchant's", asMerchant("rs-1", "rs-1.a"), {}, "reseller_id_1_created_at_-1__id_-1"],
      ["by provider", asAdmin, { provider: "PROVIDER_TWO" }, "provider_1_created_at_-1__id_-1"],
      ["by status", asAdmin, { status: "DISABLED" }, "status_1_created_at_-1__id_-1"],
      ["in use", asAdmin, { status: "IN_USE" }, "status_1_created_at_-1__id_-1"],
      ["by merchant", asAdmin, { merchant_id: "rs-1.a" }, "merchant_id_1_created_at_-1__id_-1"],
    ])("%s: the index of this very filter gives them in order", async (_what, by, filter, index) => {
      expect(
        await servedBy(at.stage.uri, "numbers", () => at.stage.bus.call("numbers.list", { by, ...filter })),
      ).toEqual({ index, sorted: false });
    });
  });
  needing("plans", () => {
    test("by phone number: the few of that number are looked at", async () => {
      for (const by of [asAdmin, asReseller("rs-1")]) {
        const served = await servedBy(at.stage.uri, "numbers", () =>
          at.stage.bus.call("numbers.list", { by, phone_number: "+14155550100" }),
        );
        expect(served.index).toBe("one_owner");
      }
    });
  });
});
