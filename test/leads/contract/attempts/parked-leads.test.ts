import { noFacts } from "../../../../shared/contracts/records/attempt.ts";
import { asAdmin, asMerchant, asReseller, until } from "../../../../local/harness/stage.ts";
import type { ParamsOf } from "../../../../shared/bus/bus.ts";
import type { LeadDoc } from "../../../../services/leads/leads.model.ts";
import {
  claimSeen,
  dueLead,
  leadsStage,
  M,
  NOBODY,
  R,
  TEMPLATE,
  type LeadsStage,
} from "../../../fixtures/leads-stage.ts";

let at: LeadsStage;
beforeAll(async () => {
  at = await leadsStage();
});
afterAll(() => at.stop());

const by = asMerchant(R, M);
const docs = () => at.db.collection<LeadDoc>("leads");
const doc = async (id: string): Promise<LeadDoc> => (await docs().findOne({ _id: id }))!;
const call: LeadsStage["stage"]["bus"]["call"] = (name, params, how) => at.stage.bus.call(name, params, how);
const claimed = async (id: string): Promise<number> => {
  const due = (await doc(id)).due_at!.getTime();
  if (due > at.clock.now().getTime()) await at.clock.advance(due - at.clock.now().getTime());
  return (await claimSeen(at.stage, (await dueLead(at.stage, at.clock.now(), id))!))!.claim_no;
};
/** Seconds until the lead is due again after a fault. */
async function fault(id: string, code = "INTERNAL"): Promise<number> {
  const claim_no = await claimed(id);
  const due_at = at.clock.now().toISOString();
  expect(await call("leads.release", { lead_id: id, claim_no, due_at, reason: code, fault: code })).toEqual({
    done: true,
  });
  return ((await doc(id)).due_at!.getTime() - at.clock.now().getTime()) / 1000;
}
/** An attempt that stops for a reason which is no fault. */
async function harmless(id: string, why: Pick<ParamsOf<"leads.release">, "reason" | "pre_check">): Promise<void> {
  const due_at = new Date(at.clock.now().getTime() + 1000).toISOString();
  expect(await call("leads.release", { lead_id: id, claim_no: await claimed(id), due_at, ...why })).toEqual({
    done: true,
  });
}
async function parked(code = "INTERNAL"): Promise<string> {
  const id = (await at.push()).lead_call_tracker_id;
  for (let i = 0; i < 5; i++) await fault(id, code);
  return id;
}
const listed = async (which: boolean): Promise<string[]> =>
  (await call("leads.list", { by, parked: which, limit: 500 })).leads.map((l) => l.id);

describe("technical faults in a row", () => {
  test("the pause grows from 5 s to 10 min; from the fifth on the lead is parked, whatever follows", async () => {
    const id = (await at.push()).lead_call_tracker_id;
    const pauses: number[] = [];
    for (let i = 0; i < 10; i++) pauses.push(await fault(id, i === 9 ? "TIMEOUT" : "INTERNAL"));
    // chance is the middle of its range on this stage
    const nominal = [5, 10, 20, 40, 80, 160, 320, 600, 600, 600];
    for (const [i, seconds] of nominal.entries()) {
      expect(pauses[i]).toBeGreaterThanOrEqual(seconds * 0.8);
      expect(pauses[i]).toBeLessThanOrEqual(seconds * 1.2);
    }
    const { status, attempt_count, faults, held } = await doc(id);
    expect([status, attempt_count, faults?.count, faults?.code, held?.why]).toEqual(["BACKLOG", 0, 10, "TIMEOUT", "TIMEOUT"]); // prettier-ignore
    expect([await listed(true), await listed(false)]).toEqual([[id], expect.not.arrayContaining([id])]);
    expect(await call("leads.parked", {})).toEqual({ count: 1, code: "TIMEOUT" });
    const { events } = await call("leads.timeline", { by, lead_id: id });
    expect(events.filter((e) => e.event === "given_back").at(-1)?.details).toMatchObject({
      fault: "TIMEOUT",
      faults: 10,
      parked: true,
    });
    await call("leads.abort", { by, leads: [{ lead_id: id, cancellation_reason: "x" }] });
    expect([await listed(true), (await doc(id)).faults]).toEqual([[], undefined]);
  });

  test("an attempt that dials ends the row, and the time for which the lead was parked is not part of its age", async () => {
    const id = await parked();
    const { created_at, faults } = await doc(id);
    await call("leads.settle", { lead_id: id, claim_no: await claimed(id), facts: noFacts("no_answer") });
    const after = await doc(id);
    expect([after.faults, await listed(true)]).toEqual([undefined, []]);
    const stood = at.clock.now().getTime() - faults!.parked_at!.getTime();
    expect(stood).toBeGreaterThan(0);
    expect(after.aged_from?.getTime()).toBe(created_at.getTime() + stood);
    const due = await dueLead(at.stage, new Date(at.clock.now().getTime() + 1e6), id);
    expect(due?.aged_from).toBe(after.aged_from?.toISOString());
    await call("leads.abort", { by, leads: [{ lead_id: id, cancellation_reason: "x" }] });
  });

  test("a release for another reason does not end the row: a lead whose faults alternate with it is parked all the same", async () => {
    const id = (await at.push()).lead_call_tracker_id;
    for (let i = 0; i < 5; i++) {
      expect(await listed(true)).toEqual([]);
      if (i % 2 === 1) await harmless(id, { reason: "callee_busy" });
      else await harmless(id, { reason: "crm", pre_check: { name: "crm", results: [] } });
      await fault(id);
    }
    expect([(await doc(id)).faults?.count, await listed(true)]).toEqual([5, [id]]);
    await call("leads.abort", { by, leads: [{ lead_id: id, cancellation_reason: "x" }] });
  });

  test("while a lead that was parked waits for another reason it is not parked, and ages; the next fault parks it again", async () => {
    const id = await parked();
    const { created_at, faults } = await doc(id);
    await harmless(id, { reason: "callee_capped" });
    const waiting = await doc(id);
    const stood = at.clock.now().getTime() - faults!.parked_at!.getTime();
    expect(waiting.faults).toEqual({ count: 5, code: "INTERNAL", since: faults!.since });
    expect([waiting.aged_from?.getTime(), await listed(true)]).toEqual([created_at.getTime() + stood, []]);
    expect(waiting.expiry_from).toEqual(waiting.aged_from);
    await fault(id);
    const again = await doc(id);
    expect(again.faults).toMatchObject({ count: 6, parked_at: at.clock.now() });
    expect(again.expiry_from!.getTime()).toBeGreaterThan(at.clock.now().getTime() + 1e12);
    await call("leads.abort", { by, leads: [{ lead_id: id, cancellation_reason: "x" }] });
  });

  test("a dialer of the version before settles what it should release: the lead is released all the same", async () => {
    const id = (await at.push()).lead_call_tracker_id;
    const settle = async (code: string) =>
      call("leads.settle", {
        lead_id: id,
        claim_no: await claimed(id),
        facts: { ...noFacts("not_dialled"), error: { code, message: "x" } },
      });
    expect(await settle("INTERNAL")).toMatchObject({ done: true, outcome: null });
    expect(await doc(id)).toMatchObject({
      status: "BACKLOG",
      attempt_count: 0,
      faults: { count: 1, code: "INTERNAL" },
    });
    expect(await settle("TEMPLATE_NOT_FOUND")).toEqual({ done: true, status: "FINISHED", outcome: "failed" });
  });
});

describe("a parked lead", () => {
  test("does not expire, neither while it is parked nor for having been", async () => {
    const [id, other] = [await parked(), (await at.push()).lead_call_tracker_id];
    await at.clock.advance(4_000_000);
    const before = new Date(at.clock.now().getTime() - 3_600_000);
    const expire = () =>
      call("leads.expire", {
        template_id: TEMPLATE,
        created_before: before.toISOString(),
        reason: "too old",
        limit: 500,
      });
    await expire();
    expect([(await doc(id)).status, (await doc(other)).outcome]).toEqual(["BACKLOG", "EXPIRED"]);
    const claim_no = await claimed(id);
    await call("leads.release", { lead_id: id, claim_no, due_at: at.clock.now().toISOString(), reason: "window" });
    await expire();
    expect((await doc(id)).status).toBe("BACKLOG");
    await at.clock.advance(4_000_000);
    before.setTime(at.clock.now().getTime() - 3_600_000);
    await expire();
    expect((await doc(id)).outcome).toBe("EXPIRED");
  });

  test("is tried again by itself when an attempt that met the same fault passes; leads with another fault are not", async () => {
    const [alike, other] = [await parked("TIMEOUT"), await parked("BUSY")];
    for (let i = 0; i < 3; i++) {
      await fault(alike, "TIMEOUT");
      await fault(other, "BUSY");
    }
    const id = (await at.push()).lead_call_tracker_id;
    await fault(id, "TIMEOUT");
    await call("leads.settle", { lead_id: id, claim_no: await claimed(id), facts: noFacts("no_answer") });
    await until("the lead with the same fault to be due", async () => {
      await at.clock.advance(1000);
      return (await doc(alike)).due_at! <= at.clock.now() || undefined;
    });
    expect((await doc(other)).due_at! > at.clock.now()).toBe(true);
    for (const lead_id of [alike, other, id]) await call("leads.abort", { by, leads: [{ lead_id, cancellation_reason: "x" }] }); // prettier-ignore
  });

  test("is resumed by hand: due now, announced and audited, and still parked until an attempt passes", async () => {
    const one = await parked("TIMEOUT");
    for (let i = 0; i < 3; i++) await fault(one);
    const two = await parked();
    at.audited.length = at.announced.length = 0;
    expect(await call("leads.resume", { by: asReseller(NOBODY), template_id: TEMPLATE })).toEqual({ resumed: 0, more: false }); // prettier-ignore
    expect(await call("leads.resume", { by, lead_ids: [one.toUpperCase(), "nonsense"] })).toEqual({ resumed: 1, more: false }); // prettier-ignore
    expect([(await doc(one)).due_at, (await doc(two)).due_at! > at.clock.now()]).toEqual([at.clock.now(), true]);
    expect(at.audited).toMatchObject([{ action: "lead.resumed", subject: one, reseller_id: R, merchant_id: M }]);
    expect(await call("leads.resume", { by: asAdmin, template_id: TEMPLATE })).toEqual({ resumed: 1, more: false });
    expect(await call("leads.resume", { by: asAdmin, template_id: TEMPLATE })).toEqual({ resumed: 0, more: false });
    expect([...(await listed(true))].sort()).toEqual([one, two].sort());
    expect(await fault(one)).toBeGreaterThan(100);
    await expect(call("leads.resume", { by })).rejects.toMatchObject({ type: "VALIDATION_FAILED" });
    const { events } = await call("leads.timeline", { by, lead_id: one });
    expect(events.map((e) => e.event)).toContain("resumed");
  });
});
