import { MongoClient } from "mongodb";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import leads from "../../../services/leads/leads.service.ts";
import { resolvesPushes } from "../../fixtures/push-resolution.ts";
import { asAdmin, setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { needing } from "../../fixtures/database-abilities.ts";

const R = "11111111-1111-4111-8111-111111111111";
const M = "22222222-2222-4222-8222-222222222222";
const T = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const OTHER = "33333333-3333-4333-8333-333333333333";
let stage: Stage;
let client: MongoClient;

beforeAll(async () => {
  stage = await setStage({
    services: [
      leads,
      standIn("blacklist", { check: ({ pairs }) => ({ listed: pairs.map(() => false) }) }),
      standIn("auth", { record: () => ({}) }),
      standIn(
        "config",
        resolvesPushes(({ template_id, reseller_id }) => ({
          template_id,
          version: 1,
          name: "t",
          reseller_id,
          merchant_id: M,
          initial_offset: 3600,
          max_age_seconds: 3600,
        })),
      ),
    ],
  });
  client = await MongoClient.connect(stage.uri);
});
afterAll(async () => {
  await client.close();
  await stage.stop();
});

const any = async (of: { reseller_id: string; merchant_id?: string; template_id?: string }) =>
  (await stage.bus.call("leads.unfinished", of)).any;

test("a reseller, merchant or template has unfinished leads from the push until the last one ended", async () => {
  const owners = [
    { reseller_id: R },
    { reseller_id: R, merchant_id: M },
    { reseller_id: R, template_id: T },
    { reseller_id: R, merchant_id: M, template_id: T },
  ];
  for (const owner of owners) expect(await any(owner)).toBe(false);
  const { lead_call_tracker_id } = await stage.bus.call("leads.push", {
    by: asAdmin,
    lead: {
      request_id: "o",
      template_id: T,
      reseller_id: R,
      merchant_id: M,
      payload: { customer_mobile_number: "+14155552601" },
    },
  });
  for (const owner of owners) expect(await any(owner)).toBe(true);
  for (const owner of [
    { reseller_id: OTHER },
    { reseller_id: R, merchant_id: OTHER },
    { reseller_id: R, template_id: OTHER },
  ])
    expect(await any(owner)).toBe(false);
  await stage.bus.call("leads.abort", {
    by: asAdmin,
    leads: [{ lead_id: lead_call_tracker_id, cancellation_reason: "x" }],
  });
  for (const owner of owners) expect(await any(owner)).toBe(false);
});

needing("plans", () => {
  test.each([
    ["a reseller", { reseller_id: R }],
    ["a merchant", { reseller_id: R, merchant_id: M }],
    ["a template", { reseller_id: R, template_id: T }],
  ])("%s is looked up in an index of unfinished leads", async (_, filter) => {
    expect(
      JSON.stringify(
        await client
          .db()
          .collection("leads")
          .find({ ...filter, finished_at: null })
          .limit(1)
          .explain("queryPlanner"),
      ),
    ).toMatch(/"indexName":"unfinished_of_/);
  });
});
