import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { asAdmin, asMerchant, asReseller, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";

const R = "rs-wish";
const [M1, M2] = ["m-1", "m-2"];
let stage: Stage;
let nextNumber = 0;
const fresh = (): string => `+1415556${String(nextNumber++).padStart(4, "0")}`;
beforeAll(async () => {
  stage = await setStage({
    services: [
      blacklist,
      standIn("merchants", { lookup: () => ({ reseller: true, merchant: false }) }),
      standIn("auth", { record: () => ({}) }),
    ],
  });
});
afterAll(() => stage.stop());

const wish = (phone_number: string, over: Partial<ParamsOf<"blacklist.recordWish">> = {}) =>
  stage.bus.call("blacklist.recordWish", {
    reseller_id: R,
    merchant_id: M1,
    phone_number,
    lead_id: randomUUID(),
    asked_at: "2026-11-21T10:00:00.000Z",
    ...over,
  });
const forbids = async (phone_number: string, of: { reseller_id?: string; merchant_id?: string | null }) =>
  (await stage.bus.call("blacklist.check", { pairs: [{ reseller_id: R, phone_number, ...of }] })).listed[0];
const listedFor = async (by: ParamsOf<"blacklist.list">["by"], phone_number: string) =>
  (await stage.bus.call("blacklist.list", { by, phone_number })).entries;

describe("a callee who asked a merchant not to call again", () => {
  test("is not called by that merchant; others, and those who don't ask for it, see nothing", async () => {
    const phone = fresh();
    expect(await wish(phone)).toEqual({ added: true });
    expect(await forbids(phone, { merchant_id: M1 })).toBe(true);
    for (const pair of [{ merchant_id: M2 }, { merchant_id: null }, {}, { reseller_id: "rs-b", merchant_id: M1 }])
      expect([pair, await forbids(phone, pair)]).toEqual([pair, false]);
  });
  test("asked by a reseller's own template, only those calls are meant", async () => {
    const phone = fresh();
    await wish(phone, { merchant_id: null });
    expect([await forbids(phone, { merchant_id: null }), await forbids(phone, { merchant_id: M1 })]).toEqual([
      true,
      false,
    ]);
  });
  test("is listed once however often it is told, with the lead that first heard it", async () => {
    const phone = fresh();
    const lead_id = randomUUID();
    expect([await wish(phone, { lead_id }), await wish(phone), await wish(phone)]).toEqual([
      { added: true },
      { added: false },
      { added: false },
    ]);
    expect(await listedFor(asReseller(R), phone)).toEqual([
      {
        phone_number: phone,
        reseller_id: R,
        merchant_id: M1,
        source: "callee",
        lead_id,
        created_at: "2026-11-21T10:00:00.000Z",
      },
    ]);
  });
  test("shows to the merchant, its reseller and admins, to no other merchant", async () => {
    const phone = fresh();
    await wish(phone);
    const seen = await Promise.all(
      [asMerchant(R, M1), asReseller(R), asAdmin, asMerchant(R, M2), asReseller("rs-b")].map(
        async (by) => (await listedFor(by, phone)).length,
      ),
    );
    expect(seen).toEqual([1, 1, 1, 0, 0]);
  });
  test("may be called again once the reseller takes the number off its list", async () => {
    const phone = fresh();
    await wish(phone);
    await stage.bus.call("blacklist.remove", { by: asReseller(R), phone_numbers: [phone] });
    expect(await forbids(phone, { merchant_id: M1 })).toBe(false);
  });
  test("stays listed when another reseller, or the list for everybody, is changed", async () => {
    const phone = fresh();
    await wish(phone);
    for (const by of [asReseller("rs-b"), asAdmin]) {
      await stage.bus.call("blacklist.add", { by, phone_numbers: [phone] });
      await stage.bus.call("blacklist.remove", { by, phone_numbers: [phone] });
    }
    expect(await forbids(phone, { merchant_id: M1 })).toBe(true);
  });
});
