import { randomUUID } from "node:crypto";
import blacklist from "../../../../services/blacklist/blacklist.service.ts";
import config from "../../../../services/config/config.service.ts";
import leads from "../../../../services/leads/leads.service.ts";
import webhook from "../../../../services/webhook/webhook.service.ts";
import { createdId, namedReminder, setHttpStage, type Answer, type HttpStage } from "../../fixtures/http-stage.ts";

/** POST /lead/abort answers 200 with a result per item (contract 4.2), with the real services; nothing is dialled. */
let http: HttpStage;
let template = "";

beforeAll(async () => {
  http = await setHttpStage([blacklist, config, leads, webhook]);
  template = await createdId(http, "/templates", namedReminder(http));
});
afterAll(() => http.stop());

const pushed = (): Promise<string> =>
  createdId(
    http,
    "/leads",
    {
      request_id: "abort",
      template_id: template,
      reseller_id: http.reseller_id,
      merchant_id: http.merchant_id,
      payload: { customer_name: "Ada", customer_mobile_number: "+14155550123" },
    },
    "lead_call_tracker_id",
  );
const abort = (body: unknown): Promise<Answer> => http.ask("POST", "/lead/abort", { body, token: http.tokens.user });
const results = (answer: Answer) => answer.body["leads"] as { id: string; status: string; message: string }[];
const statusOf = async (id: string) => (await http.ask("GET", `/leads/${id}`)).body["status"];

describe("one bad item leaves the others their abort", () => {
  const rows: [string, unknown, string, RegExp][] = [
    ["without a reason", { lead_id: "x" }, "x", /cancellation_reason is required/],
    ["an empty reason", { lead_id: "x", cancellation_reason: "" }, "x", /cancellation_reason must NOT have fewer/],
    [
      "a reason of 2,001 characters",
      { lead_id: "x", cancellation_reason: "r".repeat(2001) },
      "x",
      /cancellation_reason must NOT have more/,
    ],
    ["a reason that is null", { lead_id: "x", cancellation_reason: null }, "x", /cancellation_reason must be string/],
    ["a numeric id", { lead_id: 5, cancellation_reason: "r" }, "5", /lead_id must be string/],
    ["an id that is too long", { lead_id: "i".repeat(65), cancellation_reason: "r" }, "i".repeat(64), /lead_id/],
    ["without an id", { cancellation_reason: "r" }, "", /lead_id is required/],
    ["another field", { lead_id: "x", cancellation_reason: "r", why: 1 }, "x", /why is not a known field/],
    ["a text", "x", "", /must be object/],
    ["null", null, "", /must be object/],
  ];
  test.each(rows)("%s", async (_, bad, id, message) => {
    const [before, after] = [await pushed(), await pushed()];
    const answer = await abort({
      leads: [
        { lead_id: before, cancellation_reason: "changed" },
        bad,
        { lead_id: after, cancellation_reason: "changed" },
      ],
    });
    expect([answer.status, results(answer)]).toEqual([
      200,
      [
        { id: before, status: "success", message: expect.any(String) },
        { id, status: "error", message: expect.stringMatching(message) },
        { id: after, status: "success", message: expect.any(String) },
      ],
    ]);
    expect([await statusOf(before), await statusOf(after)]).toEqual(["FINISHED", "FINISHED"]);
  });
});

test("items past the first 1,000 have an error each, in order, and their leads stay", async () => {
  const [first, last] = [await pushed(), await pushed()];
  const item = (lead_id: string) => ({ lead_id, cancellation_reason: "r" });
  const unknown = Array.from({ length: 999 }, () => item(randomUUID()));
  const answer = await abort({ leads: [item(first), ...unknown, item(last), {}] });
  expect([answer.status, results(answer).length, results(answer)[0]?.status]).toEqual([200, 1002, "success"]);
  expect(
    results(answer)
      .slice(1, 1000)
      .every((r) => r.status === "error" && /no lead/.test(r.message)),
  ).toBe(true);
  expect(results(answer).slice(1000)).toEqual([
    { id: last, status: "error", message: expect.stringContaining("first 1000") },
    { id: "", status: "error", message: expect.stringContaining("first 1000") },
  ]);
  expect([await statusOf(first), await statusOf(last)]).toEqual(["FINISHED", "BACKLOG"]);
});

test.each([
  ["no items", { leads: [] }, 0],
  ["only bad items", { leads: [{}, 1] }, 2],
  ["another field beside the list", { leads: [{ lead_id: "x", cancellation_reason: "r" }], note: "n" }, 1],
])("%s: 200 with a result per item", async (_, body, count) => {
  const answer = await abort(body);
  expect([answer.status, results(answer).map((r) => r.status)]).toEqual([200, Array(count).fill("error")]);
});

test.each([[{}], [{ leads: null }], [{ leads: { lead_id: "x", cancellation_reason: "r" } }], [[]], ["[1"]])(
  "a body without the array, %j: 400",
  async (body) => {
    expect((await abort(body)).status).toBe(400);
  },
);
