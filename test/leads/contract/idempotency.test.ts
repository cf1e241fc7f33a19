import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { canonical } from "../../../services/leads/push/idempotency.ts";
import { asAdmin, asMerchant, asUser } from "../../../local/harness/stage.ts";
import { leadsStage, M, PHONE, R, type LeadsStage } from "../../fixtures/leads-stage.ts";

const DAY_MS = 86_400_000;
let it: LeadsStage;
beforeAll(async () => {
  it = await leadsStage();
});
afterAll(() => it.stop());

const stored = (request_id: string): Promise<number> => it.db.collection("leads").countDocuments({ request_id });

describe("a push under a key", () => {
  test("is answered with the first answer when it comes again, and makes no second lead", async () => {
    const first = await it.push({ request_id: "twice" }, "key-1");
    expect(first).toMatchObject({ status: "queued", order_id: "twice", replayed: false });
    expect(await it.push({ request_id: "twice" }, "key-1")).toEqual({ ...first, replayed: true });
    expect(await stored("twice")).toBe(1);
  });
  test("is the same push however its JSON is ordered", async () => {
    const first = await it.push(
      {
        request_id: "ordered",
        payload: { customer_name: "Ada", customer_mobile_number: PHONE, nested: { a: 1, b: [1, { c: 2, d: 3 }] } },
      },
      "key-2",
    );
    const again = await it.push(
      {
        request_id: "ordered",
        payload: { nested: { b: [1, { d: 3, c: 2 }], a: 1 }, customer_mobile_number: PHONE, customer_name: "Ada" },
      },
      "key-2",
    );
    expect(again.lead_call_tracker_id).toBe(first.lead_call_tracker_id);
  });
  test.each([
    ["another order", { request_id: "other" }],
    ["another payload", { request_id: "x", payload: { customer_name: "Bob", customer_mobile_number: PHONE } }],
    ["another mode", { execution_mode: "RTC" }],
  ])("with %s is refused", async (what, over) => {
    await it.push({ request_id: "x" }, `reused-${what}`);
    await expect(it.push(over, `reused-${what}`)).rejects.toMatchObject({ type: "IDEMPOTENCY_KEY_REUSED" });
    expect((await it.push({ request_id: "x" }, `reused-${what}`)).replayed).toBe(true);
  });
  test("of another token is another push", async () => {
    const lead = it.input({ request_id: "mine" });
    const askers = [asMerchant(R, M), asUser(R, M), asAdmin, { ...asAdmin, kind: "user" as const }];
    const answers = await Promise.all(
      askers.map((by) => it.stage.bus.call("leads.push", { by, lead, idempotency_key: "shared" })),
    );
    expect(new Set(answers.map((a) => a.lead_call_tracker_id)).size).toBe(askers.length);
  });
  test("is forgotten after a day, whether the database has cleared it or not", async () => {
    const first = await it.push({ request_id: "old" }, "daily");
    await it.clock.advance(DAY_MS - 1000);
    expect((await it.push({ request_id: "old" }, "daily")).replayed).toBe(true);
    await it.clock.advance(2000);
    const next = await it.push({ request_id: "new" }, "daily");
    expect([next.replayed, next.lead_call_tracker_id === first.lead_call_tracker_id]).toEqual([false, false]);
    expect((await it.push({ request_id: "new" }, "daily")).replayed).toBe(true);
  });
  test("remembers no failure: corrected, it is taken", async () => {
    await expect(
      it.push({ request_id: "fixed", payload: { customer_mobile_number: PHONE } }, "faulty"),
    ).rejects.toMatchObject({ type: "PAYLOAD_INVALID" });
    expect(await it.push({ request_id: "fixed" }, "faulty")).toMatchObject({ replayed: false });
  });
  test.each([[""], ["x".repeat(256)]])("needs a key of 1 to 255 characters (%#)", async (key) => {
    await expect(it.push({}, key)).rejects.toMatchObject({ type: "VALIDATION_ERROR" });
  });
  test("that broke off after its key was taken is finished by the next one, as the same lead", async () => {
    const first = await it.push({ request_id: "broken" }, "broken");
    await it.db.collection<{ _id: string }>("leads").deleteOne({ _id: first.lead_call_tracker_id });
    const again = await Promise.all(Array.from({ length: 5 }, () => it.push({ request_id: "broken" }, "broken")));
    expect(new Set(again.map((a) => a.lead_call_tracker_id))).toEqual(new Set([first.lead_call_tracker_id]));
    expect(again.filter((a) => a.replayed === false)).toHaveLength(1);
    expect(await stored("broken")).toBe(1);
  });
});

describe("races", () => {
  test("of fifty equal pushes one makes the lead, and all have its id", async () => {
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => it.push({ request_id: `race-${round}` }, `race-${round}`)),
      );
      expect(new Set(answers.map((a) => a.lead_call_tracker_id)).size).toBe(1);
      expect(answers.filter((a) => a.replayed === false)).toHaveLength(1);
      expect(await stored(`race-${round}`)).toBe(1);
    }
  });
  test("of different pushes under one key one wins, the others are refused", async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        it.push(
          { request_id: "rivals", payload: { customer_name: `no. ${i}`, customer_mobile_number: PHONE } },
          "rivals",
        ),
      ),
    );
    const lost = results.flatMap((r) => (r.status === "rejected" ? [(r.reason as { type: string }).type] : []));
    expect([results.length - lost.length, new Set(lost)]).toEqual([1, new Set(["IDEMPOTENCY_KEY_REUSED"])]);
    expect(await stored("rivals")).toBe(1);
  });
  test("keys themselves are not kept, and go by themselves", async () => {
    const docs = await it.db.collection("push_keys").find().toArray();
    expect(JSON.stringify(docs)).not.toMatch(/race-|rivals|key-1/);
    expect(await it.db.collection("push_keys").indexes()).toContainEqual(
      expect.objectContaining({ key: { expires_at: 1 }, expireAfterSeconds: 0 }),
    );
  });
});

test("canonical text: equal for equal values, different for different ones", () => {
  const shuffled = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(shuffled)
      : typeof value === "object" && value !== null
        ? Object.fromEntries(
            Object.entries(value)
              .reverse()
              .map(([k, v]) => [k, shuffled(v)]),
          )
        : value;
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const [one, other] = [JSON.parse(JSON.stringify(a)) as unknown, JSON.parse(JSON.stringify(b)) as unknown];
      expect(canonical(shuffled(one))).toBe(canonical(one));
      expect(JSON.parse(canonical(one))).toEqual(one);
      if (canonical(one) === canonical(other)) expect(one).toEqual(other);
    }),
  );
});
