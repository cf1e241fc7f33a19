import { randomUUID } from "node:crypto";
import type { LogSheet } from "../../../../services/leads/events/event-log.model.ts";
import { asAdmin, asMerchant, asReseller } from "../../../../local/harness/stage.ts";
import { dueLead, leadsStage, M, NOBODY, R, type LeadsStage } from "../../../fixtures/leads-stage.ts";
import { expectSound, LEASE, toldLeads, type Stored } from "../../fixtures/told-leads.ts";

let at: LeadsStage;
beforeAll(async () => {
  at = await leadsStage();
});
afterAll(() => at.stop());

const { bus } = {
  bus: { call: ((name, params) => at.stage.bus.call(name, params)) as LeadsStage["stage"]["bus"]["call"] },
};
const { eventsOf, told, due, claim, settle, placed } = toldLeads(() => at);

const evaluation = { trace_scores: { politeness: 0.9 }, summary: "a word of the customer", errors: [] };

test("a lead's road is told once, in order and without a gap, with the phone number masked and nothing of what was said", async () => {
  const lead_id = await due({ payload: { customer_mobile_number: "+14155552601", customer_name: "Ada Lovelace" } });
  const first = await claim(lead_id, 1);
  await placed(lead_id, first);
  await settle(lead_id, first, { call_id: "CA1" });
  await at.clock.advance(5000);
  const second = await claim(lead_id, 1);
  await placed(lead_id, second, "CA2");
  for (const answered of [true, true, false])
    await bus.call("leads.extend", {
      lead_id,
      claim_no: second,
      lease_seconds: LEASE,
      ...(answered ? { answered } : {}),
    });
  await settle(lead_id, second, { ended: "completed", call_id: "CA2", answered_at: at.clock.now().toISOString() });
  for (let times = 0; times < 2; times++) {
    await bus.call("leads.annotate", { lead_id, claim_no: second, evaluation });
    await bus.call("leads.annotate", { lead_id, claim_no: second, cost: 0.04 });
  }
  await bus.call("leads.annotate", { lead_id, claim_no: second, cost: 0.05 });
  await bus.call("leads.annotate", { lead_id, claim_no: first, cost: 0.01 });

  const events = await eventsOf(lead_id);
  expect(events.map(({ type }) => type)).toEqual([
    "lead.queued",
    "lead.claimed",
    "lead.dialing",
    "lead.ended",
    "lead.retry",
    "lead.claimed",
    "lead.dialing",
    "lead.answered",
    "lead.ended",
    "lead.finished",
    "lead.evaluated",
    "cost.known",
    "cost.known",
    "cost.known",
  ]);
  expectSound(lead_id, events);
  expect(events[0]).toMatchObject({
    reseller: R,
    merchant: M,
    data: { phone_number: "+1415***2601", because: "pushed" },
  });
  expect(events[9]?.data).toMatchObject({ attempt_count: 2, call_id: "CA2" });
  expect(events.slice(11).map(({ data }) => [data["claim_no"], data["cost"]])).toEqual([
    [2, 0.04],
    [2, 0.05],
    [1, 0.01],
  ]);
  const text = JSON.stringify(events);
  for (const secret of ["4155552601", "Lovelace", "a word of the customer"]) expect(text).not.toContain(secret);
});

test("what is released, parked, resumed, aborted and dropped is told", async () => {
  const parked = await due();
  const claim_no = await claim(parked);
  const release = { lead_id: parked, claim_no, due_at: at.clock.now().toISOString(), reason: "busy" };
  await bus.call("leads.release", release);
  await at.db
    .collection<Stored>("leads")
    .updateOne({ _id: parked }, { $set: { faults: { count: 4, code: "DEPENDENCY_DOWN", since: at.clock.now() } } });
  await bus.call("leads.release", { ...release, claim_no: await claim(parked), fault: "DEPENDENCY_DOWN" });
  await bus.call("leads.resume", { by: asAdmin, lead_ids: [parked] });
  const { leads } = await bus.call("leads.abort", {
    by: asMerchant(R, M),
    leads: [{ lead_id: parked, cancellation_reason: "the customer wrote us a letter" }],
  });
  expect(leads[0]?.status).toBe("success");
  const events = await eventsOf(parked);
  expect(events.map(({ type }) => type)).toEqual([
    "lead.queued",
    "lead.claimed",
    "lead.queued",
    "lead.claimed",
    "lead.queued",
    "lead.parked",
    "lead.queued",
    "lead.aborted",
    "lead.finished",
  ]);
  expectSound(parked, events);
  expect(events[5]?.data).toMatchObject({ code: "DEPENDENCY_DOWN", faults: 5 });
  expect(events[8]?.data).toMatchObject({ outcome: "ABORTED", attempt_count: 0, call_id: null });
  expect(JSON.stringify(events)).not.toContain("letter");

  const dropped = await due();
  const { due_at } = (await dueLead(at.stage, at.clock.now(), dropped))!;
  await bus.call("leads.drop", { lead_id: dropped, due_at, outcome: "BLACKLISTED", reason: "listed" });
  expect(await told(dropped)).toEqual(["lead.queued", "lead.finished"]);
});

test("a call that was answered before its dial is noted is not told as dialling; a lead of an older version begins its sequence with this one", async () => {
  const made = await at.db.collection<Stored>("leads").findOne({ _id: await due() });
  const { event_seq: _seq, outbox: _outbox, outbox_at: _at, ...old } = made!;
  const lead_id = randomUUID();
  await at.db.collection<Stored>("leads").insertOne({ ...old, _id: lead_id });
  expect(await eventsOf(lead_id)).toEqual([]);
  const claim_no = await claim(lead_id);
  await bus.call("leads.extend", { lead_id, claim_no, lease_seconds: LEASE, answered: true });
  await placed(lead_id, claim_no);
  await settle(lead_id, claim_no, { evaluation });
  const events = await eventsOf(lead_id);
  expect(events.map(({ type }) => type)).toEqual([
    "lead.claimed",
    "lead.answered",
    "lead.ended",
    "lead.finished",
    "lead.evaluated",
  ]);
  expectSound(lead_id, events);
});

test("the log has all of them in one order without a gap, page by page, and a tenant's reader sees its own alone", async () => {
  const mine = await due();
  const other = await due();
  await at.db
    .collection<Stored>("leads")
    .updateOne({ _id: other }, { $set: { reseller_id: NOBODY, merchant_id: NOBODY } });
  await claim(other);
  await Promise.all([eventsOf(mine), eventsOf(other, asAdmin)]);

  const read = async (limit: number) => {
    const positions: number[] = [];
    for (let after = 0, more = true; more;) {
      const page = await bus.call("leads.eventsAfter", { after, limit });
      positions.push(...page.events.map(({ position }) => position));
      ({ next: after, more } = page);
    }
    return positions;
  };
  const all = await read(500);
  expect(all).toEqual(all.map((_, i) => i + 1));
  expect(await read(3)).toEqual(all);

  const pages = await Promise.all(
    [asAdmin, asReseller(R), asMerchant(R, M), asReseller(NOBODY), asMerchant(NOBODY, NOBODY)].map((by) =>
      bus.call("leads.listEvents", { by, limit: 500 }),
    ),
  );
  expect(new Set(pages.map(({ next_cursor }) => next_cursor)).size).toBe(1);
  expect(pages[0]?.events).toHaveLength(all.length);
  const ownersIn = (i: number) => new Set(pages[i]?.events.map(({ event }) => `${event.reseller} ${event.merchant}`));
  expect([1, 2].map(ownersIn)).toEqual([new Set([`${R} ${M}`]), new Set([`${R} ${M}`])]);
  expect([3, 4].map(ownersIn)).toEqual([new Set([`${NOBODY} ${NOBODY}`]), new Set([`${NOBODY} ${NOBODY}`])]);
  await expect(bus.call("leads.events", { by: asMerchant(R, M), lead_id: other })).rejects.toMatchObject({
    code: expect.anything(),
    type: "LEAD_NOT_FOUND",
  });
  const tenants = await bus.call("leads.eventsAfter", {
    after: 0,
    limit: 500,
    reseller_id: NOBODY,
    merchant_id: NOBODY,
  });
  expect(tenants.events.map(({ event }) => event)).toEqual(pages[4]?.events.map(({ event }) => event));
});

test("a cursor tells nothing, is refused where its list did not give it out, and by one that was reading goes on where it stopped", async () => {
  const lead_id = await due();
  await claim(lead_id);
  const events = await eventsOf(lead_id);
  const by = asMerchant(R, M);
  const first = await bus.call("leads.events", { by, lead_id, limit: 1 });
  expect([first.events.map(({ event }) => event.seq), first.more]).toEqual([[1], true]);
  expect(first.next_cursor).toBe(first.events[0]?.cursor);
  const rest = await bus.call("leads.events", { by, lead_id, after: first.next_cursor });
  expect([rest.events.map(({ event }) => event), rest.more]).toEqual([events.slice(1), false]);
  const end = { events: [], next_cursor: rest.next_cursor };
  expect(await bus.call("leads.events", { by, lead_id, after: rest.next_cursor })).toMatchObject(end);
  const all = await bus.call("leads.listEvents", { by, limit: 1 });
  const further = await bus.call("leads.listEvents", { by, after: all.next_cursor });
  expect([all.events.length, further.expired, all.next_cursor]).toEqual([1, false, expect.stringMatching(/^[\w-]+$/)]);
  expect(further.events.map(({ cursor }) => cursor)).not.toContain(all.next_cursor);
  for (const now of [
    await bus.call("leads.listEvents", { by, after: "end" }),
    await bus.call("leads.events", { by, lead_id, after: "end" }),
  ])
    expect(now).toMatchObject({
      events: [],
      more: false,
      expired: false,
      next_cursor: expect.stringMatching(/^[\w-]+$/),
    });
  expect((await bus.call("leads.events", { by, lead_id, after: "end" })).next_cursor).toBe(rest.next_cursor);
  const never = ["x", "-1", "1", "007", "cA", `${all.next_cursor}=`];
  for (const after of [...never, first.next_cursor])
    await expect(bus.call("leads.listEvents", { by, after })).rejects.toMatchObject({ type: "VALIDATION_FAILED" });
  for (const after of [...never, all.next_cursor])
    await expect(bus.call("leads.events", { by, lead_id, after })).rejects.toMatchObject({ type: "VALIDATION_FAILED" });
});

test("whoever begins where the log ends hears what comes after, and who was away for too long is told", async () => {
  const { next } = await bus.call("leads.eventsAfter", { after: null });
  const lead_id = await due();
  await eventsOf(lead_id);
  const { events, expired } = await bus.call("leads.eventsAfter", { after: next });
  expect([events.map(({ event }) => event.id), expired]).toEqual([[`${lead_id}.1`], false]);
  await at.db.collection<LogSheet>("lead_events").deleteMany({ _id: { $lte: next } });
  expect((await bus.call("leads.eventsAfter", { after: next })).expired).toBe(false);
  expect((await bus.call("leads.eventsAfter", { after: next - 1 })).expired).toBe(true);
});
