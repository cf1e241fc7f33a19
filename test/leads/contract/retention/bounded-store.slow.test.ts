import { readdirSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { asReseller, until } from "../../../../local/harness/stage.ts";
import { R } from "../../../fixtures/leads-stage.ts";
import { S3_ACCOUNT, startS3, type S3Server } from "../../../fixtures/s3-server.ts";
import { erasureStage, type ErasureStage } from "../../fixtures/erasure-stage.ts";
import { writeOver } from "../../fixtures/over-leads.ts";

/** 400 days of a tenant that keeps records for a while: what is stored stops growing, and the figures of the year stay. */
const DAY_MS = 86_400_000;
/** No lead is exactly as old as a period. */
const HOUR_MS = 3_600_000;
const DAYS = 400;
/** Days from one look to the next; a run of retention is due once a day. */
const STEP = 10;
const PER_STEP = 3;
const KEPT = { recordings_days: 20, transcripts_days: 40, deliveries_days: 30, leads_days: 60 };
const TEST_MS = 180_000;

let it: ErasureStage;
let bucket: S3Server;
let folder = "";
beforeAll(async () => {
  bucket = await startS3();
  it = await erasureStage({
    SWEEP_INTERVAL_MS: "60000",
    S3_BUCKET: S3_ACCOUNT.bucket,
    S3_ENDPOINT: bucket.url,
    S3_ACCESS_KEY_ID: S3_ACCOUNT.access_key_id,
    S3_SECRET_ACCESS_KEY: S3_ACCOUNT.secret_access_key,
  });
  folder = it.stage.env.RECORDINGS_DIR;
  await it.stage.bus.call("leads.setRetention", { by, ...KEPT, archive: true });
});
afterAll(async () => {
  await it.stop();
  await bucket.stop();
});
const by = asReseller(R);

/** Figures, which stay; and what the database itself deletes by its own clock, with a fixed term. */
const APART = new Set(["lead_counters", "carrier_events", "deployment_clock"]);

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
  "400 days of calls leave no more behind than the periods say, the figures of all days, and an archive of all that has ended",
  async () => {
    const began = it.clock.now();
    const most = { bytes: 0, leads: 0, calls: 0, deliveries: 0, conversation_sessions: 0, recordings: 0 };
    for (let day = 0; day < DAYS; day += STEP) {
      await Promise.all(Array.from({ length: PER_STEP }, () => writeOver(it, HOUR_MS)));
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
    const inArchive = (file: RegExp) => [...bucket.objects.keys()].filter((key) => file.test(key)).length;
    const { documents: last } = await stored();
    expect(inArchive(/\/lead-/)).toBe((DAYS / STEP) * PER_STEP - (last["leads"] ?? 0));
    expect(inArchive(/\/deliveries-/)).toBe((DAYS / STEP) * PER_STEP - (last["deliveries"] ?? 0));
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
