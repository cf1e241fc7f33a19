import type { LeadDoc } from "../../services/leads/leads.model.ts";
import { zoneMark } from "../../shared/numbering/callee-zones.ts";
import { leadsStage, PHONE, QUEUE, TEMPLATE, type LeadsStage } from "../fixtures/leads-stage.ts";

/** Leads wait among callees of the same time zones, so that the window of one place keeps nobody of another waiting. */

let at: LeadsStage;
const TOKYO = "+819012345678";
const leads = () => at.db.collection<LeadDoc>("leads");
beforeAll(async () => {
  at = await leadsStage();
});
afterAll(() => at.stop());

const pushedTo = async (customer_mobile_number: string, over: object = {}): Promise<string> =>
  (await at.push({ payload: { customer_mobile_number, customer_name: "Ada" }, ...over })).lead_call_tracker_id;
const queueOf = async (lead_id: string) => (await leads().findOne({ _id: lead_id }))?.queue;
const inTokyo = `${TEMPLATE}~${zoneMark(TOKYO)}`;

test("a lead's queue is its template's for callees in its zones; one whose zones nobody knows waits in the plain one", async () => {
  expect(await Promise.all([pushedTo(PHONE), pushedTo("+12135552601"), pushedTo(TOKYO), pushedTo("+80012345678")].map(async (id) => queueOf(await id)))).toEqual([QUEUE, QUEUE, inTokyo, TEMPLATE]); // prettier-ignore
});

test("a lead of 0.2.0 that waits among others is put into the right queue, which schedulers hear of; no other lead is touched", async () => {
  const [old, right, other, own] = [
    await pushedTo(TOKYO),
    await pushedTo(TOKYO),
    await pushedTo(TOKYO),
    await pushedTo(TOKYO, { is_playground: true, configurations_override: { enable_calling: true } }),
  ];
  await leads().updateMany({ _id: { $in: [old, other] } }, { $set: { queue: TEMPLATE } });
  at.announced.length = 0;
  const lead_ids = [old, right, own];
  expect(await at.stage.bus.call("leads.requeue", { lead_ids })).toEqual({ moved: 1 });
  expect(await Promise.all([old, right, other, own].map(queueOf))).toEqual([inTokyo, inTokyo, TEMPLATE, `p:${own}`]);
  expect(await at.stage.bus.call("leads.requeue", { lead_ids })).toEqual({ moved: 0 });
});
