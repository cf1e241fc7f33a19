import { calculateObjectSize } from "bson";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { bareLead, copyIndexes, type StoredLead } from "../../../local/bench/push/bare-lead.ts";
import { leadOf } from "../../../local/bench/schedule/bench-world.ts";
import { calleeNumber } from "../../../local/bench/callees.ts";
import { toE164 } from "../../../shared/phone.ts";
import { leadsStage, M, R, TEMPLATE, type LeadsStage } from "../../fixtures/leads-stage.ts";

let it: LeadsStage;
beforeAll(async () => {
  it = await leadsStage();
});
afterAll(() => it.stop());

const pushed = async (request_id: string, n: number): Promise<StoredLead> => {
  const payload = { customer_mobile_number: calleeNumber(n), customer_name: "Ada" };
  await it.push({ request_id, payload });
  const lead = await it.db.collection<StoredLead>("leads").findOne({ request_id });
  if (lead === null) throw new Error("no lead was stored");
  return lead;
};
/** How the driver would write a value, by its field. */
const kindsOf = (lead: object): [string, string][] =>
  Object.entries(lead).map(([field, value]) => [field, Object.prototype.toString.call(value)]);

describe("the bare server of the push bench", () => {
  test("inserts a document with the fields, kinds and size of the product's for the same push", async () => {
    const [sample, ours] = [await pushed("bench-1", 1), await pushed("bench-2", 2)];
    const { request_id, payload } = ours as StoredLead & { request_id: string; payload: Record<string, unknown> };
    const bare = bareLead(sample, { request_id, payload }, ours.created_at);
    expect(kindsOf(bare)).toEqual(kindsOf(ours));
    expect(calculateObjectSize(bare)).toBe(calculateObjectSize(ours));
    expect(bare._id).not.toBe(sample._id);
    // what the lists of a new lead hold is the sample's, and so are its numbers
    const { _id, outbox: _outbox, history: _history, ...rest } = ours;
    expect(bare).toMatchObject(rest);
  });

  test("has the product's indexes", async () => {
    const [leads, bare] = ["leads", "bare"].map((name) => it.db.collection<StoredLead>(name));
    if (!leads || !bare) throw new Error("two collections");
    await copyIndexes(leads, bare);
    const names = (await leads.indexes()).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(1);
    expect(await bare.indexes()).toEqual(await leads.indexes());
  });
});

test("a lead that the scheduler's bench writes is what a push leaves behind once its event is in the log", async () => {
  const { outbox: _outbox, outbox_at: _at, ...ours } = await pushed("bench-3", 3);
  const seeded = leadOf({ reseller_id: R, merchant_id: M, queues: [] }, TEMPLATE, ours.due_at, 3);
  expect(kindsOf(seeded).toSorted()).toEqual(kindsOf(ours).toSorted());
  expect(seeded.queue).toBe(ours["queue"]);
  expect(seeded.due_at).toEqual(ours.due_at);
});

test("callees of a bench have valid numbers, each another one", () => {
  const numbers = Array.from({ length: 400 }, (_, n) => calleeNumber(n * 999));
  expect(numbers.map(toE164)).toEqual(numbers);
  expect(new Set(numbers).size).toBe(numbers.length);
});
