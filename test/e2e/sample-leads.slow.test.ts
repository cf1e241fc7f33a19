import { join } from "node:path";
import { readRows } from "../../local/tools/demo/leads-csv.ts";
import { asExpected, ending } from "../../local/tools/demo/lead-run.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { invariants } from "../../local/harness/invariants.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";

const START_MS = 90_000;
const RUN_MS = 180_000;
const SAMPLE = readRows(join(ROOT, "local", "tools", "sample", "leads.csv"));
/** One row of each ending, so that the split run stays short. */
const ONE_OF_EACH = SAMPLE.filter(
  (row, i) =>
    SAMPLE.findIndex(
      (r) =>
        (r.payload["customer_mobile_number"] ?? "").slice(-2) ===
        (row.payload["customer_mobile_number"] ?? "").slice(-2),
    ) === i,
);

describe.each([
  ["one process", false, SAMPLE],
  ["one process per service over NATS", true, ONE_OF_EACH],
] as const)("the whole road, %s", (_name, split, rows) => {
  let product: Product;
  beforeAll(async () => {
    product = await startProduct({ split });
  }, START_MS);
  afterAll(async () => {
    if (product) await product.stop();
  }, START_MS);

  test(
    "every kind of lead ends as its row says, and every invariant holds",
    async () => {
      const all = await product.run([...rows]);
      expect(
        all
          .filter((p) => !asExpected(p))
          .map((p) => `${p.row.request_id}: expected ${p.row.expected}, got ${ending(p)}`),
      ).toEqual([]);
      await invariants(product, all);
      const confirmed = all.find(
        (p) => p.row.expected === "confirmed" && p.row.payload["customer_mobile_number"]?.endsWith("01"),
      );
      const record = await product.admin.ask("GET", "/leads/{lead_id}", {
        path: { lead_id: confirmed?.lead_id ?? "" },
      });
      expect(record).toMatchObject({
        id: confirmed?.lead_id,
        status: "FINISHED",
        outcome: "confirmed",
        attempt_count: 1,
        execution_mode: "TELEPHONY",
        call_direction: "OUTBOUND",
        template: "order-confirmation",
        reseller_id: product.sample.reseller_id,
        merchant_id: product.sample.merchant_id,
        call_id: expect.stringMatching(/^CA[0-9a-f]{32}$/),
        outbound_number_id: expect.any(String),
        call_initiated_time: expect.stringMatching(/Z$/),
        call_end_time: expect.stringMatching(/Z$/),
        metaData: {
          call_ended_by: "agent",
          errors: [],
          node_traversal: expect.arrayContaining(["ask_confirmation"]),
          transcription: expect.arrayContaining([{ role: "user", content: expect.any(String) }]),
        },
      });
      const retried = all.find((p) => p.row.payload["customer_mobile_number"]?.endsWith("08"));
      expect(
        await product.admin.ask("GET", "/leads/{lead_id}", { path: { lead_id: retried?.lead_id ?? "" } }),
      ).toMatchObject({ outcome: "confirmed", attempt_count: 2 });
      const silent = all.find((p) => p.row.expected === "silence");
      expect(
        await product.admin.ask("GET", "/leads/{lead_id}", { path: { lead_id: silent?.lead_id ?? "" } }),
      ).toMatchObject({ metaData: { call_ended_by: "timeout" } });
    },
    RUN_MS,
  );

  test("the log holds no transcript, secret or full number", () => {
    const text = JSON.stringify(product.log);
    for (const secret of [
      product.stack.secrets.admin_password,
      product.stack.secrets.twilio_auth_token,
      product.stack.secrets.model_key,
      product.sample.webhook_secret,
    ])
      expect(text).not.toContain(secret);
    for (const row of rows) {
      const phone = row.payload["customer_mobile_number"];
      if (phone && phone.length > 8) expect(text).not.toContain(phone);
    }
    expect(text).not.toContain("Northwind Outfitters");
  });
});
