import { asMerchant } from "../../../../local/harness/stage.ts";
import { leadsStage, M, R, type LeadsStage } from "../../../fixtures/leads-stage.ts";
import { expectSound, LEASE, toldLeads, type Stored } from "../../fixtures/told-leads.ts";

/** Events of which another service gives notice, until it is taken. */
let at: LeadsStage;
beforeAll(async () => {
  at = await leadsStage();
});
afterAll(() => at.stop());

const { eventsOf, told, due, claim, settle, placed } = toldLeads(() => at);
const rings = (lead_id: string, claim_no: number, call_id = "CA1") =>
  at.stage.bus.call("leads.annotate", { lead_id, claim_no, ringing: { call_id } });
const answer = (lead_id: string, claim_no: number) =>
  at.stage.bus.call("leads.extend", { lead_id, claim_no, lease_seconds: LEASE, answered: true });
const recorded = (lead_id: string, claim_no: number, call_id: string | null = "CA1") =>
  at.stage.bus.call("leads.annotate", { lead_id, claim_no, recording_stored: { call_id } });

test("that a recording is stored is told once for each attempt, however often the notice comes, and after the next attempt has begun", async () => {
  const lead_id = await due();
  const first = await claim(lead_id, 1);
  await settle(lead_id, first, { call_id: "CA1" });
  await at.clock.advance(5000);
  const second = await claim(lead_id, 1);
  const answers = await Promise.all([1, 2, 3].map(() => recorded(lead_id, first)));
  expect(answers.filter(({ done }) => done)).toHaveLength(1);
  await settle(lead_id, second, { call_id: "CA2" });
  expect(await recorded(lead_id, second, "CA2")).toEqual({ done: true });
  expect(await recorded(lead_id, first)).toEqual({ done: false });

  const events = await eventsOf(lead_id);
  expectSound(lead_id, events);
  expect(events.map(({ type }) => type).slice(3)).toEqual([
    "lead.retry",
    "lead.claimed",
    "recording.stored",
    "lead.ended",
    "lead.finished",
    "recording.stored",
  ]);
  const stored = events.filter(({ type }) => type === "recording.stored");
  expect(stored.map(({ data }) => [data["claim_no"], data["call_id"]])).toEqual([
    [first, "CA1"],
    [second, "CA2"],
  ]);
  const { events: timeline } = await at.stage.bus.call("leads.timeline", { by: asMerchant(R, M), lead_id });
  expect(timeline.filter(({ details }) => details["recording"] === "stored")).toHaveLength(2);
});

test("a ring is told once for each attempt, behind the dial and before the answer, whichever notice comes first", async () => {
  const lead_id = await due();
  const first = await claim(lead_id, 1);
  expect(await rings(lead_id, first)).toEqual({ done: true });
  expect(await rings(lead_id, first)).toEqual({ done: false });
  await placed(lead_id, first);
  await settle(lead_id, first, { call_id: "CA1" });
  await at.clock.advance(5000);
  const second = await claim(lead_id, 1);
  await placed(lead_id, second, "CA2");
  const both = await Promise.all([rings(lead_id, second, "CA2"), rings(lead_id, second, "CA2")]);
  expect(both.filter(({ done }) => done)).toHaveLength(1);
  await answer(lead_id, second);
  expect(await rings(lead_id, first)).toEqual({ done: false });
  await settle(lead_id, second, { call_id: "CA2" });
  expect(await rings(lead_id, second, "CA2")).toEqual({ done: false });

  const events = await eventsOf(lead_id);
  expectSound(lead_id, events);
  expect(events.map(({ type, data }) => `${type} ${String(data["claim_no"] ?? "")}`)).toEqual([
    "lead.queued ",
    "lead.claimed 1",
    "lead.dialing 1",
    "lead.ringing 1",
    "lead.ended 1",
    "lead.retry 1",
    "lead.claimed 2",
    "lead.dialing 2",
    "lead.ringing 2",
    "lead.answered 2",
    "lead.ended 2",
    "lead.finished ",
  ]);
  expect(events[2]?.data["call_id"]).toBe("CA1");
});

test("a ring that leads hears of after the answer is not told", async () => {
  const lead_id = await due();
  const claim_no = await claim(lead_id);
  await answer(lead_id, claim_no);
  expect(await rings(lead_id, claim_no)).toEqual({ done: false });
  expect(await told(lead_id)).toEqual(["lead.queued", "lead.claimed", "lead.answered"]);
});

test("a recording of an attempt that never was, or of a lead that is gone or was erased, is told to nobody", async () => {
  const lead_id = await due();
  const claim_no = await claim(lead_id);
  await settle(lead_id, claim_no);
  const before = await eventsOf(lead_id);
  expect(await recorded(lead_id, claim_no + 1)).toEqual({ done: false });
  const leads = at.db.collection<Stored & { meta: object }>("leads");
  await leads.updateOne({ _id: lead_id }, { $set: { "meta.erased_at": at.clock.now() }, $inc: { claim_no: 1 } });
  expect(await recorded(lead_id, claim_no)).toEqual({ done: false });
  expect(await eventsOf(lead_id)).toEqual(before);
  await leads.deleteOne({ _id: lead_id });
  expect(await recorded(lead_id, claim_no)).toEqual({ done: false });
});
