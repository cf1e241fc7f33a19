import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import type { Document } from "mongodb";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { documentOf } from "../../../../services/leads/push/lead-document.ts";
import type { LeadDoc } from "../../../../services/leads/leads.model.ts";
import { asReseller, until } from "../../../../local/harness/stage.ts";
import { leadInput, M, R, resolvedTemplate } from "../../../fixtures/leads-stage.ts";
import { erasureStage, type ErasureStage } from "../../fixtures/erasure-stage.ts";

/** 400 days of a tenant that keeps records for a while: what is stored stops growing, and the figures of the year stay. */
const DAY_MS = 86_400_000;
const DAYS = 400;
/** Days from one look to the next; a run of retention is due once a day. */
const STEP = 10;
const PER_STEP = 5;
const KEPT = { recordings_days: 20, transcripts_days: 40, deliveries_days: 30, leads_days: 60 };
const TEST_MS = 60_000;

let it: ErasureStage;
let folder = "";
beforeAll(async () => {
  it = await erasureStage({ SWEEP_INTERVAL_MS: "60000" });
  folder = it.stage.env.RECORDINGS_DIR;
  await it.stage.bus.call("leads.setRetention", { by, ...KEPT });
});
afterAll(() => it.stop());
const by = asReseller(R);

/** Figures, which stay; and what the database itself deletes by its own clock, with a fixed term. */
const APART = new Set(["lead_counters", "carrier_events", "deployment_clock"]);

/** A lead that has ended now, as its calls leave it behind: with a recording, a delivered report, what was said and what the carrier told. */
async function leaveLead(): Promise<void> {
  const now = it.clock.now();
  const { e164 } = it.fresh();
  const _id = randomUUID();
  const input = { ...leadInput(), request_id: _id };
  const { outbox: _told, outbox_at: _owed, ...lead } = documentOf(_id, M, input, resolvedTemplate, e164, now);
  const said = "I would like to move the appointment to Thursday. ".repeat(20);
  await it.db.collection<LeadDoc>("leads").insertOne({
    ...lead,
    status: "FINISHED",
    outcome: "confirmed",
    finished_at: new Date(now.getTime() - 3_600_000), // no lead is exactly as old as a period
    attempt_count: 1,
    answered_count: 1,
    costs: { "1": 0.25 },
    recording_url: "https://calls.example/r",
    meta: { transcription: [{ role: "user", content: said }] },
  });
  await it.leaveCall(_id, e164);
  await it.db.collection<Document & { _id: string }>("deliveries").insertOne({
    _id: randomUUID(),
    lead_id: _id,
    reseller_id: R,
    merchant_id: M,
    state: "delivered",
    try_count: 1,
    tries: [],
    created_at: now,
    body: JSON.stringify({ data: { metaData: { transcription: [{ role: "user", content: said }] } } }),
  });
}

/** Documents of each collection, bytes of all of them as JSON, and recordings. */
async function stored() {
  const documents: Record<string, number> = {};
  let bytes = 0;
  for (const { name } of await it.db.listCollections().toArray()) {
    const docs = await it.db.collection(name).find().toArray();
    documents[name] = docs.length;
    if (!APART.has(name)) bytes += JSON.stringify(docs).length;
  }
  const files = readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith(".wav"));
  return { documents, bytes, recordings: files.length };
}

test(
  "400 days of calls leave no more behind than the periods say, and the figures of all days",
  async () => {
    const began = it.clock.now();
    const most = { bytes: 0, leads: 0, calls: 0, deliveries: 0, conversation_sessions: 0, recordings: 0 };
    for (let day = 0; day < DAYS; day += STEP) {
      await Promise.all(Array.from({ length: PER_STEP }, leaveLead));
      await it.clock.advance(STEP * DAY_MS);
      const now = it.clock.now().getTime();
      let asked = 0;
      await until("the day's run", async () => {
        // the sweep has begun with the days that went by, or else begins with this minute
        if (++asked % 10 === 0) await it.clock.advance(60_000);
        const { last_run } = await it.stage.bus.call("leads.getRetention", { by });
        const began_at = Date.parse(last_run?.started_at ?? "");
        return began_at >= now && last_run?.finished_at ? true : undefined;
      });
      if (day % (10 * STEP) !== 9 * STEP) continue;
      const { documents, bytes, recordings } = await stored();
      const { leads = 0, calls = 0, deliveries = 0, conversation_sessions = 0 } = documents;
      const seen = { bytes, leads, calls, deliveries, conversation_sessions, recordings };
      if (most.leads === 0) Object.assign(most, seen);
      // as much as after the first hundred days, but for what lengths of numbers and times make
      expect({ ...seen, bytes: 0 }).toEqual({ ...most, bytes: 0 });
      expect(bytes).toBeLessThan(most.bytes * 1.02);
    }
    const perPeriod = (days: number) => (days / STEP) * PER_STEP;
    expect(most).toMatchObject({
      leads: perPeriod(KEPT.leads_days - STEP),
      calls: perPeriod(KEPT.leads_days - STEP),
      deliveries: perPeriod(KEPT.deliveries_days - STEP),
      recordings: perPeriod(KEPT.recordings_days - STEP),
    });
    const from = new Date(Math.floor(began.getTime() / DAY_MS) * DAY_MS);
    const to = new Date(from.getTime() + 365 * DAY_MS);
    const period = { from: from.toISOString(), to: to.toISOString() };
    const year = await it.stage.bus.call("leads.summary", { by, ...period });
    const leads = Math.ceil(365 / STEP) * PER_STEP;
    expect(year).toMatchObject({ leads, answered: leads, cost: leads * 0.25, by_outcome: { confirmed: leads } });
    expect((await stored()).documents["lead_counters"]).toBeLessThanOrEqual(DAYS / STEP);
  },
  TEST_MS,
);
