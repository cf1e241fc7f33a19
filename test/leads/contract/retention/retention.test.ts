import { existsSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { asAdmin, asMerchant, asReseller } from "../../../../local/harness/stage.ts";
import type { ParamsOf, ResultOf } from "../../../../shared/bus/bus.ts";
import { codeOf } from "../../../../shared/errors.ts";
import { M, R } from "../../../fixtures/leads-stage.ts";
import { needing } from "../../../fixtures/database-abilities.ts";
import { servedBy } from "../../../fixtures/query-plan.ts";
import { untilPassed } from "../../../fixtures/virtual-clock.ts";
import { leaveOver } from "../../fixtures/over-leads.ts";
import { erasureStage, type ErasureStage } from "../../fixtures/erasure-stage.ts";

const DAY_MS = 86_400_000;
let it: ErasureStage;
beforeAll(async () => {
  it = await erasureStage();
});
afterAll(() => it.stop());

type Wanted = Omit<ParamsOf<"leads.setRetention">, "by">;
const by = asReseller(R);
const set = (days: Wanted) => it.stage.bus.call("leads.setRetention", { by, ...days });
const dryRun = (days: Wanted = {}) => it.stage.bus.call("leads.dryRunRetention", { by, ...days });
const current = () => it.stage.bus.call("leads.getRetention", { by });
const lead = (lead_id: string) => it.stage.bus.call("leads.get", { by: asMerchant(R, M), lead_id });
const of = (collection: string, lead_id: string) => it.db.collection(collection).countDocuments({ lead_id });

beforeEach(async () => {
  await set({});
});

const over = (days: number) => leaveOver(it, days);

const done = (): Promise<NonNullable<ResultOf<"leads.getRetention">["last_run"]>> =>
  untilPassed(it.clock, "the run to be done", 2000, async () => {
    const { last_run } = await current();
    return last_run !== null && last_run.finished_at !== null ? last_run : undefined;
  });

test("nothing ends until a period is set; a dry run counts what would end, and ends nothing", async () => {
  expect(await current()).toMatchObject({ leads_days: null, next_run_at: null, last_run: null });
  const { lead_id } = await over(40);
  await it.clock.advance(3 * DAY_MS);
  expect((await lead(lead_id)).metaData["transcription"]).toHaveLength(1);
  expect(await dryRun()).toEqual({ reseller_id: R, archive: false, kinds: [] });
  const { kinds } = await dryRun({ recordings_days: 30, transcripts_days: 30, deliveries_days: 60, leads_days: 90 });
  expect(kinds.map(({ kind, leads, more }) => [kind, leads, more])).toEqual([
    ["recordings", 1, false],
    ["transcripts", 1, false],
    ["deliveries", 0, false],
    ["leads", 0, false],
  ]);
  expect((await current()).last_run).toBe(null);
  expect(await of("calls", lead_id)).toBe(1);
});

test("a transcript that ends leaves the lead, its outcome and its report, without a word that was said", async () => {
  const { lead_id, file } = await over(40);
  const young = await over(10);
  await set({ transcripts_days: 30 });
  const { ended } = await done();
  expect(ended).toMatchObject({ recordings: 0, calls: 0, leads: 0 });
  const left = await lead(lead_id);
  expect(left).toMatchObject({ outcome: "confirmed", status: "FINISHED", attempt_count: 1 });
  expect(left.metaData).toMatchObject({ transcript_ended_at: expect.any(String) });
  expect(Object.keys(left.metaData)).not.toEqual(expect.arrayContaining(["transcription"]));
  const [report] = await it.db.collection("deliveries").find({ lead_id }).toArray();
  expect(String(report?.["body"])).toContain('"transcription":[]');
  expect(String(report?.["body"])).toContain('"outcome":"confirmed"');
  expect(JSON.stringify([left, report])).not.toContain("I am Ada");
  expect(existsSync(file)).toBe(true);
  expect((await lead(young.lead_id)).metaData["transcription"]).toHaveLength(1);
});

test("a recording ends in folder and record, deliveries end, and the lead stays; then the lead ends with its calls, and its figures stay", async () => {
  const { lead_id, file } = await over(40);
  await set({ recordings_days: 30, deliveries_days: 30 });
  expect((await done()).ended).toMatchObject({ recordings: expect.any(Number), leads: 0, calls: 0 });
  expect(existsSync(file)).toBe(false);
  expect((await lead(lead_id)).recording_url).toBe(null);
  expect([await of("deliveries", lead_id), await of("calls", lead_id)]).toEqual([0, 1]);

  const runs = it.runs.length;
  const year = it.clock.now().getUTCFullYear();
  const period = { from: `${year}-01-01T00:00:00.000Z`, to: `${year + 1}-01-01T00:00:00.000Z` };
  const figures = () => it.stage.bus.call("leads.summary", { by, ...period });
  const before = await figures();
  expect(before.by_outcome["confirmed"]).toBeGreaterThan(0);
  await set({ leads_days: 30 });
  const { ended } = await done();
  expect(ended.leads).toBeGreaterThan(0);
  expect(await lead(lead_id).then(() => "there", codeOf)).toBe("LEAD_NOT_FOUND");
  expect(await of("calls", lead_id)).toBe(0);
  expect(await figures()).toEqual(before);
  expect(it.runs.slice(runs)).toMatchObject([
    { action: "retention.ended", reseller_id: R, subject: R, actor: { role: "reseller" }, details: { leads_days: 30 } },
  ]);
});

test("what is not finished, or owes something still, is never touched; the next run looks again", async () => {
  const { e164 } = it.fresh();
  const waiting = await it.push(e164, { execution_mode: "TELEPHONY" });
  const held = await over(50);
  await it.db.collection("deliveries").updateMany({ lead_id: held.lead_id }, { $set: { state: "pending" } });
  await set({ leads_days: 30 });
  expect((await done()).waiting).toBe(1);
  expect((await lead(waiting)).status).not.toBe("FINISHED");
  expect((await lead(held.lead_id)).outcome).toBe("confirmed");
  await it.db.collection("deliveries").updateMany({ lead_id: held.lead_id }, { $set: { state: "delivered" } });
  await untilPassed(it.clock, "the next day's run", DAY_MS / 4, () => lead(held.lead_id).then(() => undefined, codeOf));
});

test("a run whose process died is gone on with by another one, behind the last lead that it had done", async () => {
  const [first, second] = [await over(60), await over(50)];
  await set({ transcripts_days: 30 });
  await done();
  const started_at = it.clock.now();
  const transcription = [{ role: "user", content: "again" }];
  await it.db
    .collection<{ _id: string }>("leads")
    .updateMany({ _id: { $in: [first.lead_id, second.lead_id] } }, { $set: { "meta.transcription": transcription } });
  const after = { finished_at: first.finished_at, lead_id: first.lead_id };
  const run = { started_at, finished_at: null, kind: "transcripts", after, waiting: 0, ended: { transcripts: 7 } };
  await it.db
    .collection<{ _id: string }>("retentions")
    .updateOne({ _id: R }, { $set: { run, due_at: new Date(started_at.getTime() + 120_000) } });
  await it.clock.advance(60_000);
  expect((await current()).last_run?.finished_at).toBe(null);
  await it.clock.advance(61_000);
  expect((await done()).ended.transcripts).toBe(8);
  expect((await lead(first.lead_id)).metaData["transcription"]).toEqual(transcription);
  expect((await lead(second.lead_id)).metaData["transcription"]).toBe(undefined);
});

test("who may set it: the reseller its own, an admin any; nothing outlives its lead", async () => {
  const refused = (params: Partial<ParamsOf<"leads.setRetention">>) =>
    it.stage.bus.call("leads.setRetention", { by, ...params }).then(() => "taken", codeOf);
  expect(await refused({ by: asMerchant(R, M), leads_days: 30 })).toBe("FORBIDDEN");
  expect(await refused({ reseller_id: "another", leads_days: 30 })).toBe("FORBIDDEN");
  expect(await refused({ by: asAdmin, leads_days: 30 })).toBe("VALIDATION_FAILED");
  expect(await refused({ by: asAdmin, reseller_id: "another", leads_days: 30 })).toBe("RESELLER_NOT_FOUND");
  expect(await refused({ leads_days: 30, transcripts_days: 31 })).toBe("VALIDATION_FAILED");
  expect(await refused({ leads_days: 7 })).toBe("VALIDATION_FAILED");
  expect(await refused({ by: asAdmin, reseller_id: R, transcripts_days: 3650 })).toBe("taken");
  expect(await current()).toMatchObject({ transcripts_days: 3650, set_by: { role: "admin" } });
  expect(it.audited.at(-1)).toMatchObject({ action: "retention.set", details: { transcripts_days: 3650 } });
});

test("an archive without a bucket, or without the key of its names, is refused, and nothing is changed", async () => {
  await set({ transcripts_days: 300 });
  const periods = async () => {
    const { last_run: _run, next_run_at: _next, ...set } = await current();
    return set;
  };
  const before = await periods();
  const refused = (wanted: object) =>
    it.stage.bus.call("leads.setRetention", { by, leads_days: 30, ...wanted }).then(() => "taken", codeOf);
  expect(await refused({ archive: true })).toBe("NOT_AVAILABLE");
  expect(await it.stage.bus.call("leads.dryRunRetention", { by, leads_days: 30, archive: true }).then(() => "", codeOf)).toBe("NOT_AVAILABLE"); // prettier-ignore
  for (const archive of ["yes", 1, null]) expect(await refused({ archive })).toBe("VALIDATION_FAILED");
  expect(await periods()).toEqual(before);
});

needing("plans", () => {
  test("a run reads the leads of its reseller by their ends, without sorting", async () => {
    await over(40);
    await set({ transcripts_days: 30 });
    const { started_at } = await done();
    const again = { done_to: {}, due_at: new Date(0) };
    const run = async () => {
      await it.db.collection<{ _id: string }>("retentions").updateOne({ _id: R }, { $set: again });
      await untilPassed(it.clock, "a run", 2000, async () => {
        const { last_run } = await current();
        return last_run && last_run.started_at !== started_at && last_run.finished_at !== null ? true : undefined;
      });
    };
    // sweeps ask meanwhile
    const served = await servedBy(it.stage.uri, "leads", run, (filter) => "finished_at" in filter);
    expect(served).toEqual({ index: "ended_of_reseller", sorted: false });
  });
});
