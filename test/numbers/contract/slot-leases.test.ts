import { MongoClient } from "mongodb";
import { needing } from "../../fixtures/database-abilities.ts";
import { servedBy } from "../../fixtures/query-plan.ts";
import { asAdmin, until } from "../../../local/harness/stage.ts";
import { setNumbersStage, tenant } from "../fixtures/numbers-service.ts";
import { A_US, slotCalls } from "../fixtures/slot-calls.ts";

const at = setNumbersStage();
const { create, many, wants, releaseMany, keepMany, of, holdersOf, idle } = slotCalls(at);
/** MongoDB's code of a write that it gave up for another at the same time. */
const WRITE_CONFLICT = 112;

needing("failPoints", () => {
  test("leases and releases that the database gives up for others' writes are made all the same", async () => {
    const r = tenant();
    await create(r, { max_concurrent_calls: 2 });
    await many(r, wants(r, 2));
    const client = await MongoClient.connect(at.stage.uri);
    const giveUp = (times: number) =>
      client.db("admin").command({
        configureFailPoint: "failCommand",
        mode: { times },
        data: { failCommands: ["update"], errorCode: WRITE_CONFLICT },
      });
    await giveUp(2);
    expect(await keepMany([{ holder: `${r}.0`, lease_seconds: 600 }])).toEqual([true]);
    await giveUp(2);
    expect((await many(r, wants(r, 2))).map((line) => line === null)).toEqual([false, false]);
    await giveUp(2);
    await releaseMany([`${r}.0`, `${r}.1`]);
    expect(await holdersOf(r)).toEqual([]);
    await client.close();
  });
});

describe("keepMany", () => {
  test("renews the leases of the slots reserved in these names, each by its own length, and says which were held; a disabled number's too", async () => {
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

  test("a slot whose lease has ended is gone, and may be another holder's already", async () => {
    const r = tenant();
    await create(r);
    await many(r, [{ to: A_US, holder: `${r}.1~here` }], { lease_seconds: 30 });
    await at.stored.updateOne({ reseller_id: r } as object, { $set: { "slots.0.until": new Date(Date.now() - 1) } });
    expect(await keepMany([{ holder: `${r}.1`, lease_seconds: 600 }])).toEqual([false]);
    expect(await many(r, wants(`${r}-b`, 1))).toEqual([expect.objectContaining({ provider: "PROVIDER_ONE" })]);
    expect(await keepMany([{ holder: `${r}.1`, lease_seconds: 600 }])).toEqual([false]);
  });
});

describe("releaseMany", () => {
  test("releases each holder's slots and those in its name, not others', and announces it once for each provider", async () => {
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

  test("many releases at once release what they name, and nothing else", async () => {
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

describe("free slots are announced", () => {
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
      "a number gets more slots",
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
      "slots are released",
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

needing("plans", () => {
  test("reserving and releasing slots is served by indexes", async () => {
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
});
