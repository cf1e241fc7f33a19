import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { codeOf } from "../../../shared/errors.ts";
import { asAdmin, asMerchant, asReseller, asUser, until } from "../../../local/harness/stage.ts";
import { setNumbersStage, tenant, US } from "../fixtures/numbers-service.ts";

type By = ParamsOf<"numbers.create">["by"];
type Patch = ParamsOf<"numbers.update">["number"];

const at = setNumbersStage();

const UNKNOWN = "0b1f6a44-6d0e-4f6c-9a52-5d1b7a1b8a10";
const create = (by: By, over: Partial<ParamsOf<"numbers.create">> = {}) =>
  at.stage.bus.call("numbers.create", { by, phone_number: US(), provider: "PROVIDER_ONE", ...over });
/** The shared pool serves every tenant of this file. */
const NEVER_RESERVED = { provider: "PROVIDER_THREE", status: "DISABLED" } as const;
const get = (by: By, number_id: string) => at.stage.bus.call("numbers.get", { by, number_id });
const update = (by: By, number_id: string, number: Patch, force?: boolean) =>
  at.stage.bus.call("numbers.update", { by, number_id, number, ...(force === undefined ? {} : { force }) });
const remove = (by: By, number_id: string, force?: boolean) =>
  at.stage.bus.call("numbers.remove", { by, number_id, ...(force === undefined ? {} : { force }) });
const codeFrom = (call: Promise<unknown>): Promise<string> => call.then(() => "taken", codeOf);

describe("get", () => {
  test("shows what may be seen, and nothing else is there", async () => {
    const r = tenant();
    const own = await create(asReseller(r), { merchant_id: `${r}.a` });
    const pool = await create(asAdmin, NEVER_RESERVED);
    expect(await get(asReseller(r), own.id.toUpperCase())).toEqual(own);
    expect(await get(asUser(r, `${r}.a`), own.id)).toEqual(own);
    expect(await get(asAdmin, pool.id)).toEqual(pool);
    for (const [by, id] of [
      [asMerchant(r, `${r}.b`), own.id],
      [asReseller(tenant()), own.id],
      [asReseller(r), pool.id],
      [asAdmin, UNKNOWN],
      [asAdmin, "x"],
    ] as const) {
      expect(await codeFrom(get(by, id))).toBe("NUMBER_NOT_FOUND");
    }
  });
});

describe("update", () => {
  test("any part of it, and the whole record comes back", async () => {
    const r = tenant();
    const number = await create(asReseller(r));
    const changed = await update(asReseller(r), number.id, {
      channel: "sms",
      max_concurrent_calls: 3,
      provider: "PROVIDER_TWO",
      merchant_id: `${r}.a`,
    });
    expect(changed).toEqual({
      ...number,
      channel: "sms",
      max_concurrent_calls: 3,
      provider: "PROVIDER_TWO",
      merchant_id: `${r}.a`,
      updated_at: changed.updated_at,
    });
    expect(changed.updated_at > number.updated_at).toBe(true);
    expect(await get(asReseller(r), number.id)).toEqual(changed);
    expect(await update(asReseller(r), number.id, { status: "DISABLED" })).toMatchObject({
      status: "DISABLED",
      channel: "sms",
      merchant_id: `${r}.a`,
    });
    expect(await update(asReseller(r), number.id, { merchant_id: null })).toMatchObject({
      status: "DISABLED",
      merchant_id: null,
    });
  });

  test.each<[string, Record<string, unknown>]>([
    ["nothing", {}],
    ["IN_USE, which is nobody's to set", { status: "IN_USE" }],
    ["the phone number", { phone_number: "+14155550100" }],
    ["no slots", { max_concurrent_calls: 0 }],
    ["a provider of nobody", { provider: "PIGEON" }],
    ["null for what must be", { channel: null }],
  ])("%s: refused", async (_what, patch) => {
    const { id } = await create(asAdmin, NEVER_RESERVED);
    expect(await codeFrom(update(asAdmin, id, patch as Patch))).toBe("VALIDATION_FAILED");
  });

  test("a create with status IN_USE makes an AVAILABLE number: a use is a fact of calls", async () => {
    expect((await create(asAdmin, { ...NEVER_RESERVED, status: "IN_USE" })).status).toBe("AVAILABLE");
  });

  test("others' numbers are not found, as unknown ones", async () => {
    const r = tenant();
    const own = await create(asReseller(r));
    const pool = await create(asAdmin, NEVER_RESERVED);
    for (const act of [
      (by: By, id: string) => update(by, id, { channel: "x" }),
      (by: By, id: string) => remove(by, id),
    ]) {
      expect(await codeFrom(act(asReseller(tenant()), own.id))).toBe("NUMBER_NOT_FOUND");
      expect(await codeFrom(act(asReseller(r), pool.id))).toBe("NUMBER_NOT_FOUND");
      expect(await codeFrom(act(asMerchant(r, `${r}.a`), own.id))).toBe("FORBIDDEN");
      expect(await codeFrom(act(asUser(r, `${r}.a`), own.id))).toBe("FORBIDDEN");
      expect(await codeFrom(act(asReseller(r), UNKNOWN))).toBe("NUMBER_NOT_FOUND");
    }
    expect(await get(asAdmin, own.id)).toEqual(own);
  });

  test.each<
    [string, "admin" | "reseller", (r: string, other: string) => Patch, string, (r: string, other: string) => object]
  >([
    [
      "an admin to another reseller, for all its merchants",
      "admin",
      (_r, o) => ({ reseller_id: o }),
      "taken",
      (_r, o) => ({ reseller_id: o, merchant_id: null }),
    ],
    [
      "an admin to another's merchant",
      "admin",
      (_r, o) => ({ reseller_id: o, merchant_id: `${o}.x` }),
      "taken",
      (_r, o) => ({ reseller_id: o, merchant_id: `${o}.x` }),
    ],
    [
      "an admin into the shared pool",
      "admin",
      () => ({ reseller_id: null }),
      "taken",
      () => ({ reseller_id: null, merchant_id: null }),
    ],
    [
      "an admin to a merchant of somebody else",
      "admin",
      (_r, o) => ({ merchant_id: `${o}.x` }),
      "MERCHANT_NOT_FOUND",
      (r) => ({ reseller_id: r, merchant_id: `${r}.a` }),
    ],
    [
      "an admin to nobody known",
      "admin",
      () => ({ reseller_id: "nobody" }),
      "RESELLER_NOT_FOUND",
      (r) => ({ reseller_id: r }),
    ],
    [
      "a merchant without its reseller",
      "admin",
      (r) => ({ reseller_id: null, merchant_id: `${r}.a` }),
      "VALIDATION_FAILED",
      (r) => ({ reseller_id: r }),
    ],
    [
      "a reseller to another of its merchants",
      "reseller",
      (r) => ({ merchant_id: `${r}.b` }),
      "taken",
      (r) => ({ merchant_id: `${r}.b` }),
    ],
    [
      "a reseller naming itself again",
      "reseller",
      (r) => ({ reseller_id: r }),
      "taken",
      (r) => ({ merchant_id: `${r}.a` }),
    ],
    [
      "a reseller to another reseller",
      "reseller",
      (_r, o) => ({ reseller_id: o }),
      "FORBIDDEN",
      (r) => ({ reseller_id: r }),
    ],
    [
      "a reseller into the shared pool",
      "reseller",
      () => ({ reseller_id: null }),
      "FORBIDDEN",
      (r) => ({ reseller_id: r }),
    ],
  ])("given by %s", async (_what, who, patch, code, after) => {
    const [r, other] = [tenant(), tenant()];
    const { id } = await create(asReseller(r), { merchant_id: `${r}.a`, ...NEVER_RESERVED });
    expect(await codeFrom(update(who === "admin" ? asAdmin : asReseller(r), id, patch(r, other)))).toBe(code);
    expect(await get(asAdmin, id)).toMatchObject(after(r, other));
  });

  test("announces that there may be a free slot", async () => {
    const r = tenant();
    const { id } = await create(asReseller(r), { status: "DISABLED", provider: "PROVIDER_THREE" });
    at.freed.length = 0;
    await update(asReseller(r), id, { status: "AVAILABLE" });
    await until("numbers.freed", () => at.freed.find((e) => e.provider === "PROVIDER_THREE"));
  });
});
