import { asMerchant } from "../../../../local/harness/stage.ts";
import { endedByAgent, type TalkTurn } from "../../../../shared/contracts/records/attempt.ts";
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

const AT = "2026-03-02T09:00:20.000Z";
const turnsOf = (n: number): TalkTurn[] =>
  Array.from({ length: n }, (_, i) => ({ by: i % 2 === 0 ? "assistant" : "user", at: AT, node: `node-${i}` }));
const talked = (lead_id: string, claim_no: number, told: number, upTo: number) =>
  at.stage.bus.call("leads.annotate", { lead_id, claim_no, turns: { told, turns: turnsOf(upTo).slice(told) } });
const talkOf = (turns: number) => ({ talk: { ...endedByAgent("confirmed"), turns: turnsOf(turns) } });

test("turns are told in order and once, after the answer, and the end of the attempt tells those of which no notice came", async () => {
  const lead_id = await due();
  const claim_no = await claim(lead_id, 0);
  expect(await talked(lead_id, claim_no, 0, 1)).toEqual({ done: false });
  await answer(lead_id, claim_no);
  expect(await talked(lead_id, claim_no, 0, 2)).toEqual({ done: true });
  expect(await talked(lead_id, claim_no, 0, 2)).toEqual({ done: false });
  expect(await talked(lead_id, claim_no, 3, 4)).toEqual({ done: false });
  expect(await talked(lead_id, claim_no, 2, 3)).toEqual({ done: true });
  await settle(lead_id, claim_no, { ended: "completed", answered_at: AT, ...talkOf(5) });
  expect(await talked(lead_id, claim_no, 5, 6)).toEqual({ done: false });

  const events = await eventsOf(lead_id);
  expectSound(lead_id, events);
  const types = ["lead.queued", "lead.claimed", "lead.answered", ...Array<string>(5).fill("lead.turn")];
  expect(events.map(({ type }) => type)).toEqual([...types, "lead.ended", "lead.finished"]);
  expect(events.slice(3, 8).map(({ data }) => [data["turn"], data["by"], data["node"], data["at"]])).toEqual(
    turnsOf(5).map(({ by, node }, i) => [i + 1, by, node, AT]),
  );
});

test("turns that are told while the attempt is settled are told once", async () => {
  const lead_id = await due();
  const claim_no = await claim(lead_id, 0);
  await answer(lead_id, claim_no);
  const notices = [0, 1, 2, 3].map((told) => talked(lead_id, claim_no, told, told + 1));
  const settled = settle(lead_id, claim_no, { ended: "completed", answered_at: AT, ...talkOf(4) });
  await Promise.all([...notices, settled]);
  const events = await eventsOf(lead_id);
  expectSound(lead_id, events);
  expect(events.filter(({ type }) => type === "lead.turn").map(({ data }) => data["turn"])).toEqual([1, 2, 3, 4]);
  expect(events.at(-1)?.type).toBe("lead.finished");
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
