import type { ParamsOf } from "../../../shared/bus.ts";
import { codeOf } from "../../../shared/errors.ts";
import { servedBy } from "../../fixtures/query-plan.ts";
import { asAdmin, asMerchant, asReseller, asUser, until } from "../../../local/harness/stage.ts";
import { releaseOne, reserveOne, setNumbersStage, tenant, US } from "../fixtures/numbers-service.ts";

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
const reserve = (reseller_id: string, holder: string, merchant_id: string | null = null) =>
  reserveOne(at.stage.bus, holder, { reseller_id, merchant_id });
const release = (holder: string) => releaseOne(at.stage.bus, holder);
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
    ["no lines", { max_concurrent_calls: 0 }],
    ["a provider of nobody", { provider: "PIGEON" }],
    ["null for what must be", { channel: null }],
  ])("%s: refused", async (_what, patch) => {
    const { id } = await create(asAdmin, NEVER_RESERVED);
    expect(await codeFrom(update(asAdmin, id, patch as Patch))).toBe("VALIDATION_FAILED");
  });

  test("a create with status IN_USE is refused", async () => {
    expect(await codeFrom(create(asAdmin, { status: "IN_USE" as never }))).toBe("VALIDATION_FAILED");
  });

  test("others' numbers may not be written, unknown ones are not found", async () => {
    const r = tenant();
    const own = await create(asReseller(r));
    const pool = await create(asAdmin, NEVER_RESERVED);
    for (const act of [
      (by: By, id: string) => update(by, id, { channel: "x" }),
      (by: By, id: string) => remove(by, id),
    ]) {
      expect(await codeFrom(act(asReseller(tenant()), own.id))).toBe("FORBIDDEN");
      expect(await codeFrom(act(asReseller(r), pool.id))).toBe("FORBIDDEN");
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

  test("to an owner that has this phone number already: NUMBER_EXISTS", async () => {
    const [r, other] = [tenant(), tenant()];
    const number = await create(asReseller(r));
    await create(asReseller(other), { phone_number: number.phone_number });
    expect(await codeFrom(update(asAdmin, number.id, { reseller_id: other }))).toBe("NUMBER_EXISTS");
  });

  test("tells who waits for a line when there may be one", async () => {
    const r = tenant();
    const { id } = await create(asReseller(r), { status: "DISABLED", provider: "PROVIDER_THREE" });
    at.freed.length = 0;
    await update(asReseller(r), id, { status: "AVAILABLE" });
    await until("numbers.freed", () => at.freed.find((e) => e.provider === "PROVIDER_THREE"));
  });
});

describe("during a call", () => {
  const inCall = async (lines = 1) => {
    const r = tenant();
    const by = asReseller(r);
    const number = await create(by, { max_concurrent_calls: lines });
    expect((await reserve(r, `${r}-1`))?.id).toBe(number.id);
    return { r, by, ...number };
  };

  test("disabling is refused; with force the call finishes and no new one is taken", async () => {
    const { r, by, id } = await inCall(2);
    expect(await codeFrom(update(by, id, { status: "DISABLED" }))).toBe("RESOURCE_IN_USE");
    expect((await get(by, id)).status).toBe("AVAILABLE");
    expect((await update(by, id, { status: "DISABLED" }, true)).status).toBe("DISABLED");
    expect(await reserve(r, `${r}-2`)).toBeNull();
    expect((await reserve(r, `${r}-1`))?.id).toBe(id); // the call that has its line keeps it
    expect(await codeFrom(update(by, id, { status: "DISABLED", channel: "x" }))).toBe("taken");
    await release(`${r}-1`);
    expect((await at.stored.findOne({ _id: id }))?.slots).toEqual([]);
    expect((await update(by, id, { status: "AVAILABLE" })).status).toBe("AVAILABLE");
    expect((await reserve(r, `${r}-2`))?.id).toBe(id);
  });

  test("the provider stays, by force too; everything else may change", async () => {
    const { r, by, id } = await inCall();
    for (const force of [false, true])
      expect(await codeFrom(update(by, id, { provider: "PROVIDER_TWO" }, force))).toBe("RESOURCE_IN_USE");
    expect(await update(by, id, { provider: "PROVIDER_ONE", channel: "x", merchant_id: `${r}.a` })).toMatchObject({
      status: "IN_USE",
      channel: "x",
    });
    await release(`${r}-1`);
    expect(await codeFrom(update(by, id, { provider: "PROVIDER_TWO" }))).toBe("taken");
  });

  test("fewer lines than calls: they go on, new ones wait until there is room", async () => {
    const { r, by, id } = await inCall(3);
    for (const n of [2, 3]) await reserve(r, `${r}-${n}`);
    expect(await update(by, id, { max_concurrent_calls: 2 })).toMatchObject({
      status: "IN_USE",
      max_concurrent_calls: 2,
    });
    expect((await at.stored.findOne({ _id: id }))?.slots).toHaveLength(3);
    await release(`${r}-1`);
    expect(await reserve(r, `${r}-4`)).toBeNull();
    await release(`${r}-2`);
    expect((await reserve(r, `${r}-4`))?.id).toBe(id);
  });

  test("deleting is refused; with force it is gone for everybody at once, and for good when the last call ends", async () => {
    const { r, by, id, phone_number } = await inCall(2);
    await reserve(r, `${r}-2`);
    expect(await codeFrom(remove(by, id))).toBe("RESOURCE_IN_USE");
    expect(await remove(by, id, true)).toEqual({});
    expect(await codeFrom(get(by, id))).toBe("NUMBER_NOT_FOUND");
    for (const act of [update(by, id, { channel: "x" }), remove(by, id, true), remove(asAdmin, id)])
      expect(await codeFrom(act)).toBe("NUMBER_NOT_FOUND");
    expect((await at.stage.bus.call("numbers.list", { by })).count).toBe(0);
    expect(await reserve(r, `${r}-3`)).toBeNull();
    expect(
      await at.stage.bus.call("numbers.availability", { reseller_id: r, merchant_id: null, provider: "PROVIDER_ONE" }),
    ).toEqual({ numbers: 0, free_lines: 0 });
    const again = await create(by, { phone_number });
    expect((await reserve(r, `${r}-3`))?.id).toBe(again.id);
    await release(`${r}-1`);
    expect((await at.stored.findOne({ _id: id }))?.slots).toHaveLength(1);
    await release(`${r}-2`);
    expect(await at.stored.findOne({ _id: id })).toBeNull();
    await release(`${r}-3`);
    await remove(by, again.id);
    expect(await at.stored.countDocuments({ phone_number } as object)).toBe(0);
  });

  test("the same number can be deleted by force again and again", async () => {
    const { r, by, id, phone_number } = await inCall();
    await remove(by, id, true);
    const second = await create(by, { phone_number });
    await reserve(r, `${r}-2`);
    await remove(by, second.id, true);
    expect((await create(by, { phone_number })).phone_number).toBe(phone_number);
    await release(`${r}-1`);
    await release(`${r}-2`);
    expect(await at.stored.countDocuments({ phone_number } as object)).toBe(1);
  });

  test("a call whose lease is over is none: nothing is refused", async () => {
    const { by, id } = await inCall();
    await at.stored.updateOne({ _id: id }, { $set: { "slots.0.until": new Date(Date.now() - 1000) } });
    expect((await update(by, id, { provider: "PROVIDER_TWO", status: "DISABLED" })).status).toBe("DISABLED");
    expect(await remove(by, id)).toEqual({});
    expect(await at.stored.findOne({ _id: id })).toBeNull();
  });

  test("a race of calls and a delete: what was promised a line can end it, and nothing is left", async () => {
    const r = tenant();
    const { id } = await create(asReseller(r), { max_concurrent_calls: 20 });
    const [gone, ...lines] = await Promise.all([
      codeFrom(remove(asReseller(r), id)),
      ...Array.from({ length: 20 }, (_, i) => reserve(r, `${r}-${i}`)),
    ]);
    if (gone === "RESOURCE_IN_USE") {
      expect(lines.filter(Boolean)).toHaveLength(20);
      await remove(asReseller(r), id, true);
    } else {
      expect([gone, lines.filter(Boolean)]).toEqual(["taken", []]);
    }
    for (let i = 0; i < 20; i++) await release(`${r}-${i}`);
    expect(await at.stored.findOne({ _id: id })).toBeNull();
  });
});

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
    expect(await servedBy(at.stage.uri, "numbers", () => at.stage.bus.call("numbers.list", { by, ...filter }))).toEqual(
      { index, sorted: false },
    );
  });
  test("by phone number: the few of that number are looked at", async () => {
    for (const by of [asAdmin, asReseller("rs-1")]) {
      const served = await servedBy(at.stage.uri, "numbers", () =>
        at.stage.bus.call("numbers.list", { by, phone_number: "+14155550100" }),
      );
      expect(served.index).toBe("one_live_per_reseller");
    }
  });
});
