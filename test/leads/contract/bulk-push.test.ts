import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { codeOf } from "../../../shared/errors.ts";
import { leadsStage, M, NOBODY, PHONE, R, type LeadsStage } from "../../fixtures/leads-stage.ts";

let it: LeadsStage;
beforeAll(async () => {
  it = await leadsStage();
});
afterAll(() => it.stop());
beforeEach(() => {
  it.asked.length = 0;
});

const stored = (request_id: string): Promise<number> => it.db.collection("leads").countDocuments({ request_id });
const payload = (over: object) => ({ payload: { customer_name: "Ada", customer_mobile_number: PHONE, ...over } });

describe("every row is judged by itself", () => {
  const rows: [string, unknown, string, string | null][] = [
    ["no object", "text", "VALIDATION_FAILED", ""],
    ["null", null, "VALIDATION_FAILED", ""],
    ["a list", [], "VALIDATION_FAILED", ""],
    ["nothing in it", {}, "VALIDATION_FAILED", "request_id"],
    ["an unknown field", () => it.input({ status: "FINISHED" }), "VALIDATION_FAILED", "status"],
    ["an unknown mode", () => it.input({ execution_mode: "FAX" }), "VALIDATION_FAILED", "execution_mode"],
    [
      "a webhook inside the payload",
      () => it.input(payload({ reporting_webhook_url: "https://x.example" })),
      "VALIDATION_FAILED",
      "payload.reporting_webhook_url",
    ],
    ["another reseller", () => it.input({ reseller_id: NOBODY }), "FORBIDDEN", null],
    ["another merchant", () => it.input({ merchant_id: NOBODY }), "FORBIDDEN", null],
    ["an unknown template", () => it.input({ template_id: NOBODY }), "TEMPLATE_UNKNOWN", null],
    [
      "a payload that does not fit",
      () => it.input({ payload: { customer_mobile_number: PHONE } }),
      "PAYLOAD_INVALID",
      "payload.customer_name",
    ],
    ["a key no document can have", () => it.input(payload({ "a\0b": 1 })), "PAYLOAD_INVALID", "payload.a\\0b"],
    [
      "an object that the driver would take for one of its own",
      () => it.input(payload({ items: [{ _bsontype: "ObjectId" }] })),
      "PAYLOAD_INVALID",
      "payload.items[0]._bsontype",
    ],
    [
      "no phone number",
      () => it.input(payload({ customer_mobile_number: "12" })),
      "INVALID_PHONE_NUMBER",
      "payload.customer_mobile_number",
    ],
    [
      "a webhook that is not allowed",
      () => it.input({ reporting_webhook_url: "ftp://x" }),
      "WEBHOOK_ADDRESS_REFUSED",
      "reporting_webhook_url",
    ],
    [
      "a listed number",
      () => it.input(payload({ customer_mobile_number: "+14155552699" })),
      "NUMBER_BLACKLISTED",
      null,
    ],
  ];
  const made = (row: unknown): unknown => (typeof row === "function" ? (row as () => unknown)() : row);

  test("bad rows are refused as a push of them alone is, and stop none of the others", async () => {
    const good = (n: number) => it.input({ request_id: `between-${n}` });
    const { results, replayed } = await it.pushMany(rows.flatMap(([, row], i) => [good(i), made(row)]));
    expect(replayed).toBe(false);
    expect(results.map((r) => r.index)).toEqual(rows.flatMap((_, i) => [2 * i, 2 * i + 1]));
    expect(results.filter((_, i) => i % 2 === 0)).toEqual(
      rows.map((_, i) => ({
        index: 2 * i,
        status: "queued",
        lead_call_tracker_id: expect.any(String),
        order_id: `between-${i}`,
        message: "The lead is queued.",
      })),
    );
    expect(results.filter((_, i) => i % 2 === 1).map((r) => [r.status, r.code, r.errors?.[0]?.path ?? null])).toEqual(
      rows.map(([, , code, path]) => ["refused", code, path]),
    );
    expect(await it.db.collection("leads").countDocuments({ request_id: /^between-/ })).toBe(rows.length);
  });
  // alone, an unknown field is the gateway's to refuse: over the bus it is what a later version says
  test.each(rows.filter(([what, row]) => typeof row === "function" && what !== "an unknown field"))(
    "alone, %s is refused with the same code",
    async (_, row, code) => {
      const alone = await it.stage.bus
        .call("leads.push", {
          by: { kind: "s2s", id: "t", role: "merchant", reseller_id: R, merchant_id: M },
          lead: made(row) as never,
        })
        .catch(codeOf);
      expect(alone).toBe(code);
    },
  );
  test("a lead of a bulk is like any other", async () => {
    const { results } = await it.pushMany([
      it.input({ request_id: "like-any", reporting_webhook_url: "https://x.example/" }),
    ]);
    const single = await it.push({ request_id: "like-any", reporting_webhook_url: "https://x.example/" });
    const [a, b] = await Promise.all(
      [results[0]!.lead_call_tracker_id!, single.lead_call_tracker_id].map((_id) =>
        it.db.collection<{ _id: string }>("leads").findOne({ _id }, { projection: { _id: 0 } }),
      ),
    );
    expect(a).toEqual(b);
  });
  test("a row without a number is queued and says so", async () => {
    const { results } = await it.pushMany([it.input({ payload: { customer_name: "Ada" } })]);
    expect(results[0]).toMatchObject({ status: "queued", message: expect.stringContaining("customer_mobile_number") });
  });
});

describe("a batch", () => {
  test("of 500 rows asks each of the others once", async () => {
    const { results } = await it.pushMany(
      Array.from({ length: 500 }, (_, i) =>
        it.input({ request_id: `many-${i}`, reporting_webhook_url: `https://x.example/${i % 3}` }),
      ),
    );
    expect(results.filter((r) => r.status === "queued")).toHaveLength(500);
    expect(it.asked).toEqual(["config.resolveManyForPush", "webhook.checkAddresses", "blacklist.check"]);
  });
  test("of more is refused, of none is empty", async () => {
    await expect(it.pushMany(Array.from({ length: 501 }, () => it.input()))).rejects.toMatchObject({
      type: "VALIDATION_ERROR",
    });
    expect(await it.pushMany([])).toEqual({ results: [], replayed: false });
    expect(it.asked).toEqual([]);
  });
});

describe("under a key", () => {
  const batch = (name: string) => [
    it.input({ request_id: name }),
    { nonsense: true },
    it.input({ request_id: name }),
    it.input({ request_id: `${name}-2` }),
  ];

  test("a repeated batch makes no lead again, though rows may be alike", async () => {
    const first = await it.pushMany(batch("again"), "bulk-1");
    const second = await it.pushMany(batch("again"), "bulk-1");
    expect([first.replayed, second.replayed]).toEqual([false, true]);
    expect(second.results).toEqual(first.results);
    expect([await stored("again"), await stored("again-2")]).toEqual([2, 1]);
  });
  test("a row that changed is refused, a row that was refused may be corrected", async () => {
    const rows = batch("mended");
    const first = await it.pushMany(rows, "bulk-2");
    const { results, replayed } = await it.pushMany(
      [rows[0], it.input({ request_id: "mended-1" }), it.input({ request_id: "changed" }), rows[3]],
      "bulk-2",
    );
    expect(results.map((r) => r.code ?? r.status)).toEqual(["queued", "queued", "IDEMPOTENCY_KEY_REUSED", "queued"]);
    expect([replayed, results[0]!.lead_call_tracker_id, results[3]!.lead_call_tracker_id]).toEqual([
      false,
      first.results[0]!.lead_call_tracker_id,
      first.results[3]!.lead_call_tracker_id,
    ]);
    expect(await stored("changed")).toBe(0);
  });
  test("a batch that broke off half-way is finished by the next", async () => {
    const rows = Array.from({ length: 50 }, (_, i) =>
      it.input({ request_id: "half", payload: { customer_name: `no. ${i}`, customer_mobile_number: PHONE } }),
    );
    const first = await it.pushMany(rows, "bulk-3");
    const lost = first.results.filter((_, i) => i % 2 === 0).map((r) => r.lead_call_tracker_id!);
    await it.db.collection<{ _id: string }>("leads").deleteMany({ _id: { $in: lost } });
    expect((await it.pushMany(rows, "bulk-3")).results).toEqual(first.results);
    expect(await stored("half")).toBe(50);
  });
  test("ten equal batches at once make one", async () => {
    const rows = Array.from({ length: 20 }, (_, i) =>
      it.input({ request_id: "stampede", payload: { customer_name: `no. ${i}`, customer_mobile_number: PHONE } }),
    );
    const answers = await Promise.all(Array.from({ length: 10 }, () => it.pushMany(rows, "bulk-4")));
    for (const { results } of answers) expect(results).toEqual(answers[0]!.results);
    expect(await stored("stampede")).toBe(20);
  });
  test("a key of a single push is none of a bulk push", async () => {
    await it.push({ request_id: "single" }, "both");
    expect((await it.pushMany([it.input({ request_id: "other" })], "both")).results[0]!.status).toBe("queued");
  });
});
