import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { codeOf } from "../../../shared/errors.ts";
import { asAdmin, asReseller } from "../../../local/harness/stage.ts";
import { releaseOne, reserveOne, setNumbersStage, tenant, US } from "../fixtures/numbers-service.ts";

type By = ParamsOf<"numbers.create">["by"];
type Patch = ParamsOf<"numbers.update">["number"];

const at = setNumbersStage();

const create = (by: By, over: Partial<ParamsOf<"numbers.create">> = {}) =>
  at.stage.bus.call("numbers.create", { by, phone_number: US(), provider: "PROVIDER_ONE", ...over });
const get = (by: By, number_id: string) => at.stage.bus.call("numbers.get", { by, number_id });
const update = (by: By, number_id: string, number: Patch, force?: boolean) =>
  at.stage.bus.call("numbers.update", { by, number_id, number, ...(force === undefined ? {} : { force }) });
const remove = (by: By, number_id: string, force?: boolean) =>
  at.stage.bus.call("numbers.remove", { by, number_id, ...(force === undefined ? {} : { force }) });
const reserve = (reseller_id: string, holder: string, merchant_id: string | null = null) =>
  reserveOne(at.stage.bus, holder, { reseller_id, merchant_id });
const release = (holder: string) => releaseOne(at.stage.bus, holder);
const codeFrom = (call: Promise<unknown>): Promise<string> => call.then(() => "taken", codeOf);

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
    expect((await update(by, id, { status: "AVAILABLE", channel: "voice" })).status).toBe("AVAILABLE");
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

  test("fewer slots than calls: they continue, new ones wait for a free slot", async () => {
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

  test("deleting is refused; with force no request finds it any more, and it is removed when the last call ends", async () => {
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
    expect(await at.gone(id)).toBe(true);
    await release(`${r}-3`);
    await remove(by, again.id);
    expect(await at.gone(again.id)).toBe(true);
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
    for (const one of [id, second.id]) expect(await at.gone(one)).toBe(true);
    expect(await at.stored.countDocuments({ phone_number } as object)).toBe(1);
  });

  test("a call whose lease has ended does not count: nothing is refused", async () => {
    const { by, id } = await inCall();
    await at.stored.updateOne({ _id: id }, { $set: { "slots.0.until": new Date(Date.now() - 1000) } });
    expect((await update(by, id, { provider: "PROVIDER_TWO", status: "DISABLED" })).status).toBe("DISABLED");
    expect(await remove(by, id)).toEqual({});
    expect(await at.gone(id)).toBe(true);
  });

  test("a race of calls and a delete: a holder that got a slot can release it, and nothing is left", async () => {
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
    expect(await at.gone(id)).toBe(true);
  });
});
