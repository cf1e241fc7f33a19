import blacklist from "../../../services/blacklist/blacklist.service.ts";
import config from "../../../services/config/config.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import webhook from "../../../services/webhook/webhook.service.ts";
import { setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";

/** POST /leads/bulk with the real services behind it. */
let http: HttpStage;
let template_id: string;
const ROWS = 1000;
const LISTED = "+14155550177";

beforeAll(async () => {
  http = await setHttpStage([blacklist, config, leads, numbers, webhook]);
  const template = {
    reseller_id: http.reseller_id,
    merchant_id: http.merchant_id,
    name: "reminder",
    initial_node: "hello",
    payload_schema: {
      type: "object",
      required: ["customer_name"],
      properties: { customer_name: { type: "string" }, customer_mobile_number: { type: "string" } },
    },
    nodes: [
      {
        name: "hello",
        prompt: "Greet {{customer_name}}.",
        functions: [{ name: "confirm", description: "It suits.", outcome: "confirmed", action: "end_call" }],
      },
    ],
  };
  template_id = String((await http.ask("POST", "/templates", { body: template })).body["id"]);
  await http.ask("POST", "/blacklist", { body: { phone_numbers: [LISTED] } });
});
afterAll(async () => {
  await http.stop();
});

interface Line {
  index: number;
  status: string;
  code?: string;
  http_status?: number;
  order_id?: string;
  lead_call_tracker_id?: string;
  errors?: { path: string }[];
}
const lead = (i: number, over: object = {}, payload: object = {}) => ({
  request_id: `bulk-${i}`,
  template_id,
  reseller_id: http.reseller_id,
  merchant_id: http.merchant_id,
  payload: { customer_name: "Ada", customer_mobile_number: "+14155550123", ...payload },
  ...over,
});
/** Every kind of row that goes wrong, in a hundred each; what a push of it alone is answered with. */
const WRONG: Record<number, [unknown, number, string]> = {};
const body = (): string =>
  Array.from({ length: ROWS }, (_, i) =>
    i % 100 in WRONG ? (WRONG[i % 100]?.[0] as string) : JSON.stringify(lead(i)),
  ).join("\n");
const push = async (headers: Record<string, string> = {}) => {
  const answer = await http.ask("POST", "/leads/bulk", {
    body: body(),
    token: http.tokens.merchant,
    headers: { "Content-Type": "application/x-ndjson", ...headers },
  });
  return {
    ...answer,
    lines: answer.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line),
  };
};

test("each row is answered in order, as a push of it alone would be; the others are queued", async () => {
  Object.assign(WRONG, {
    3: ["{broken", 400, "MALFORMED_JSON"],
    7: [JSON.stringify({ ...lead(7), request_id: undefined }), 400, "VALIDATION_FAILED"],
    11: [JSON.stringify(lead(11, {}, { customer_name: 5 })), 422, "PAYLOAD_INVALID"],
    13: [JSON.stringify(lead(13, {}, { customer_mobile_number: LISTED })), 403, "NUMBER_BLACKLISTED"],
    17: [JSON.stringify(lead(17, {}, { customer_mobile_number: "12" })), 422, "INVALID_PHONE_NUMBER"],
    19: [JSON.stringify(lead(19, { template_id: "nobody" })), 400, "TEMPLATE_UNKNOWN"],
    23: [JSON.stringify(lead(23, { execution_mode: "PIGEON" })), 400, "VALIDATION_FAILED"],
    29: ["[]", 400, "VALIDATION_FAILED"],
  });
  const { status, lines } = await push({ "Idempotency-Key": "monday" });
  expect([status, lines.length]).toEqual([200, ROWS]);
  for (const [i, line] of lines.entries()) {
    const wrong = WRONG[i % 100];
    if (wrong) expect(line).toMatchObject({ index: i, status: "refused", http_status: wrong[1], code: wrong[2] });
    else
      expect(line).toMatchObject({
        index: i,
        status: "queued",
        order_id: `bulk-${i}`,
        lead_call_tracker_id: expect.any(String),
      });
  }
  const one = await http.ask("POST", "/leads", {
    body: lead(11, {}, { customer_name: 5 }),
    token: http.tokens.merchant,
  });
  expect([one.status, one.body["code"], one.body["errors"]]).toEqual([422, "PAYLOAD_INVALID", lines[11]?.errors]);
  expect(lines[7]?.errors?.map((e) => e.path)).toEqual(["request_id"]);
  // a refused row that names itself is found again by its name
  expect([3, 7, 11, 13, 17, 19, 23, 29].map((i) => lines[i]?.order_id)).toEqual([
    undefined,
    undefined,
    "bulk-11",
    "bulk-13",
    "bulk-17",
    "bulk-19",
    "bulk-23",
    undefined,
  ]);
  expect((await http.ask("GET", "/leads/request/bulk-999")).body["count"]).toBe(1);
});

test("the same body under the same key queues nothing anew and names the same leads", async () => {
  const [first, again] = [await push({ "Idempotency-Key": "tuesday" }), await push({ "Idempotency-Key": "tuesday" })];
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(again.lines.map((l) => l.lead_call_tracker_id)).toEqual(first.lines.map((l) => l.lead_call_tracker_id));
  expect((await http.ask("GET", "/leads/request/bulk-0")).body["count"]).toBe(2);
});
