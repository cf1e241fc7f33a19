import blacklist from "../../../services/blacklist/blacklist.service.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { codeOf, type FailureData } from "../../../shared/errors.ts";
import { maskPhone } from "../../../shared/process/log.ts";
import {
  asAdmin,
  asMerchant,
  asReseller,
  asUser,
  setStage,
  standIn,
  type Stage,
} from "../../../local/harness/stage.ts";

const A = asReseller("rs-a");
const B = asReseller("rs-b");
let stage: Stage;
let nextNumber = 0;
const fresh = (): string => `+1415555${String(nextNumber++).padStart(4, "0")}`;

const audited: ParamsOf<"auth.record">[] = [];
let deaf = false;
const others = [
  standIn("merchants", { lookup: ({ reseller_id }) => ({ reseller: reseller_id.startsWith("rs-"), merchant: false }) }),
  standIn("auth", {
    record: (entry) => {
      if (deaf) throw new Error("the log is full");
      audited.push(entry);
      return {};
    },
  }),
];

beforeAll(async () => {
  stage = await setStage({
    services: [blacklist, ...others],
    env: { ERASURE_KEY: Buffer.alloc(32, 8).toString("base64") },
  });
});
afterAll(() => stage.stop());

const failing = async (call: Promise<unknown>): Promise<{ code: string; data: FailureData }> => {
  const error: unknown = await call.then(
    () => {
      throw new Error("it was taken");
    },
    (e: unknown) => e,
  );
  return { code: codeOf(error), data: (error as { data?: FailureData }).data ?? {} };
};
const listed = async (reseller_id: string, ...phones: string[]): Promise<boolean[]> =>
  (await stage.bus.call("blacklist.check", { pairs: phones.map((phone_number) => ({ reseller_id, phone_number })) }))
    .listed;

describe("add", () => {
  test("normalises, and a number given twice is listed once", async () => {
    const phone = fresh();
    const written = `+1 (${phone.slice(2, 5)}) ${phone.slice(5, 8)}-${phone.slice(8)}`;
    const answer = await stage.bus.call("blacklist.add", { by: A, phone_numbers: [written, phone] });
    expect(answer).toEqual({ added: 1, already_listed: 0, phone_numbers: [phone] });
    expect(await listed("rs-a", phone)).toEqual([true]);
  });

  test("is idempotent and counts exactly", async () => {
    const [one, two, three] = [fresh(), fresh(), fresh()] as const;
    expect(await stage.bus.call("blacklist.add", { by: A, phone_numbers: [one, two] })).toMatchObject({
      added: 2,
      already_listed: 0,
    });
    expect(await stage.bus.call("blacklist.add", { by: A, phone_numbers: [two, three, one] })).toMatchObject({
      added: 1,
      already_listed: 2,
    });
    const again = await failing(stage.bus.call("blacklist.add", { by: A, phone_numbers: [one, two, three] }));
    expect([again.code, again.data.errors]).toEqual([
      "NUMBER_EXISTS",
      [{ path: "phone_numbers", message: "are all already listed" }],
    ]);
    expect((await failing(stage.bus.call("blacklist.add", { by: A, phone_numbers: [one, one] }))).code).toBe(
      "NUMBER_EXISTS",
    );
  });

  test("counts exactly when many list the same numbers at once", async () => {
    const phones = Array.from({ length: 40 }, fresh);
    const added = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        stage.bus.call("blacklist.add", { by: A, phone_numbers: phones.slice(i * 2, 26 + i * 2) }).then(
          (a) => a.added,
          (error: unknown) => {
            expect(codeOf(error)).toBe("NUMBER_EXISTS");
            return 0;
          },
        ),
      ),
    );
    expect(added.reduce((sum, n) => sum + n, 0)).toBe(40);
    expect(await listed("rs-a", ...phones)).toEqual(phones.map(() => true));
  });

  test("one bad number: every bad one is named and none is listed", async () => {
    const good = fresh();
    const { code, data } = await failing(
      stage.bus.call("blacklist.add", { by: A, phone_numbers: [good, "12345", fresh(), "+1415555010\u0660"] }),
    );
    expect(code).toBe("INVALID_PHONE_NUMBER");
    expect(data.errors?.map((e) => e.path)).toEqual(["phone_numbers.1", "phone_numbers.3"]);
    expect(await listed("rs-a", good)).toEqual([false]);
  });

  test.each([
    ["merchant", asMerchant("rs-a", "m-1")],
    ["user", asUser("rs-a", "m-1")],
  ])("a %s may not write", async (_role, by) => {
    expect((await failing(stage.bus.call("blacklist.add", { by, phone_numbers: [fresh()] }))).code).toBe("FORBIDDEN");
  });

  test("an empty list is refused", async () => {
    expect((await failing(stage.bus.call("blacklist.add", { by: A, phone_numbers: [] }))).code).toBe(
      "VALIDATION_FAILED",
    );
  });

  test("ten thousand at once, twice", async () => {
    const phones = Array.from({ length: 10_000 }, (_, i) => `+1206${String(2_000_000 + i)}`);
    expect(await stage.bus.call("blacklist.add", { by: B, phone_numbers: phones })).toMatchObject({
      added: 10_000,
      already_listed: 0,
    });
    expect((await failing(stage.bus.call("blacklist.add", { by: B, phone_numbers: phones }))).code).toBe(
      "NUMBER_EXISTS",
    );
  });
});

describe("remove", () => {
  const remove = (by: ParamsOf<"blacklist.remove">["by"], phone_numbers: string[], reseller_id?: string) =>
    stage.bus.call("blacklist.remove", { by, phone_numbers, ...(reseller_id === undefined ? {} : { reseller_id }) });

  test("lifts the listed ones, in any spelling, and passes over the others", async () => {
    const [one, two, never] = [fresh(), fresh(), fresh()] as const;
    await stage.bus.call("blacklist.add", { by: A, phone_numbers: [one, two] });
    expect(await remove(A, [`${one.slice(0, 5)}-${one.slice(5)}`, never])).toEqual({});
    expect(await listed("rs-a", one, two)).toEqual([false, true]);
    expect(await stage.bus.call("blacklist.add", { by: A, phone_numbers: [one] })).toMatchObject({ added: 1 });
  });

  test("none of them listed: not found, a second time too", async () => {
    const phone = fresh();
    await stage.bus.call("blacklist.add", { by: A, phone_numbers: [phone] });
    await remove(A, [phone]);
    expect((await failing(remove(A, [phone]))).code).toBe("BLACKLIST_ENTRY_NOT_FOUND");
    expect((await failing(remove(asAdmin, [phone]))).code).toBe("BLACKLIST_ENTRY_NOT_FOUND");
  });

  test("one bad number: every bad one is named and none is lifted", async () => {
    const phone = fresh();
    await stage.bus.call("blacklist.add", { by: A, phone_numbers: [phone] });
    const { code, data } = await failing(remove(A, [phone, "12345"]));
    expect([code, data.errors?.map((e) => e.path)]).toEqual(["INVALID_PHONE_NUMBER", ["phone_numbers.1"]]);
    expect(await listed("rs-a", phone)).toEqual([true]);
  });

  test("another reseller's entry is not found, an admin's is not a reseller's to lift", async () => {
    const [theirs, everybodys, both, own] = [fresh(), fresh(), fresh(), fresh()] as const;
    await stage.bus.call("blacklist.add", { by: B, phone_numbers: [theirs] });
    await stage.bus.call("blacklist.add", { by: asAdmin, phone_numbers: [everybodys, both] });
    await stage.bus.call("blacklist.add", { by: A, phone_numbers: [both, own] });
    expect((await failing(remove(A, [theirs]))).code).toBe("BLACKLIST_ENTRY_NOT_FOUND");
    const { code, data } = await failing(remove(A, [own, everybodys]));
    expect([code, data.errors?.map((e) => e.path)]).toEqual(["FORBIDDEN", ["phone_numbers.1"]]);
    expect(await listed("rs-a", own, everybodys, both)).toEqual([true, true, true]);
    await remove(A, [both, own]);
    expect(await listed("rs-a", own, both)).toEqual([false, true]);
    expect(await listed("rs-b", theirs)).toEqual([true]);
  });

  test("an admin lifts its own entries, and a reseller's where it names the reseller", async () => {
    const phone = fresh();
    for (const by of [A, B, asAdmin]) await stage.bus.call("blacklist.add", { by, phone_numbers: [phone] });
    await remove(asAdmin, [phone]);
    expect([await listed("rs-a", phone), await listed("rs-b", phone)]).toEqual([[true], [true]]);
    await remove(asAdmin, [phone], "rs-b");
    expect([await listed("rs-a", phone), await listed("rs-b", phone)]).toEqual([[true], [false]]);
    expect(
      await stage.bus.call("blacklist.add", { by: asAdmin, phone_numbers: [phone], reseller_id: "rs-b" }),
    ).toMatchObject({ added: 1 });
    expect(await listed("rs-b", phone)).toEqual([true]);
    expect((await failing(remove(asAdmin, [phone], "nobody"))).code).toBe("RESELLER_NOT_FOUND");
  });

  test.each([
    ["a merchant", asMerchant("rs-a", "m-1"), undefined],
    ["a user", asUser("rs-a", "m-1"), undefined],
    ["a reseller for another", A, "rs-b"],
  ])("%s may not", async (_who, by, named) => {
    expect((await failing(remove(by, [fresh()], named))).code).toBe("FORBIDDEN");
  });
});

describe("the audit log", () => {
  test("has every change with its counts, and no full phone number", async () => {
    const [one, two] = [fresh(), fresh()] as const;
    audited.length = 0;
    await stage.bus.call("blacklist.add", { by: A, phone_numbers: [one] });
    await stage.bus.call("blacklist.add", { by: A, phone_numbers: [one, two] });
    await stage.bus.call("blacklist.remove", { by: A, phone_numbers: [one, fresh()] });
    await failing(stage.bus.call("blacklist.remove", { by: A, phone_numbers: [one] }));
    expect(audited.map((e) => [e.action, e.subject, e.reseller_id, e.details])).toEqual([
      ["blacklist.added", "blacklist:rs-a", "rs-a", { added: 1, already_listed: 0, phone_numbers: [maskPhone(one)] }],
      [
        "blacklist.added",
        "blacklist:rs-a",
        "rs-a",
        { added: 1, already_listed: 1, phone_numbers: [maskPhone(one), maskPhone(two)] },
      ],
      [
        "blacklist.removed",
        "blacklist:rs-a",
        "rs-a",
        { removed: 1, not_listed: 1, phone_numbers: [maskPhone(one), expect.stringContaining("***")] },
      ],
    ]);
    expect(JSON.stringify(audited)).not.toContain(one);
  });

  test("that can't be written undoes nothing", async () => {
    const phone = fresh();
    deaf = true;
    await stage.bus.call("blacklist.add", { by: A, phone_numbers: [phone] }).finally(() => {
      deaf = false;
    });
    expect(await listed("rs-a", phone)).toEqual([true]);
  });
});

describe("a phone that two spellings ring", () => {
  test.each([
    ["+541123456701", "+5491123456701"],
    ["+5491123456702", "+541123456702"],
    ["+525512345703", "+5215512345703"],
    ["+5511987654304", "+551187654304"],
    ["+3780549886305", "+390549886305"],
  ])("listed as %s it is refused as %s too, is listed once, found and lifted by either", async (listedAs, other) => {
    const add = (phone_numbers: string[]) => stage.bus.call("blacklist.add", { by: A, phone_numbers });
    await add([listedAs]);
    expect(await listed("rs-a", listedAs, other)).toEqual([true, true]);
    expect((await failing(add([other]))).code).toBe("NUMBER_EXISTS");
    const found = await stage.bus.call("blacklist.list", { by: A, phone_number: other });
    expect(found.entries.map((entry) => entry.phone_number)).toEqual([listedAs]);
    await stage.bus.call("blacklist.remove", { by: A, phone_numbers: [other] });
    expect(await listed("rs-a", listedAs, other)).toEqual([false, false]);
  });

  test("both given at once are one", async () => {
    const answer = await stage.bus.call("blacklist.add", { by: A, phone_numbers: ["+541123456710", "+5491123456710"] });
    expect(answer).toEqual({ added: 1, already_listed: 0, phone_numbers: ["+541123456710"] });
  });

  test("an admin's entry in the one can't be lifted by a reseller in the other", async () => {
    await stage.bus.call("blacklist.add", { by: asAdmin, phone_numbers: ["+541123456711"] });
    const lifting = failing(stage.bus.call("blacklist.remove", { by: A, phone_numbers: ["+5491123456711"] }));
    expect((await lifting).code).toBe("FORBIDDEN");
  });

  test("what its callee asked for holds in either", async () => {
    await stage.bus.call("blacklist.recordWish", {
      reseller_id: "rs-a",
      merchant_id: "m-1",
      // as carriers show a caller
      phone_number: "+5215512345712",
      lead_id: "7b1f3f2e-0000-4000-8000-000000000001",
      asked_at: "2026-11-21T10:00:00.000Z",
    });
    const pairs = ["+525512345712", "+5215512345712"].map((phone_number) => ({
      reseller_id: "rs-a",
      merchant_id: "m-1",
      phone_number,
    }));
    expect((await stage.bus.call("blacklist.check", { pairs })).listed).toEqual([true, true]);
  });

  test("erased under the one, it is refused under the other", async () => {
    await stage.bus.call("blacklist.add", { by: A, phone_numbers: ["+541123456713"] });
    const { erased } = await stage.bus.call("blacklist.eraseNumber", {
      erasure_id: "7b1f3f2e-0000-4000-8000-000000000002",
      reseller_id: "rs-a",
      merchant_id: null,
      phone_number: "+5491123456713",
      lead_ids: [],
    });
    expect(erased).toEqual({ blacklist_entries: 1 });
    expect(await listed("rs-a", "+541123456713", "+5491123456713")).toEqual([true, true]);
    const { folders } = await stage.bus.call("blacklist.archiveFolders", {
      phone_numbers: ["+541123456713", "+5491123456713"],
    });
    expect([...(folders[0] ?? [])].sort()).toEqual([...(folders[1] ?? [])].sort());
  });
});
