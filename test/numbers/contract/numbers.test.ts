import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { codeOf } from "../../../shared/errors.ts";
import { asAdmin, asMerchant, asReseller, asUser, until } from "../../../local/harness/stage.ts";
import { GB, releaseOne, reserveOne, setNumbersStage, tenant, US } from "../fixtures/numbers-service.ts";
import { played } from "../../fixtures/long-form.ts";

const at = setNumbersStage();

const create = (over: Partial<ParamsOf<"numbers.create">> & { by: ParamsOf<"numbers.create">["by"] }) =>
  at.stage.bus.call("numbers.create", { phone_number: US(), provider: "PROVIDER_ONE", ...over });
const reserve = (
  reseller_id: string,
  holder: string,
  over: Omit<Parameters<typeof reserveOne>[2], "reseller_id"> = {},
) => reserveOne(at.stage.bus, holder, { reseller_id, ...over });
const release = (holder: string) => releaseOne(at.stage.bus, holder);
const available = (reseller_id: string, merchant_id: string | null = null) =>
  at.stage.bus.call("numbers.availability", { reseller_id, merchant_id, provider: "PROVIDER_ONE" });
const codeFrom = (call: Promise<unknown>): Promise<string> => call.then(() => "taken", codeOf);

describe("create", () => {
  test("fills in the defaults and shows the record", async () => {
    const r = tenant();
    const phone = US();
    const record = await create({ by: asReseller(r), phone_number: `+1 ${phone.slice(2)}` });
    expect(record).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      phone_number: phone,
      provider: "PROVIDER_ONE",
      status: "AVAILABLE",
      channel: "voice",
      max_concurrent_calls: 1,
      reseller_id: r,
      merchant_id: null,
      inbound_template_id: null,
      created_at: expect.stringMatching(/Z$/),
      updated_at: record.created_at,
    });
  });

  test("the same number of one reseller is refused, whatever its spelling", async () => {
    const r = tenant();
    const phone = US();
    await create({ by: asReseller(r), phone_number: phone });
    expect(
      await codeFrom(
        create({ by: asAdmin, reseller_id: r, phone_number: `+1-${phone.slice(2)}`, provider: "PROVIDER_TWO" }),
      ),
    ).toBe("NUMBER_EXISTS");
  });

  test("a race for the same number has one winner", async () => {
    const r = tenant();
    const phone = US();
    const codes = await Promise.all(
      Array.from({ length: 10 }, () => codeFrom(create({ by: asReseller(r), phone_number: phone }))),
    );
    expect(codes.filter((c) => c === "taken")).toHaveLength(1);
    expect(codes.filter((c) => c === "NUMBER_EXISTS")).toHaveLength(9);
  });

  const mine = asReseller("rs-mine");
  test.each<[string, string, Partial<ParamsOf<"numbers.create">> & { by: ParamsOf<"numbers.create">["by"] }]>([
    ["a malformed number", "INVALID_PHONE_NUMBER", { by: mine, phone_number: "12345" }],
    ["another reseller", "FORBIDDEN", { by: mine, reseller_id: "rs-other" }],
    ["the shared pool, by a reseller", "FORBIDDEN", { by: mine, reseller_id: null }],
    ["a merchant as asker", "FORBIDDEN", { by: asMerchant("rs-mine", "rs-mine.m") }],
    ["a user as asker", "FORBIDDEN", { by: asUser("rs-mine", "rs-mine.m") }],
    ["an unknown reseller", "RESELLER_NOT_FOUND", { by: asAdmin, reseller_id: "nobody" }],
    ["a merchant of another reseller", "MERCHANT_NOT_FOUND", { by: mine, merchant_id: "rs-other.m" }],
    ["a merchant without its reseller", "VALIDATION_FAILED", { by: asAdmin, merchant_id: "rs-mine.m" }],
    ["no room for a single call", "VALIDATION_FAILED", { by: mine, max_concurrent_calls: 0 }],
  ])("%s is %s", async (_what, code, params) => {
    expect(await codeFrom(create(params))).toBe(code);
  });

  test("an admin without reseller adds to the shared pool; its free slot is announced", async () => {
    at.freed.length = 0;
    expect(await create({ by: asAdmin, provider: "PROVIDER_THREE", status: "DISABLED" })).toMatchObject({
      reseller_id: null,
      merchant_id: null,
      status: "DISABLED",
    });
    await until("numbers.freed", () => at.freed.find((e) => e.provider === "PROVIDER_THREE"));
  });
});

describe("list", () => {
  test("shows each asker its own numbers", async () => {
    const r = tenant();
    const whole = await create({ by: asReseller(r) });
    const own = await create({ by: asReseller(r), merchant_id: `${r}.a` });
    const other = await create({ by: asReseller(r), merchant_id: `${r}.b` });
    const ids = async (by: ParamsOf<"numbers.list">["by"]) =>
      (await at.stage.bus.call("numbers.list", { by, limit: 500 })).numbers.map((n) => n.id);
    expect(await ids(asReseller(r))).toEqual([other.id, own.id, whole.id]);
    expect(await ids(asMerchant(r, `${r}.a`))).toEqual([own.id, whole.id]);
    expect(await ids(asUser(r, `${r}.b`))).toEqual([other.id, whole.id]);
    expect(await ids(asReseller(tenant()))).toEqual([]);
    expect(await ids(asAdmin)).toEqual(expect.arrayContaining([other.id, own.id, whole.id]));
  });

  test("pages, and filters by the status that is shown", async () => {
    const r = tenant();
    const by = asReseller(r);
    const made = [
      await create({ by }),
      await create({ by, max_concurrent_calls: 2 }),
      await create({ by, status: "DISABLED" }),
    ];
    await reserve(r, `${r}-1`);
    await reserve(r, `${r}-2`);
    const status = async (s: "AVAILABLE" | "IN_USE" | "DISABLED") =>
      (await at.stage.bus.call("numbers.list", { by, status: s })).numbers.map((n) => [n.id, n.status]);
    expect(await status("IN_USE")).toEqual([[made[0]!.id, "IN_USE"]]);
    expect(await status("AVAILABLE")).toEqual([[made[1]!.id, "AVAILABLE"]]);
    expect(await status("DISABLED")).toEqual([[made[2]!.id, "DISABLED"]]);
    const first = await at.stage.bus.call("numbers.list", { by, limit: 2 });
    const second = await at.stage.bus.call("numbers.list", { by, limit: 2, cursor: first.next_cursor! });
    expect([...first.numbers, ...second.numbers].map((n) => n.id)).toEqual(made.map((m) => m.id).reverse());
    expect(second.next_cursor).toBeNull();
  });
});

describe("reserve", () => {
  test("reserves a slot, and the same slot again for the same holder, with a longer lease", async () => {
    const r = tenant();
    await create({ by: asReseller(r) });
    await create({ by: asReseller(r) });
    const line = await reserve(r, `${r}-h`);
    const before = await at.stored.findOne({ _id: line!.id });
    expect(await reserve(r, `${r}-h`, { lease_seconds: 600 })).toEqual(line);
    const after = await at.stored.findOne({ _id: line!.id });
    expect(after!.slots).toHaveLength(1);
    expect(after!.slots[0]!.until.getTime() - before!.slots[0]!.until.getTime()).toBeGreaterThan(500_000);
    expect(await reserve(r, `${r}-h`, { lease_seconds: 1 })).toEqual(line);
    expect((await at.stored.findOne({ _id: line!.id }))!.slots[0]!.until).toEqual(after!.slots[0]!.until);
  });

  test("prefers the merchant's own number, then the reseller's, then the pool, whatever was used last", async () => {
    const r = tenant();
    const provider = "PROVIDER_TWO";
    const pool = await create({ by: asAdmin, provider });
    const whole = await create({ by: asReseller(r), provider });
    const own = await create({ by: asReseller(r), merchant_id: `${r}.a`, provider });
    await create({ by: asReseller(r), merchant_id: `${r}.b`, provider });
    await create({ by: asReseller(tenant()), provider });
    const taken = [];
    for (const holder of ["1", "2", "3", "4"])
      taken.push((await reserve(r, `${r}-${holder}`, { merchant_id: `${r}.a`, provider }))?.id);
    expect(taken).toEqual([own.id, whole.id, pool.id, undefined]);
    for (const holder of ["1", "2", "3"]) await release(`${r}-${holder}`);
    expect((await reserve(r, `${r}-5`, { provider }))?.id).toBe(whole.id);
    await release(`${r}-5`);
  });

  test("prefers the callee's country, then the least recently used", async () => {
    const r = tenant();
    const us = [await create({ by: asReseller(r) }), await create({ by: asReseller(r) })];
    const gb = await create({ by: asReseller(r), phone_number: GB() });
    expect((await reserve(r, `${r}-1`, { to: "+442079460001" }))?.id).toBe(gb.id);
    const first = (await reserve(r, `${r}-2`))!.id;
    await release(`${r}-2`);
    const second = (await reserve(r, `${r}-3`))!.id;
    await release(`${r}-3`);
    expect([first, second].sort()).toEqual(us.map((n) => n.id).sort());
    expect((await reserve(r, `${r}-4`))!.id).toBe(first);
    expect((await reserve(r, `${r}-5`, { to: "+442079460001" }))!.id).toBe(second);
  });

  test("never uses a disabled number, another provider's or another reseller's", async () => {
    const r = tenant();
    await create({ by: asReseller(r), status: "DISABLED" });
    await create({ by: asReseller(r), provider: "PROVIDER_TWO" });
    await create({ by: asReseller(tenant()) });
    expect(await reserve(r, `${r}-1`)).toBeNull();
  });

  test("a hundred at once never exceed what the numbers can carry, and use all of it", async () => {
    const r = tenant();
    const lines = [1, 3, 5, 20];
    for (const max_concurrent_calls of lines) await create({ by: asReseller(r), max_concurrent_calls });
    const got = await Promise.all(Array.from({ length: 100 }, (_, i) => reserve(r, `${r}-${i}`)));
    expect(got.filter(Boolean)).toHaveLength(29);
    const docs = await at.stored.find({ reseller_id: r } as object).toArray();
    expect(docs.map((d) => d.slots.length).sort((a, b) => a - b)).toEqual(lines);
    for (const [i, line] of got.entries()) {
      const holds = docs.filter((d) => d.slots.some((s) => s.holder === `${r}-${i}`)).map((d) => d._id);
      expect(holds).toEqual(line ? [line.id] : []);
    }
  });

  test("reserves and releases in disorder never exceed it either, and nothing is left behind", async () => {
    const r = tenant();
    await create({ by: asReseller(r), max_concurrent_calls: 2 });
    await create({ by: asReseller(r), max_concurrent_calls: 1 });
    let held = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: played(8, 24) }, async (_, i) => {
        for (let turn = 0; turn < 3; turn++) {
          if (!(await reserve(r, `${r}-${i}-${turn}`))) continue;
          most = Math.max(most, ++held);
          await available(r);
          held--;
          await release(`${r}-${i}-${turn}`);
        }
      }),
    );
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(3);
    expect(await at.stored.countDocuments({ reseller_id: r, "slots.0": { $exists: true } } as object)).toBe(0);
  });

  test("one holder asking many times at once gets one slot", async () => {
    const r = tenant();
    for (let i = 0; i < 5; i++) await create({ by: asReseller(r), max_concurrent_calls: 3 });
    const got = await Promise.all(Array.from({ length: 20 }, () => reserve(r, `${r}-h`)));
    expect(new Set(got.map((l) => l?.id)).size).toBe(1);
    const slots = (await at.stored.find({ reseller_id: r } as object).toArray()).flatMap((d) => d.slots);
    expect(slots.map((s) => s.holder)).toEqual([`${r}-h`]);
  });

  test("a slot whose lease has ended is free again, for others and for its own holder", async () => {
    const r = tenant();
    const { id } = await create({ by: asReseller(r) });
    await reserve(r, `${r}-dead`);
    expect(await reserve(r, `${r}-next`)).toBeNull();
    await at.stored.updateOne({ _id: id }, { $set: { "slots.0.until": new Date(Date.now() - 1000) } });
    expect((await at.stage.bus.call("numbers.list", { by: asReseller(r) })).numbers[0]?.status).toBe("AVAILABLE");
    expect((await reserve(r, `${r}-dead`))?.id).toBe(id);
    await at.stored.updateOne({ _id: id }, { $set: { "slots.0.until": new Date(Date.now() - 1000) } });
    expect((await reserve(r, `${r}-next`))?.id).toBe(id);
    expect((await at.stored.findOne({ _id: id }))!.slots.map((s) => s.holder)).toEqual([`${r}-next`]);
  });

  test("a holder's name is never read as an expression", async () => {
    const r = tenant();
    await create({ by: asReseller(r) });
    const line = await reserve(r, "$$ROOT");
    expect((await at.stored.findOne({ _id: line!.id }))!.slots.map((s) => s.holder)).toEqual(["$$ROOT"]);
    await release("$$ROOT");
  });
});

describe("release", () => {
  test("releases the holder's slot only, once, and announces it", async () => {
    const r = tenant();
    const { id } = await create({ by: asReseller(r), max_concurrent_calls: 2 });
    await reserve(r, `${r}-1`);
    await reserve(r, `${r}-2`);
    await until("earlier events", () => (at.freed.length > 0 ? true : undefined));
    at.freed.length = 0;
    await release(`${r}-1`);
    await until("numbers.freed", () => at.freed[0]);
    await release(`${r}-1`);
    await release("nobody");
    expect((await at.stored.findOne({ _id: id }))!.slots.map((s) => s.holder)).toEqual([`${r}-2`]);
    expect(at.freed).toEqual([{ provider: "PROVIDER_ONE" }]);
  });
});

describe("release in the name of an attempt", () => {
  test("the end of an attempt releases what any scheduler reserved for it; a loser releases its own only", async () => {
    const r = tenant();
    for (let i = 0; i < 3; i++) await create({ by: asReseller(r), max_concurrent_calls: 2 });
    const holders = async () =>
      (await at.stored.find({ reseller_id: r } as object).toArray())
        .flatMap((d) => d.slots.map((s) => s.holder))
        .sort();
    for (const holder of [`${r}.1~a`, `${r}.1~b`, `${r}.1`, `${r}.10`, `${r}.1x`, `${r}.2~a`]) await reserve(r, holder);
    await release(`${r}.1~b`);
    expect(await holders()).toEqual([`${r}.1`, `${r}.10`, `${r}.1x`, `${r}.1~a`, `${r}.2~a`].sort());
    await release(`${r}.1`);
    expect(await holders()).toEqual([`${r}.10`, `${r}.1x`, `${r}.2~a`].sort());
  });
});

describe("availability", () => {
  test("distinguishes busy numbers from none", async () => {
    const r = tenant();
    const any = async (merchant_id?: string) => (await available(r, merchant_id)).numbers > 0;
    expect(await any()).toBe(false);
    await create({ by: asReseller(r), status: "DISABLED" });
    await create({ by: asReseller(r), merchant_id: `${r}.a` });
    expect(await any()).toBe(false);
    expect(await any(`${r}.b`)).toBe(false);
    expect(await any(`${r}.a`)).toBe(true);
    await reserve(r, `${r}-1`, { merchant_id: `${r}.a` });
    expect(await any(`${r}.a`)).toBe(true);
  });
});
