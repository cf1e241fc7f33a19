import { randomUUID } from "node:crypto";
import { zstdDecompressSync } from "node:zlib";
import type { Document } from "mongodb";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { asAdmin, asMerchant, asReseller, until } from "../../../../local/harness/stage.ts";
import type { ParamsOf } from "../../../../shared/bus/bus.ts";
import { codeOf } from "../../../../shared/errors.ts";
import { isRecord } from "../../../../shared/json.ts";
import { M, R } from "../../../fixtures/leads-stage.ts";
import { S3_ACCOUNT, startS3, type S3Server } from "../../../fixtures/s3-server.ts";
import { untilPassed } from "../../../fixtures/virtual-clock.ts";
import { writeOver } from "../../fixtures/over-leads.ts";
import { erasureStage, type ErasureStage } from "../../fixtures/erasure-stage.ts";

/** What retention ends is in the archive before it goes; an erasure finds it there by the hash of the number. */
const DAY_MS = 86_400_000;
let it: ErasureStage;
let bucket: S3Server;
beforeAll(async () => {
  bucket = await startS3();
  it = await erasureStage({
    S3_BUCKET: S3_ACCOUNT.bucket,
    S3_ENDPOINT: bucket.url,
    S3_ACCESS_KEY_ID: S3_ACCOUNT.access_key_id,
    S3_SECRET_ACCESS_KEY: S3_ACCOUNT.secret_access_key,
  });
});
afterAll(async () => {
  await it.stop();
  await bucket.stop();
});

const by = asReseller(R);
type Wanted = Omit<ParamsOf<"leads.setRetention">, "by">;
const set = (wanted: Wanted) => it.stage.bus.call("leads.setRetention", { by, ...wanted });
const current = () => it.stage.bus.call("leads.getRetention", { by });
const isThere = (lead_id: string): Promise<boolean> =>
  it.stage.bus.call("leads.get", { by: asMerchant(R, M), lead_id }).then(() => true, () => false); // prettier-ignore

beforeEach(async () => {
  await set({});
  await it.db.collection("leads").deleteMany({});
  bucket.objects.clear();
  bucket.pageSize = 1000;
});

/** The run that is under way. The clock stands while a pass writes: what is not written to the bucket within 45 s is tried again. */
const run = () =>
  untilPassed(it.clock, "the run to be done", 1000, async () => {
    const { last_run } = await current();
    return last_run?.finished_at ? last_run : undefined;
  });

/** Keys of the files of a lead, without what names a file's contents. */
const files = (lead_id: string): string[] =>
  [...bucket.objects.keys()]
    .filter((key) => key.includes(`/${lead_id}/`))
    .map((key) => key.slice(key.lastIndexOf("/") + 1).replace(/-[0-9a-f]{16}\./, "."))
    .sort();
const linesOf = (body: Buffer): Document[] =>
  zstdDecompressSync(body)
    .toString("utf8")
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line))
    .filter(isRecord);
/** What the archive says of a lead. */
const archived = (lead_id: string): Document[] =>
  [...bucket.objects]
    .filter(([key]) => key.includes(`/${lead_id}/`) && key.endsWith(".ndjson.zst"))
    .flatMap(([, { body }]) => linesOf(body));
const oneOf = (lead_id: string, record: string): Document | undefined =>
  archived(lead_id).find((line) => line["record"] === record);

test("a lead is in the archive with all that belongs to it before it ends, and the number stands in no name", async () => {
  const number = it.fresh();
  const { lead_id } = await writeOver(it, 40 * DAY_MS, number);
  expect(await set({ leads_days: 30, archive: true })).toMatchObject({ archive: true, leads_days: 30 });
  expect((await run()).ended).toMatchObject({ leads: 1, calls: 1, recordings: 1, deliveries: 1, archived: 4 });
  expect(await isThere(lead_id)).toBe(false);
  expect(files(lead_id)).toEqual([`${lead_id}.1.wav`, "calls.ndjson.zst", "deliveries.ndjson.zst", "lead.ndjson.zst"].sort()); // prettier-ignore
  const [key = ""] = bucket.objects.keys();
  expect(key).toMatch(new RegExp(`^archive/${R}/[\\w-]{12}/[\\w-]{43}/${M}/${lead_id}/`));
  expect([...bucket.objects.keys()].filter((name) => number.spellings.some((text) => name.includes(text)))).toEqual([]);

  expect(
    archived(lead_id)
      .map((line) => line["record"])
      .sort(),
  ).toEqual(["call", "delivery", "history", "lead", "metaData", "payload", "transcript", "variables"]);
  expect(oneOf(lead_id, "lead")).toMatchObject({ id: lead_id, outcome: "confirmed", phone_number: number.e164 });
  expect(oneOf(lead_id, "payload")).toMatchObject({ payload: { customer_name: expect.any(String) } });
  expect(JSON.stringify(oneOf(lead_id, "transcript"))).toContain("I am Ada");
  expect(oneOf(lead_id, "call")).toMatchObject({ to: number.e164, recording: `${lead_id}.1.wav` });
  expect(oneOf(lead_id, "delivery")).toMatchObject({ state: "delivered", event: { data: { outcome: "confirmed" } } });
  const sound = [...bucket.objects].find(([name]) => name.endsWith(".wav"));
  expect(sound?.[1]).toMatchObject({ content_type: "audio/wav", body: Buffer.from("sound") });
});

test("each kind is archived as it ends: the words first, then the rest of the lead without them", async () => {
  const { lead_id } = await writeOver(it, 40 * DAY_MS);
  await set({ transcripts_days: 30, archive: true });
  expect((await run()).ended).toMatchObject({ transcripts: 1, archived: 1, leads: 0 });
  expect(files(lead_id)).toEqual(["transcript.ndjson.zst"]);
  await set({ leads_days: 30, recordings_days: 30, deliveries_days: 30, archive: true });
  expect((await run()).ended).toMatchObject({ leads: 1, archived: 4 });
  expect(archived(lead_id).filter((line) => line["record"] === "transcript")).toHaveLength(1);
  expect(oneOf(lead_id, "metaData")).toMatchObject({ metaData: { transcript_ended_at: expect.any(String) } });
  expect(oneOf(lead_id, "call")).toMatchObject({ recording: null });
});

test("without the archive nothing is written, and a dry run says whether it would be; nothing ends by it", async () => {
  const { lead_id } = await writeOver(it, 40 * DAY_MS);
  const dryRun = (wanted: Wanted) => it.stage.bus.call("leads.dryRunRetention", { by, ...wanted });
  expect(await dryRun({ leads_days: 30, archive: true })).toMatchObject({ archive: true, kinds: [{ leads: 1 }] });
  expect(await dryRun({ leads_days: 30 })).toMatchObject({ archive: false, kinds: [{ leads: 1 }] });
  await set({ leads_days: 60, archive: true });
  expect(await dryRun({})).toMatchObject({ archive: true, kinds: [{ leads: 0 }] });
  await run();
  expect([await isThere(lead_id), bucket.objects.size]).toEqual([true, 0]);
  await set({ leads_days: 30 });
  expect((await run()).ended).toMatchObject({ leads: 1, archived: 0 });
  expect(bucket.objects.size).toBe(0);
  expect(it.audited.at(-1)).toMatchObject({ action: "retention.set", details: { leads_days: 30, archive: false } });
});

test("what the bucket does not take does not end; it is asked again", async () => {
  const { lead_id } = await writeOver(it, 40 * DAY_MS);
  bucket.failing = 1000;
  await set({ leads_days: 30, archive: true });
  await until("the bucket to refuse", () => (bucket.failing < 1000 ? true : undefined));
  await until("the run to stop for now", () => (it.lines.some((line) => line.includes("did not take an object")) ? true : undefined)); // prettier-ignore
  expect([await isThere(lead_id), bucket.objects.size]).toEqual([true, 0]);
  expect(await it.db.collection("calls").countDocuments({ lead_id })).toBe(1);
  bucket.failing = 0;
  await it.clock.advance(125_000);
  expect((await run()).ended).toMatchObject({ leads: 1 });
  expect(files(lead_id)).toHaveLength(4);
});

test("a process that dies between archive and end writes the same files again, and where a part had ended, the whole stays", async () => {
  const { lead_id } = await writeOver(it, 40 * DAY_MS);
  const documents = (name: string) => it.db.collection<Document & { _id: string }>(name);
  const [call] = await documents("calls").find({ lead_id }).toArray();
  const again = { ...call, _id: `${lead_id}.2`, carrier_call_id: randomUUID(), recording: null };
  await documents("calls").insertOne(again);
  const kept = {
    leads: await documents("leads").find({ _id: lead_id }).toArray(),
    deliveries: await documents("deliveries").find({ lead_id }).toArray(),
    calls: await documents("calls").find({ lead_id }).toArray(),
  };
  await set({ leads_days: 30, archive: true });
  await run();
  const before = new Map(bucket.objects);
  for (const [name, docs] of Object.entries(kept)) await documents(name).insertMany(docs);
  await set({ leads_days: 30, archive: true });
  expect((await run()).ended).toMatchObject({ leads: 1, calls: 2 });
  expect([...bucket.objects.keys()].sort()).toEqual([...before.keys()].sort());

  // of the two calls one had gone already
  await documents("leads").insertMany(kept.leads);
  await documents("calls").insertMany(kept.calls.slice(1));
  await set({ leads_days: 30, archive: true });
  await run();
  const calls = archived(lead_id).filter((line) => line["record"] === "call");
  expect(new Set(calls.map((line) => String(line["call_ref"])))).toEqual(new Set([`${lead_id}.1`, `${lead_id}.2`]));
  for (const [key, { body }] of before) expect(bucket.objects.get(key)?.body).toEqual(body);
});

test("an erasure deletes what the archive has of the number in its scope, page by page, and nothing of others", async () => {
  const number = it.fresh();
  const [first, second, other] = [await writeOver(it, 40 * DAY_MS, number), await writeOver(it, 41 * DAY_MS, number), await writeOver(it, 42 * DAY_MS)]; // prettier-ignore
  await set({ leads_days: 30, archive: true });
  await run();
  const elsewhere = [...bucket.objects.keys()].filter((key) => key.includes(first.lead_id));
  for (const key of elsewhere) {
    bucket.objects.set(key.replace(`/${M}/`, "/another/"), { body: Buffer.from(""), content_type: "" });
    bucket.objects.set(key.replace(`archive/${R}/`, "archive/another/"), { body: Buffer.from(""), content_type: "" });
  }
  bucket.pageSize = 2;
  const done = async (asker: ParamsOf<"leads.createErasure">["by"]) => {
    const { id } = await it.erase(number.e164, asker);
    return untilPassed(it.clock, "the number to be erased", 20_000, async () => {
      const erasure = await it.stage.bus.call("leads.getErasure", { by: asker, id });
      return erasure.state === "done" ? erasure.erased : undefined;
    });
  };
  expect(await done(asMerchant(R, M))).toMatchObject({ archives: 8, leads: 0 });
  expect([files(first.lead_id).length, files(second.lead_id), files(other.lead_id).length]).toEqual([8, [], 4]);
  expect(await done(asReseller(R))).toMatchObject({ archives: 4 });
  expect([...bucket.objects.keys()].filter((key) => !key.includes(other.lead_id)).every((key) => key.startsWith("archive/another/"))).toBe(true); // prettier-ignore
  expect(await done(asAdmin)).toMatchObject({ archives: 4 });
  expect([...bucket.objects.keys()].every((key) => key.includes(other.lead_id))).toBe(true);
});

test("a lead whose number is being erased is not archived: the erasure has it first", async () => {
  const number = it.fresh();
  const { lead_id } = await writeOver(it, 40 * DAY_MS, number);
  const live = await it.push(number.e164);
  await it.claim(live);
  const { id } = await it.erase(number.e164);
  await it.reached(id, "one lead to be waited for", ({ waiting }) => waiting === 1);
  await it.db
    .collection<{ _id: string }>("leads")
    .updateOne({ _id: lead_id }, { $set: { phone_number: number.e164, "payload.customer_name": "Ada Lovelace" } });
  await set({ leads_days: 30, archive: true });
  expect(await run()).toMatchObject({ waiting: 1, ended: { archived: 0, leads: 0 } });
  expect(bucket.objects.size).toBe(0);
});

test("a legal hold keeps its number out of the archive and in it, until it is lifted", async () => {
  const [held, gone] = [it.fresh(), it.fresh()];
  const { lead_id } = await writeOver(it, 40 * DAY_MS, held);
  const old = await writeOver(it, 40 * DAY_MS, gone);
  const put = (phone_number: string) =>
    it.stage.bus.call("leads.putLegalHold", { by: asAdmin, reseller_id: R, phone_number, reason: "case 1" });
  await put(held.e164);
  await set({ leads_days: 30, archive: true });
  expect(await run()).toMatchObject({ waiting: 1, ended: { leads: 1 } });
  expect([files(lead_id), files(old.lead_id).length, await isThere(lead_id)]).toEqual([[], 4, true]);
  const { id } = await put(gone.e164);
  expect(await it.erase(gone.e164).then(() => "taken", codeOf)).toBe("LEGAL_HOLD");
  expect(files(old.lead_id)).toHaveLength(4);
  await it.stage.bus.call("leads.liftLegalHold", { by: asAdmin, id, reason: "case 1 is closed" });
  const erasure = await it.erase(gone.e164);
  await it.reached(erasure.id, "the number to be erased", ({ state }) => state === "done");
  expect(files(old.lead_id)).toEqual([]);
});
