import { codeOf } from "../../../shared/errors.ts";
import { asReseller } from "../../../local/harness/stage.ts";
import { setNumbersStage, tenant } from "../fixtures/numbers-service.ts";
import { slotCalls } from "../fixtures/slot-calls.ts";

const at = setNumbersStage();
const { create, many, wants, releaseMany, of, holdersOf, available } = slotCalls(at);

describe("a number changed or deleted during calls on slots reserved many at a time (F44)", () => {
  const busy = async () => {
    const r = tenant();
    const { id } = await create(r, { max_concurrent_calls: 5 });
    await many(r, wants(`${r}-c`, 3));
    return { r, id, by: asReseller(r) };
  };

  test("is neither disabled nor deleted without force while one slot is reserved", async () => {
    const { r, id, by } = await busy();
    const disable = () =>
      at.stage.bus
        .call("numbers.update", { by, number_id: id, number: { status: "DISABLED" } })
        .then((n) => n.status, codeOf);
    const remove = () => at.stage.bus.call("numbers.remove", { by, number_id: id }).then(() => "gone", codeOf);
    await releaseMany([`${r}-c.0`, `${r}-c.1`]);
    expect([await disable(), await remove()]).toEqual(["RESOURCE_IN_USE", "RESOURCE_IN_USE"]);
    await releaseMany([`${r}-c.2`]);
    expect([await disable(), await remove()]).toEqual(["DISABLED", "gone"]);
  });

  test("disabled by force its calls continue, and it takes no new ones", async () => {
    const { r, id, by } = await busy();
    await at.stage.bus.call("numbers.update", { by, number_id: id, number: { status: "DISABLED" }, force: true });
    expect(await holdersOf(r)).toHaveLength(3);
    expect(await many(r, wants(`${r}-d`, 2))).toEqual([null, null]);
    expect((await many(r, wants(`${r}-c`, 3), { lease_seconds: 600 })).map((l) => l?.id)).toEqual([id, id, id]);
    expect(await available(r)).toEqual({ numbers: 0, free_lines: 0 });
  });

  test("a number deleted by force is removed with its last slot, however the slots are released", async () => {
    const { r, id, by } = await busy();
    await at.stage.bus.call("numbers.remove", { by, number_id: id, force: true });
    expect(await many(r, wants(`${r}-d`, 1))).toEqual([null]);
    await releaseMany([`${r}-c.0`, `${r}-c.1`]);
    expect(await of(r)).toHaveLength(1);
    await Promise.all([releaseMany([`${r}-c.2`]), releaseMany([`${r}-c.2`])]);
    expect(await at.gone(id)).toBe(true);
  });

  test("deletes and last releases that race leave nothing behind", async () => {
    for (let i = 0; i < 15; i++) {
      const { r, id, by } = await busy();
      await Promise.all([
        releaseMany([0, 1, 2].map((n) => `${r}-c.${n}`)),
        at.stage.bus.call("numbers.remove", { by, number_id: id, force: true }),
      ]);
      expect(await at.gone(id)).toBe(true);
    }
  });
});
