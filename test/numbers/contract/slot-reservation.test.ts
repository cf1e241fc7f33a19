import { asReseller } from "../../../local/harness/stage.ts";
import { GB, setNumbersStage, tenant } from "../fixtures/numbers-service.ts";
import { A_US, A_GB, slotCalls } from "../fixtures/slot-calls.ts";

const at = setNumbersStage();
const { create, many, wants, releaseMany, of, holdersOf, available } = slotCalls(at);

describe("reserveMany", () => {
  test("answers in order, fills numbers in few writes, least recently used first, null where nothing is left", async () => {
    const r = tenant();
    const [three, two] = [await create(r, { max_concurrent_calls: 3 }), await create(r, { max_concurrent_calls: 2 })];
    const first = await many(r, wants(`${r}-a`, 1));
    const used = first[0]!.id;
    const other = used === three.id ? two : three;
    const lines = await many(r, wants(`${r}-b`, 6));
    expect(lines.map((l) => l?.id ?? null).filter((id) => id !== null)).toHaveLength(4);
    expect(lines.slice(4)).toEqual([null, null]);
    expect(lines.slice(0, other.max_concurrent_calls).map((l) => l!.id)).toEqual(
      Array.from({ length: other.max_concurrent_calls }, () => other.id),
    );
    expect(lines[0]).toEqual({ id: other.id, phone_number: other.phone_number, provider: "PROVIDER_ONE" });
    for (const d of await of(r)) expect(d.slots).toHaveLength(d.max_concurrent_calls);
  });

  test("the merchant's own before the reseller's before the pool, home before abroad within each", async () => {
    const r = tenant();
    const provider = "PROVIDER_TWO";
    const pool = await create(null, { provider, max_concurrent_calls: 2 });
    const whole = await create(r, { provider });
    const ownGb = await create(r, { merchant_id: `${r}.m`, provider, phone_number: GB() });
    const ownUs = await create(r, { merchant_id: `${r}.m`, provider });
    await create(r, { merchant_id: `${r}.n`, provider });
    await create(tenant(), { provider });
    const lines = await many(
      r,
      [
        { to: A_US, holder: `${r}-1` },
        { to: A_US, holder: `${r}-2` },
        { to: A_GB, holder: `${r}-3` },
        { to: A_GB, holder: `${r}-4` },
      ],
      { merchant_id: `${r}.m`, provider },
    );
    expect(lines.map((l) => l!.id)).toEqual([ownUs.id, whole.id, ownGb.id, pool.id]);
    await releaseMany(
      wants(`${r}-`, 0)
        .map((w) => w.holder)
        .concat([1, 2, 3, 4].map((n) => `${r}-${n}`)),
    );
    expect(await holdersOf(r)).toEqual([]);
  });

  test("a number of another channel than voice is never called from, and counts for nobody", async () => {
    const r = tenant();
    const number = await create(r, { channel: "sms", max_concurrent_calls: 2 });
    expect(await many(r, wants(`${r}-a`, 1))).toEqual([null]);
    expect(await at.stage.bus.call("numbers.availability", { reseller_id: r, merchant_id: null, provider: "PROVIDER_ONE" })).toEqual({ numbers: 0, free_lines: 0 }); // prettier-ignore
    await at.stage.bus.call("numbers.update", {
      by: asReseller(r),
      number_id: number.id,
      number: { channel: "voice" },
    });
    expect((await many(r, wants(`${r}-b`, 1))).map((line) => line?.id)).toEqual([number.id]);
  });

  test("same_country never takes a foreign number, each want by its own callee", async () => {
    const r = tenant();
    const [us, gb] = [await create(r, { max_concurrent_calls: 5 }), await create(r, { phone_number: GB() })];
    const lines = await many(
      r,
      [
        { to: A_GB, holder: `${r}-1` },
        { to: A_GB, holder: `${r}-2` },
        { to: A_US, holder: `${r}-3` },
        { to: "+33142278186", holder: `${r}-4` },
      ],
      { same_country: true },
    );
    expect(lines.map((l) => l?.id ?? null)).toEqual([gb.id, null, us.id, null]);
  });

  test("finds a country's number among more numbers than are read at once", async () => {
    const r = tenant();
    await Promise.all(Array.from({ length: 120 }, () => create(r)));
    const gb = await create(r, { phone_number: GB(), max_concurrent_calls: 2 });
    await at.stored.updateOne({ _id: gb.id }, { $set: { used_at: new Date() } });
    expect((await many(r, wants(`${r}-g`, 3, A_GB), { same_country: true })).map((l) => l?.id ?? null)).toEqual([
      gb.id,
      gb.id,
      null,
    ]);
    expect((await many(r, wants(`${r}-u`, 130))).filter(Boolean)).toHaveLength(120);
  });

  test("a holder keeps its slot for at least this long; a holder named twice has one slot", async () => {
    const r = tenant();
    const line = await create(r, { max_concurrent_calls: 4 });
    await create(r, { max_concurrent_calls: 4 });
    const [kept] = await many(r, [{ to: A_US, holder: `${r}-1` }]);
    const again = await many(
      r,
      [
        { to: A_US, holder: `${r}-0` },
        { to: A_US, holder: `${r}-1` },
        { to: A_US, holder: `${r}-0` },
      ],
      { lease_seconds: 600 },
    );
    expect(again[1]).toEqual(kept);
    expect(again[0]).toEqual(again[2]);
    expect(await holdersOf(r)).toEqual([`${r}-0`, `${r}-1`]);
    const [slot] = (await of(r)).flatMap((d) => d.slots.filter((s) => s.holder === `${r}-1`));
    expect(slot!.until.getTime() - Date.now()).toBeGreaterThan(500_000);
    expect(line.id).toBeDefined();
  });

  test("a slot whose lease has ended is free again, and its holder has none", async () => {
    const r = tenant();
    const { id } = await create(r);
    await many(r, wants(`${r}-x`, 1));
    await at.stored.updateOne({ _id: id }, { $set: { "slots.0.until": new Date(Date.now() - 1000) } });
    expect(
      (
        await many(r, [
          { to: A_US, holder: `${r}-y` },
          { to: A_US, holder: `${r}-x.0` },
        ])
      ).map((l) => l?.id ?? null),
    ).toEqual([id, null]);
    expect(await holdersOf(r)).toEqual([`${r}-y`]);
  });

  test("parallel callers never exceed max_concurrent_calls, and use all of it", async () => {
    const r = tenant();
    const room = [1, 1, 1, 2, 3, 7, 20, 40];
    for (const max_concurrent_calls of room) await create(r, { max_concurrent_calls });
    const got = await Promise.all(Array.from({ length: 12 }, (_, i) => many(r, wants(`${r}-p${i}`, 10))));
    expect(got.flat().filter(Boolean)).toHaveLength(75);
    const docs = await of(r);
    for (const d of docs) expect(d.slots).toHaveLength(d.max_concurrent_calls);
    for (const [i, lines] of got.entries()) {
      for (const [j, line] of lines.entries())
        expect(docs.filter((d) => d.slots.some((s) => s.holder === `${r}-p${i}.${j}`)).map((d) => d._id)).toEqual(
          line ? [line.id] : [],
        );
    }
  });

  test("reserving and releasing in disorder never exceeds it either, and nothing is left behind", async () => {
    const r = tenant();
    for (const max_concurrent_calls of [1, 2, 4]) await create(r, { max_concurrent_calls });
    let held = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 8 }, async (_, i) => {
        for (let turn = 0; turn < 5; turn++) {
          const asked = wants(`${r}-${i}-${turn}`, 3);
          const got = (await many(r, asked)).filter(Boolean).length;
          held += got;
          most = Math.max(most, held);
          expect(held).toBeLessThanOrEqual(7);
          held -= got;
          await releaseMany(asked.map((w) => w.holder));
        }
      }),
    );
    expect(most).toBeGreaterThan(0);
    expect(await holdersOf(r)).toEqual([]);
  });

  test("the same holders asked for many times at once have one slot each", async () => {
    const r = tenant();
    for (let i = 0; i < 6; i++) await create(r, { max_concurrent_calls: 3 });
    const asked = wants(`${r}-s`, 5);
    const got = await Promise.all(Array.from({ length: 10 }, (_, i) => many(r, i % 2 ? asked : [...asked].reverse())));
    expect(await holdersOf(r)).toEqual(asked.map((w) => w.holder).sort());
    const expected = new Map((await of(r)).flatMap((d) => d.slots.map((s) => [s.holder, d._id] as const)));
    for (const [i, lines] of got.entries())
      expect(lines.map((l) => l?.id)).toEqual(
        (i % 2 ? asked : [...asked].reverse()).map((w) => expected.get(w.holder)),
      );
  });

  test("holders' names are never read as expressions", async () => {
    const r = tenant();
    await create(r, { max_concurrent_calls: 2 });
    await many(r, [
      { to: A_US, holder: "$$NOW" },
      { to: A_US, holder: "$slots" },
    ]);
    expect(await holdersOf(r)).toEqual(["$$NOW", "$slots"]);
    await releaseMany(["$$NOW", "$slots"]);
    expect(await holdersOf(r)).toEqual([]);
  });
});

describe("availability", () => {
  test("counts what may be used in the scope, and what is free of it", async () => {
    const r = tenant();
    const provider = "PROVIDER_THREE";
    expect(await available(r, { provider })).toEqual({ numbers: 0, free_lines: 0 });
    await create(r, { provider, max_concurrent_calls: 3 });
    await create(r, { provider, phone_number: GB() });
    await create(r, { provider, merchant_id: `${r}.m`, max_concurrent_calls: 10 });
    await create(r, { provider, status: "DISABLED" });
    await create(tenant(), { provider });
    expect(await available(r, { provider })).toEqual({ numbers: 2, free_lines: 4 });
    expect(await available(r, { provider, merchant_id: `${r}.m` })).toEqual({ numbers: 3, free_lines: 14 });
    expect(await available(r, { provider, country: "GB" })).toEqual({ numbers: 1, free_lines: 1 });
    await many(r, wants(`${r}-a`, 2), { provider });
    expect(await available(r, { provider })).toEqual({ numbers: 2, free_lines: 2 });
    await many(r, wants(`${r}-b`, 2), { provider });
    expect(await available(r, { provider })).toEqual({ numbers: 2, free_lines: 0 });
  });

  test("a number cut below its calls counts as full, not as less", async () => {
    const r = tenant();
    const { id } = await create(r, { max_concurrent_calls: 4 });
    await create(r);
    await many(r, wants(`${r}-a`, 5));
    await at.stage.bus.call("numbers.update", {
      by: asReseller(r),
      number_id: id,
      number: { max_concurrent_calls: 1 },
    });
    await releaseMany([`${r}-a.4`]);
    expect(await available(r)).toMatchObject({
      numbers: 2,
      free_lines: (await of(r)).find((d) => d._id !== id)!.slots.length === 0 ? 1 : 0,
    });
  });
});
