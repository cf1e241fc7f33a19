import { plusMs } from "../../../../shared/time/clock.ts";
import { endedByAgent, noFacts, type PlacedCall } from "../../../../shared/contracts/records/attempt.ts";
import { leadsStage, type LeadsStage } from "../../../fixtures/leads-stage.ts";
import { expectSound, LEASE, toldLeads } from "../../fixtures/told-leads.ts";

let at: LeadsStage;
beforeAll(async () => {
  at = await leadsStage();
});
afterAll(() => at.stop());

const { eventsOf, told, due, claim, placed: tell } = toldLeads(() => at);
const bus = { call: ((name, params) => at.stage.bus.call(name, params)) as LeadsStage["stage"]["bus"]["call"] };

/** A call that was placed now, and rang so many milliseconds later; null: not at all. */
const call = (rang_ms: number | null): PlacedCall => ({
  call_id: "CA1",
  placed_at: at.clock.now().toISOString(),
  ringing_at: rang_ms === null ? null : plusMs(at.clock.now(), rang_ms).toISOString(),
});
/** How often the lead was written. */
const writesOf = async (lead_id: string): Promise<number> => {
  const lead = await at.db
    .collection<{ _id: string; marks: unknown[]; event_seq: number; history: unknown[] }>("leads")
    .findOne({ _id: lead_id });
  return lead?.marks.length ?? Number.NaN;
};
const answer = (lead_id: string, claim_no: number, placed: PlacedCall) =>
  bus.call("leads.extend", { lead_id, claim_no, lease_seconds: LEASE, answered: true, placed });
const RECORDING = "https://calls.example/recording/CA1";
/** What of the lead says where its recording is. */
const recordingOf = async (lead_id: string) =>
  (await at.db.collection<{ _id: string; recording_url: string | null }>("leads").findOne({ _id: lead_id }))
    ?.recording_url;
const settle = (lead_id: string, claim_no: number, placed: PlacedCall) =>
  bus.call("leads.settle", { lead_id, claim_no, facts: { ...noFacts("busy"), call_id: "CA1" }, placed });

test("what of a call was not told before its answer is told by the write of the answer, with its own times, and once", async () => {
  const lead_id = await due();
  const claim_no = await claim(lead_id);
  const before = await writesOf(lead_id);
  const placed = call(300);
  await at.clock.advance(1000);
  expect(await answer(lead_id, claim_no, placed)).toEqual({ done: true });
  expect((await writesOf(lead_id)) - before).toBe(1);
  const read = await at.db.collection<{ _id: string; call_id: string }>("leads").findOne({ _id: lead_id });
  expect(read?.call_id).toBe("CA1");
  // an answer that was lost is asked for again, and a carrier reports late
  expect(await answer(lead_id, claim_no, placed)).toEqual({ done: true });
  expect(await bus.call("leads.annotate", { lead_id, claim_no, ringing: { call_id: "CA1" } })).toEqual({ done: false });
  await tell(lead_id, claim_no);
  await settle(lead_id, claim_no, placed);
  const events = await eventsOf(lead_id);
  expect(events.map(({ type }) => type)).toEqual([
    "lead.queued",
    "lead.claimed",
    "lead.dialing",
    "lead.ringing",
    "lead.answered",
    "lead.ended",
    "lead.finished",
  ]);
  expectSound(lead_id, events);
  expect(events[2]).toMatchObject({ time: placed.placed_at, data: { claim_no, call_id: "CA1" } });
  expect(events[3]?.time).toBe(placed.ringing_at);
});

test("the same by the write of its end, where nobody answered", async () => {
  const lead_id = await due();
  const claim_no = await claim(lead_id);
  const before = await writesOf(lead_id);
  expect(await settle(lead_id, claim_no, call(null))).toMatchObject({ done: true });
  expect((await writesOf(lead_id)) - before).toBe(1);
  expect(await told(lead_id)).toEqual(["lead.queued", "lead.claimed", "lead.dialing", "lead.ended", "lead.finished"]);
});

test("a conversation of which the lead hears at its end alone was answered before, at the time that the facts say", async () => {
  const lead_id = await due();
  const claim_no = await claim(lead_id);
  const placed = call(300);
  await at.clock.advance(1000);
  const answered_at = at.clock.now().toISOString();
  await at.clock.advance(9000);
  const facts = { ...noFacts("completed"), call_id: "CA1", answered_at, talk: endedByAgent("sold") };
  expect(await bus.call("leads.settle", { lead_id, claim_no, facts, placed })).toMatchObject({ done: true });
  const ended = at.clock.now().toISOString();
  const events = await eventsOf(lead_id);
  expectSound(lead_id, events);
  expect(events.slice(2).map(({ type, time }) => [type, time])).toEqual([
    ["lead.dialing", placed.placed_at],
    ["lead.ringing", placed.ringing_at],
    ["lead.answered", answered_at],
    ["lead.ended", ended],
    ["lead.finished", ended],
  ]);
});

test("what was told before is not told again, and what rings later is told alone", async () => {
  const lead_id = await due();
  const claim_no = await claim(lead_id);
  await tell(lead_id, claim_no);
  await settle(lead_id, claim_no, call(0));
  expect((await told(lead_id)).slice(2)).toEqual(["lead.dialing", "lead.ringing", "lead.ended", "lead.finished"]);

  const other = await due();
  const no = await claim(other);
  const { call_id, placed_at, ringing_at } = call(200);
  const noted = { lead_id: other, claim_no: no, call_id, call_initiated_time: placed_at };
  await at.clock.advance(3000);
  await bus.call("leads.annotate", { ...noted, ...(ringing_at === null ? {} : { ringing_at }) });
  await bus.call("leads.annotate", { lead_id: other, claim_no: no, ringing: { call_id } });
  await settle(other, no, { call_id, placed_at, ringing_at });
  const events = await eventsOf(other);
  expect(events.slice(2).map(({ type, time }) => [type, type.endsWith("ing") ? time : ""])).toEqual([
    ["lead.dialing", placed_at],
    ["lead.ringing", ringing_at],
    ["lead.ended", ""],
    ["lead.finished", ""],
  ]);
});

test("where the recording will be is told by the write of the answer, or of the end, and by none of its own", async () => {
  for (const [tell, how] of [
    [answer, "answer"],
    [settle, "end"],
  ] as const) {
    const lead_id = await due();
    const claim_no = await claim(lead_id);
    const before = await writesOf(lead_id);
    await tell(lead_id, claim_no, { ...call(0), recording_url: RECORDING });
    expect([how, await recordingOf(lead_id), (await writesOf(lead_id)) - before]).toEqual([how, RECORDING, 1]);
  }
});

test("it is told although everything else of the call was told before", async () => {
  const lead_id = await due();
  const claim_no = await claim(lead_id);
  await tell(lead_id, claim_no);
  await bus.call("leads.annotate", { lead_id, claim_no, ringing: { call_id: "CA1" } });
  await answer(lead_id, claim_no, { ...call(0), recording_url: RECORDING });
  expect(await recordingOf(lead_id)).toBe(RECORDING);
});

test.each([
  ["before the answer is told", "answer last"],
  ["at the same moment", "both"],
])("that there is no recording after all, told %s, counts", async (_when, how) => {
  const lead_id = await due();
  const claim_no = await claim(lead_id);
  const none = () => bus.call("leads.annotate", { lead_id, claim_no, recording_url: null });
  if (how === "answer last") await none();
  await Promise.all([
    ...(how === "both" ? [none()] : []),
    answer(lead_id, claim_no, { ...call(0), recording_url: RECORDING }),
  ]);
  expect((await told(lead_id)).slice(2)).toEqual(["lead.dialing", "lead.ringing", "lead.answered"]);
  expect(await recordingOf(lead_id)).toBe(null);
});

test("a recording that is stored names its address, in the record of its own attempt alone", async () => {
  const lead_id = await due();
  const first = await claim(lead_id, 1);
  const stored = (attempt: number) =>
    bus.call("leads.annotate", {
      lead_id,
      claim_no: attempt,
      recording_stored: { call_id: "CA1", recording_url: `${RECORDING}?${attempt}` },
    });
  await settle(lead_id, first, call(0));
  await at.clock.advance(5000);
  const second = await claim(lead_id);
  expect(await stored(first)).toEqual({ done: true });
  expect(await recordingOf(lead_id)).toBe(null);
  await settle(lead_id, second, call(0));
  expect(await stored(second)).toEqual({ done: true });
  expect(await recordingOf(lead_id)).toBe(`${RECORDING}?${second}`);
  expect(await stored(first)).toEqual({ done: false });
});

test("times that a clock tells wrong stay between what came before and now", async () => {
  const lead_id = await due();
  const claim_no = await claim(lead_id);
  const claimed = at.clock.now();
  await at.clock.advance(500);
  const wrong = { placed_at: plusMs(claimed, -9000).toISOString(), ringing_at: plusMs(claimed, 9000).toISOString() };
  await settle(lead_id, claim_no, { call_id: "CA1", ...wrong });
  const times = (await eventsOf(lead_id)).map(({ time }) => time);
  expect(times).toEqual(times.toSorted());
  expect(times[2]).toBe(claimed.toISOString());
});

test("a notice of ringing that comes at the moment of the end is told once, and in its place", async () => {
  const lead_id = await due();
  const claim_no = await claim(lead_id);
  const placed = call(0);
  await Promise.all([
    bus.call("leads.annotate", { lead_id, claim_no, ringing: { call_id: "CA1" } }),
    settle(lead_id, claim_no, placed),
    tell(lead_id, claim_no),
  ]);
  expect((await told(lead_id)).slice(2)).toEqual(["lead.dialing", "lead.ringing", "lead.ended", "lead.finished"]);
});
