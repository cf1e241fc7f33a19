import type { ParamsOf } from "../../../shared/bus.ts";
import { codeOf } from "../../../shared/errors.ts";
import { servedBy } from "../../fixtures/query-plan.ts";
import { asAdmin, asReseller, until } from "../../../local/harness/stage.ts";
import { GB, setNumbersStage, tenant, US } from "../fixtures/numbers-service.ts";

type Many = ParamsOf<"numbers.reserveMany">;

const at = setNumbersStage();

const A_US = "+14155559999";
const A_GB = "+442079460001";
const create = (reseller_id: string | null, over: Partial<ParamsOf<"numbers.create">> = {}) =>
  at.stage.bus.call("numbers.create", {
    by: asAdmin,
    reseller_id,
    phone_number: US(),
    provider: "PROVIDER_ONE",
    ...over,
  });
const many = async (reseller_id: string, wants: Many["wants"], over: Partial<Many> = {}) =>
  (
    await at.stage.bus.call("numbers.reserveMany", {
      reseller_id,
      merchant_id: null,
      provider: "PROVIDER_ONE",
      lease_seconds: 60,
      same_country: false,
      wants,
      ...over,
    })
  ).lines;
const wants = (prefix: string, count: number, to = A_US) =>
  Array.from({ length: count }, (_, i) => ({ to, holder: `${prefix}.${i}` }));
const releaseMany = (holders: string[]) => at.stage.bus.call("numbers.releaseMany", { holders });
const keepMany = async (lines: ParamsOf<"numbers.keepMany">["lines"]) =>
  (await at.stage.bus.call("numbers.keepMany", { lines })).kept;
const of = (reseller_id: string) => at.stored.find({ reseller_id } as object).toArray();
const holdersOf = async (reseller_id: string) =>
  (await of(reseller_id)).flatMap((d) => d.slots.map((s) => s.holder)).sort();
const available = (reseller_id: string, over: Partial<ParamsOf<"numbers.availability">> = {}) =>
  at.stage.bus.call("numbers.availability", { reseller_id, merchant_id: null, provider: "PROVIDER_ONE", ...over });
const idle = () =>
  until("events under way", async () => {
    at.freed.length = 0;
    await new Promise((r) => setImmediate(r));
    return at.freed.length === 0 || undefined;
  });

describe("keepMany", () => {
  test("prolongs the lines taken in these names, each by its own length, and says which stood; a disabled number's too", async () => {
    const r = tenant();
    const { id } = await create(r, { max_concurrent_calls: 3 });
    await many(
      r,
      [
        { to: A_US, holder: `${r}.1~here` },
        { to: A_US, holder: `${r}.2~here` },
        { to: A_US, holder: `${r}.3~here` },
      ],
      { lease_seconds: 30 },
    );
    await at.stage.bus.call("numbers.update", {
      by: asAdmin,
      number_id: id,
      number: { status: "DISABLED" },
      force: true,
    });
    const before = Date.now();
    expect(
      await keepMany([
        { holder: `${r}.2`, lease_seconds: 600 },
        { holder: `${r}.none`, lease_seconds: 600 },
        { holder: `${r}.1`, lease_seconds: 900 },
      ]),
    ).toEqual([true, false, true]);
    const seconds = (await of(r))[0]!.slots.map((s) => Math.floor((s.until.getTime() - before) / 1000));
    expect(seconds.map((s, i) => s - [900, 600, 30][i]!).every((off) => off >= -5 && off <= 5)).toBe(true);
  });

  test("a line whose time is over is gone, and may be another's already", async () => {
    const r = tenant();
    await create(r);
    await many(r, [{ to: A_US, holder: `${r}.1~here` }], { lease_seconds: 30 });
    await at.stored.updateOne({ reseller_id: r } as object, { $set: { "slots.0.until": new Date(Date.now() - 1) } });
    expect(await keepMany([{ holder: `${r}.1`, lease_seconds: 600 }])).toEqual([false]);
    expect(await many(r, wants(`${r}-b`, 1))).toEqual([expect.objectContaining({ provider: "PROVIDER_ONE" })]);
    expect(await keepMany([{ holder: `${r}.1`, lease_seconds: 600 }])).toEqual([false]);
  });
});

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

  test("who has a line keeps it, for at least this long; a holder named twice has one line", async () => {
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

  test("a lapsed line is free again, its holder has none any more", async () => {
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

  test("the same holders asked for many times at once have one line each", async () => {
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

describe("releaseMany", () => {
  test("frees each holder's lines and those in its name, others' not, and says so once for each provider", async () => {
    const r = tenant();
    for (const provider of ["PROVIDER_ONE", "PROVIDER_TWO"] as const)
      await create(r, { provider, max_concurrent_calls: 20 });
    const names = (provider: string) =>
      ["1~a", "1~b", "1", "10", "1x", "2~a", "2~b", "3"].map((n) => `${r}.${provider}.${n}`);
    for (const provider of ["PROVIDER_ONE", "PROVIDER_TWO"] as const)
      await many(
        r,
        names(provider).map((holder) => ({ to: A_US, holder })),
        { provider },
      );
    await idle();
    await releaseMany([
      ...["1", "2~a"].map((n) => `${r}.PROVIDER_ONE.${n}`),
      `${r}.PROVIDER_TWO.3`,
      "nobody",
      "nobody~x",
    ]);
    expect(await holdersOf(r)).toEqual(
      [
        ...["10", "1x", "2~b", "3"].map((n) => `${r}.PROVIDER_ONE.${n}`),
        ...names("PROVIDER_TWO").filter((h) => !h.endsWith(".3")),
      ].sort(),
    );
    await until("both providers", () => at.freed.length >= 2 || undefined);
    expect(at.freed.map((e) => e.provider).sort()).toEqual(["PROVIDER_ONE", "PROVIDER_TWO"]);
    await releaseMany([]);
  });

  test("many single releases at once free what they name, and nothing else", async () => {
    const r = tenant();
    await create(r, { max_concurrent_calls: 60 });
    await many(
      r,
      wants(`${r}-j`, 60).map((w) => ({ ...w, holder: `${w.holder}~node` })),
    );
    await Promise.all(wants(`${r}-j`, 50).map(({ holder }) => releaseMany([holder])));
    expect(await holdersOf(r)).toEqual(
      wants(`${r}-j`, 60)
        .slice(50)
        .map((w) => `${w.holder}~node`)
        .sort(),
    );
  });
});

describe("a number changed or deleted during calls on lines taken many at a time (F44)", () => {
  const busy = async () => {
    const r = tenant();
    const { id } = await create(r, { max_concurrent_calls: 5 });
    await many(r, wants(`${r}-c`, 3));
    return { r, id, by: asReseller(r) };
  };

  test("neither disabled nor deleted without force, while one line is left", async () => {
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

  test("disabled by force its calls go on, and it takes no new ones", async () => {
    const { r, id, by } = await busy();
    await at.stage.bus.call("numbers.update", { by, number_id: id, number: { status: "DISABLED" }, force: true });
    expect(await holdersOf(r)).toHaveLength(3);
    expect(await many(r, wants(`${r}-d`, 2))).toEqual([null, null]);
    expect((await many(r, wants(`${r}-c`, 3), { lease_seconds: 600 })).map((l) => l?.id)).toEqual([id, id, id]);
    expect(await available(r)).toEqual({ numbers: 0, free_lines: 0 });
  });

  test("deleted by force it goes with its last line, however the lines are given back", async () => {
    const { r, id, by } = await busy();
    await at.stage.bus.call("numbers.remove", { by, number_id: id, force: true });
    expect(await many(r, wants(`${r}-d`, 1))).toEqual([null]);
    await releaseMany([`${r}-c.0`, `${r}-c.1`]);
    expect(await of(r)).toHaveLength(1);
    await Promise.all([releaseMany([`${r}-c.2`]), releaseMany([`${r}-c.2`])]);
    expect(await of(r)).toHaveLength(0);
  });

  test("deletes and last releases that race leave nothing behind", async () => {
    for (let i = 0; i < 15; i++) {
      const { r, id, by } = await busy();
      await Promise.all([
        releaseMany([0, 1, 2].map((n) => `${r}-c.${n}`)),
        at.stage.bus.call("numbers.remove", { by, number_id: id, force: true }),
      ]);
      expect(await of(r)).toHaveLength(0);
    }
  });
});

describe("who waits is told", () => {
  test.each<[string, (r: string) => Promise<() => Promise<unknown>>]>([
    ["a number is added", async (r) => () => create(r)],
    [
      "a number is enabled",
      async (r) => {
        const { id } = await create(r, { status: "DISABLED" });
        return () =>
          at.stage.bus.call("numbers.update", { by: asAdmin, number_id: id, number: { status: "AVAILABLE" } });
      },
    ],
    [
      "a number's lines grow",
      async (r) => {
        const { id } = await create(r);
        return () =>
          at.stage.bus.call("numbers.update", { by: asAdmin, number_id: id, number: { max_concurrent_calls: 9 } });
      },
    ],
    [
      "a number is given to somebody else",
      async (r) => {
        const { id } = await create(r);
        return () => at.stage.bus.call("numbers.update", { by: asAdmin, number_id: id, number: { reseller_id: null } });
      },
    ],
    [
      "lines are given back",
      async (r) => {
        await create(r);
        await many(r, wants(`${r}-t`, 1));
        return () => releaseMany([`${r}-t.0`]);
      },
    ],
  ])("when %s", async (_when, prepare) => {
    const deed = await prepare(tenant());
    await idle();
    await deed();
    await until("numbers.freed", () => at.freed.find((e) => e.provider === "PROVIDER_ONE"));
  });
});

test("taking and freeing lines is served by indexes", async () => {
  const r = tenant();
  expect(await servedBy(at.stage.uri, "numbers", () => many(r, wants(`${r}-i`, 2)))).toEqual({
    index: expect.any(String),
    sorted: false,
  });
  expect(await servedBy(at.stage.uri, "numbers", () => releaseMany([`${r}-i.0`]))).toEqual({
    index: "lines_by_name",
    sorted: false,
  });
  expect(await servedBy(at.stage.uri, "numbers", () => releaseMany([`${r}-i.0~a`]))).toEqual({
    index: "one_line_per_holder",
    sorted: false,
  });
});
