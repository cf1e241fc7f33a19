import blacklist from "../../../services/blacklist/blacklist.service.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { codeOf, type FailureData } from "../../../shared/errors.ts";
import { needing } from "../../fixtures/database-abilities.ts";
import { servedBy } from "../../fixtures/query-plan.ts";
import { asAdmin, asMerchant, asReseller, setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";

const A = asReseller("rs-a");
const B = asReseller("rs-b");
let stage: Stage;
let nextNumber = 0;
const fresh = (): string => `+1415555${String(nextNumber++).padStart(4, "0")}`;

const audited: ParamsOf<"auth.record">[] = [];
const others = [
  standIn("merchants", { lookup: ({ reseller_id }) => ({ reseller: reseller_id.startsWith("rs-"), merchant: false }) }),
  standIn("auth", {
    record: (entry) => {
      audited.push(entry);
      return {};
    },
  }),
];

beforeAll(async () => {
  stage = await setStage({ services: [blacklist, ...others] });
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

describe("check", () => {
  test("an entry holds for its reseller only, an admin's for everybody; answers come in order", async () => {
    const [own, all, none] = [fresh(), fresh(), fresh()] as const;
    await stage.bus.call("blacklist.add", { by: A, phone_numbers: [own] });
    await stage.bus.call("blacklist.add", { by: asAdmin, phone_numbers: [all] });
    expect(await listed("rs-a", none, own, all, none, own)).toEqual([false, true, true, false, true]);
    expect(await listed("rs-b", own, all, none)).toEqual([false, true, false]);
  });

  test("the same number by several resellers is several entries", async () => {
    const phone = fresh();
    for (const by of [A, B, asAdmin])
      expect(await stage.bus.call("blacklist.add", { by, phone_numbers: [phone] })).toMatchObject({ added: 1 });
  });

  test("another spelling of a number does not slip through", async () => {
    await stage.bus.call("blacklist.add", { by: A, phone_numbers: ["+442079460958"] });
    expect(await listed("rs-a", "+4402079460958")).toEqual([true]);
  });

  test("no pairs, no answers; five hundred pairs are one call", async () => {
    expect(await listed("rs-a")).toEqual([]);
    const phones = Array.from({ length: 500 }, (_, i) => `+1206${String(2_000_000 + i)}`);
    await stage.bus.call("blacklist.add", { by: B, phone_numbers: phones });
    expect(await listed("rs-b", ...phones)).toEqual(phones.map(() => true));
  });
});

describe("list", () => {
  test("pages newest first, each entry once, only what holds for the asker", async () => {
    const mine = asReseller("rs-list");
    const phones = Array.from({ length: 7 }, fresh);
    for (const phone of phones) await stage.bus.call("blacklist.add", { by: mine, phone_numbers: [phone] });
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: {
        count: number;
        entries: { phone_number: string; reseller_id: string | null; created_at: string }[];
        next_cursor: string | null;
      } = await stage.bus.call("blacklist.list", { by: mine, limit: 3, ...(cursor ? { cursor } : {}) });
      expect(page.count).toBe(page.entries.length);
      for (const e of page.entries) expect([null, "rs-list"]).toContain(e.reseller_id);
      seen.push(...page.entries.filter((e) => e.reseller_id !== null).map((e) => e.phone_number));
      if (cursor === null) await stage.bus.call("blacklist.add", { by: mine, phone_numbers: [fresh()] });
      cursor = page.next_cursor;
    } while (cursor);
    expect([...seen].sort()).toEqual([...phones].sort());
  });

  test("its own and everybody's entries come as one list, in order", async () => {
    const mine = asReseller("rs-both");
    const phones = Array.from({ length: 9 }, fresh);
    for (const [i, phone] of phones.entries()) {
      await stage.bus.call("blacklist.add", { by: i % 3 === 1 ? asAdmin : mine, phone_numbers: [phone] });
      const listedBy = Date.now();
      await until("the next millisecond, which the order goes by", () => Date.now() > listedBy || undefined);
    }
    const seen: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null && seen.length < phones.length;) {
      const page: { entries: { phone_number: string }[]; next_cursor: string | null } = await stage.bus.call(
        "blacklist.list",
        { by: mine, limit: 2, ...(cursor ? { cursor } : {}) },
      );
      seen.push(...page.entries.map((e) => e.phone_number));
      cursor = page.next_cursor;
    }
    expect(seen.slice(0, phones.length)).toEqual([...phones].reverse());
  });

  test("a number can be looked for, in any spelling", async () => {
    const phone = fresh();
    await stage.bus.call("blacklist.add", { by: A, phone_numbers: [phone] });
    const written = `${phone.slice(0, 5)} ${phone.slice(5)}`;
    const { entries } = await stage.bus.call("blacklist.list", {
      by: asMerchant("rs-a", "m-1"),
      phone_number: written,
    });
    expect(entries).toEqual([
      { phone_number: phone, reseller_id: "rs-a", created_at: expect.stringMatching(/^\d{4}-.*Z$/) },
    ]);
    expect((await stage.bus.call("blacklist.list", { by: B, phone_number: phone })).count).toBe(0);
    expect((await stage.bus.call("blacklist.list", { by: asAdmin, phone_number: phone })).count).toBe(1);
  });

  test.each([
    ["phone_number", { phone_number: "nonsense" }, "INVALID_PHONE_NUMBER"],
    ["cursor", { cursor: "nonsense" }, "VALIDATION_FAILED"],
  ])("a nonsense %s is refused", async (_what, params, code) => {
    expect((await failing(stage.bus.call("blacklist.list", { by: A, ...params }))).code).toBe(code);
  });

  needing("plans", () => {
    test.each<[string, ParamsOf<"blacklist.list">["by"], object, object]>([
      ["an admin's", asAdmin, {}, { index: "created_at_-1__id_-1", sorted: false }],
      ["a reseller's: its own and everybody's", A, {}, { index: "reseller_id_1_created_at_-1__id_-1", sorted: false }],
      ["by phone number", asAdmin, { phone_number: "+14155550100" }, { index: "phone_number_1", sorted: true }],
      [
        "a merchant's by phone number",
        asMerchant("rs-a", "m-1"),
        { phone_number: "+14155550100" },
        { index: "phone_number_1", sorted: true },
      ],
    ])("%s: served by an index", async (_what, by, filter, served) => {
      expect(await servedBy(stage.uri, "blacklist", () => stage.bus.call("blacklist.list", { by, ...filter }))).toEqual(
        served,
      );
    });
  });
});
