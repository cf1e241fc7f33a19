import { randomUUID } from "node:crypto";
import { MongoClient } from "mongodb";
import blacklist from "../../../../services/blacklist/blacklist.service.ts";
import config from "../../../../services/config/config.service.ts";
import leads from "../../../../services/leads/leads.service.ts";
import numbers from "../../../../services/numbers/numbers.service.ts";
import webhook from "../../../../services/webhook/webhook.service.ts";
import { namedReminder, createdId, setHttpStage, type Answer, type HttpStage } from "../../fixtures/http-stage.ts";

let http: HttpStage;
let template = "";
beforeAll(async () => {
  http = await setHttpStage([blacklist, config, leads, numbers, webhook]);
  template = await createdId(http, "/templates", namedReminder(http));
});
afterAll(() => http.stop());

const code = (a: Answer) => [a.status, a.body["code"]];
const ids = async (query: string): Promise<string[]> =>
  ((await http.ask("GET", `/leads?${query}`, { token: http.tokens.merchant })).body["leads"] as { id: string }[]).map(
    (l) => l.id,
  );

describe("parked leads", () => {
  const resume = (body: unknown, token = http.tokens.user) => http.ask("POST", "/leads/resume", { body, token });
  let id = "";
  beforeAll(async () => {
    const lead = {
      request_id: "parked",
      template_id: template,
      reseller_id: http.reseller_id,
      merchant_id: http.merchant_id,
      payload: { customer_name: "Ada", customer_mobile_number: "+14155550123" },
    };
    id = await createdId(http, "/leads", lead, "lead_call_tracker_id");
    await createdId(http, "/leads", { ...lead, request_id: "another" }, "lead_call_tracker_id");
    const since = new Date();
    const client = await MongoClient.connect(http.env.MONGODB_URI);
    await client
      .db()
      .collection<{ _id: string }>("leads")
      .updateOne(
        { _id: id },
        {
          $set: {
            due_at: new Date(since.getTime() + 600_000),
            faults: { count: 7, code: "STORE_UNAVAILABLE", since, parked_at: since },
          },
        },
      );
    await client.close();
  });

  test("are listed by themselves, or left out", async () => {
    expect([await ids("parked=true"), (await ids("parked=false&limit=500")).includes(id)]).toEqual([[id], false]);
    expect(code(await http.ask("GET", "/leads?parked=perhaps"))).toEqual([400, "VALIDATION_FAILED"]);
  });
  test("make the deployment degraded", async () => {
    const { status, body } = await http.ask("GET", "/health/ready", { origin: true });
    expect([status, body["status"]]).toEqual([200, "degraded"]);
    expect(body["checks"]).toContainEqual(
      expect.objectContaining({
        name: "parked_leads",
        ok: false,
        reason: expect.stringContaining("STORE_UNAVAILABLE"),
      }),
    );
  });
  test.each([
    ["nothing named", {}],
    ["no list", { lead_ids: "all" }],
    ["an empty list", { lead_ids: [] }],
    ["more than 500", { lead_ids: Array.from({ length: 501 }, () => randomUUID()) }],
    ["a field that is not known", { template_id: "x", everything: true }],
  ])("are not resumed by bad input: %s", async (_what, body) => {
    expect(code(await resume(body))).toEqual([400, "VALIDATION_FAILED"]);
  });
  test("are resumed by those whose leads they are, and then are due; a second time there is nothing to resume", async () => {
    expect((await resume({ lead_ids: [randomUUID()] })).body).toEqual({ resumed: 0, more: false });
    expect((await resume({ lead_ids: [id], template_id: randomUUID() })).body).toEqual({ resumed: 0, more: false });
    expect((await resume({ lead_ids: [id] })).body).toEqual({ resumed: 1, more: false });
    expect((await resume({ template_id: template })).body).toEqual({ resumed: 0, more: false });
    const audit = await http.ask("GET", `/audit?subject=${id}`, { token: http.tokens.reseller });
    expect((audit.body["entries"] as { action: string }[])[0]).toMatchObject({ action: "lead.resumed" });
    await http.ask("POST", "/lead/abort", { body: { leads: [{ lead_id: id, cancellation_reason: "x" }] } });
    expect(await ids("parked=true")).toEqual([]);
  });
});
