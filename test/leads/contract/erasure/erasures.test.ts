import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { asAdmin, asMerchant, asReseller, asUser, until } from "../../../../local/harness/stage.ts";
import type { ParamsOf } from "../../../../shared/bus/bus.ts";
import type { ErasureRecord } from "../../../../shared/contracts/requests/erasures.ts";
import { codeOf } from "../../../../shared/errors.ts";
import { M, R } from "../../../fixtures/leads-stage.ts";
import { erasureStage, type ErasureStage } from "../../fixtures/erasure-stage.ts";

let it: ErasureStage;
beforeAll(async () => {
  it = await erasureStage();
});
afterAll(() => it.stop());

type Asker = ParamsOf<"leads.createErasure">["by"];
const by = asMerchant(R, M);
const refusedAtPush = (phone: string): Promise<string> => it.push(phone).then(() => "taken", codeOf);
const isDone = ({ state }: ErasureRecord): boolean => state === "done";

test("a number is found nowhere afterwards, in no spelling, and is refused at push from the answer on", async () => {
  const { e164, spellings } = it.fresh();
  const other = it.fresh();
  const national = spellings[1] ?? "";
  const talked = await it.push(e164, { request_id: `call ${national}` });
  await it.settle(talked, await it.claim(talked), national);
  const file = await it.leaveCall(talked, e164);
  const waiting = await it.push(e164);
  const elsewhere = await it.push(other.e164);
  await it.leaveInbound(e164);
  await it.leaveInbound(other.e164);
  await it.stage.bus.call("blacklist.recordWish", {
    reseller_id: R,
    merchant_id: M,
    phone_number: e164,
    lead_id: talked,
    asked_at: it.clock.now().toISOString(),
  });
  await until("the report to be with the webhook service", async () => {
    await it.clock.advance(1000);
    return (await it.db.collection("deliveries").countDocuments({ lead_id: talked })) === 1 ? true : undefined;
  });
  expect((await it.foundIn(spellings)).length).toBeGreaterThan(5);

  const asked = await it.erase(e164);
  expect(asked).toMatchObject({ state: "running", finished_at: null, reseller_id: R, merchant_id: null });
  expect(await refusedAtPush(e164)).toBe("NUMBER_BLACKLISTED");
  const done = await it.reached(asked.id, "the number to be erased", isDone);
  expect(done).toMatchObject({
    waiting: 0,
    erased: {
      leads_aborted: 1,
      leads: 2,
      calls: 1,
      recordings: 1,
      carrier_callbacks: 1,
      inbound_calls: 1,
      conversation_sessions: 1,
      deliveries: 2,
      blacklist_entries: 1,
    },
  });
  expect(done.erased.events).toBeGreaterThan(2);

  expect(await it.foundIn(spellings)).toEqual([]);
  expect(await it.foundIn(["Lovelace"])).toHaveLength(1); // the other number's lead
  expect(existsSync(file)).toBe(false);
  // a client's own name for a lead is logged as it came (docs/privacy.md)
  const log = it.lines.join("").replaceAll(`call ${national}`, "");
  expect(spellings.filter((text) => log.includes(text))).toEqual([]);
  expect(await refusedAtPush(e164)).toBe("NUMBER_BLACKLISTED");
  expect(await refusedAtPush(`+49 (151) ${e164.slice(6)}`)).toBe("NUMBER_BLACKLISTED");
  const left = await it.stage.bus.call("leads.get", { by, lead_id: talked });
  expect(left).toMatchObject({ outcome: "confirmed", attempt_count: 1, request_id: "erased", payload: {} });
  expect((await it.stage.bus.call("leads.get", { by, lead_id: waiting })).outcome).toBe("ABORTED");
  expect((await it.stage.bus.call("leads.get", { by, lead_id: elsewhere })).payload).toMatchObject({
    customer_mobile_number: other.e164,
  });
  expect(it.audited.filter(({ subject }) => subject === asked.id)).toMatchObject([
    { action: "erasure.requested", reseller_id: R, details: {} },
  ]);
});

test("a live call is waited for; what comes late writes nothing back", async () => {
  const { e164, spellings } = it.fresh();
  const lead_id = await it.push(e164);
  const claim_no = await it.claim(lead_id);
  const { id } = await it.erase(e164);
  await it.reached(id, "the lead to be seen", ({ waiting }) => waiting === 1);
  await it.clock.advance(120_000);
  expect(await it.report(id)).toMatchObject({ state: "running", erased: { leads: 0 } });
  expect((await it.stage.bus.call("leads.get", { by, lead_id })).status).toBe("PROCESSING");

  await it.settle(lead_id, claim_no, e164);
  await it.leaveCall(lead_id, e164, { due_at: new Date(it.clock.now().getTime() + 10 * 3_600_000) });
  await it.clock.advance(60_000);
  expect((await it.reached(id, "the price to be awaited", ({ waiting }) => waiting === 1)).erased.leads).toBe(0);
  await it.db.collection("calls").updateOne({ lead_id }, { $unset: { due_at: 1 } });
  await it.reached(id, "the number to be erased", isDone);

  const evaluation = { trace_scores: {}, summary: `Ada has ${e164}.`, errors: [] };
  expect(await it.stage.bus.call("leads.annotate", { lead_id, claim_no, evaluation })).toEqual({ done: false });
  const recording_stored = { call_id: "CA1" };
  expect(await it.stage.bus.call("leads.annotate", { lead_id, claim_no, recording_stored })).toEqual({ done: false });
  expect(await it.foundIn(spellings)).toEqual([]);
});

test("a merchant erases its own alone, a reseller its own and its merchants', an admin every tenant's", async () => {
  const { e164 } = it.fresh();
  const listed = async (reseller_id: string, merchant_id: string | null) =>
    (await it.stage.bus.call("blacklist.check", { pairs: [{ reseller_id, merchant_id, phone_number: e164 }] }))
      .listed[0];
  const everybody = async () => [await listed(R, M), await listed(R, "m-2"), await listed(R, null), await listed("r-2", "m-3")]; // prettier-ignore
  const one = await it.erase(e164, asMerchant(R, M));
  expect(await everybody()).toEqual([true, false, false, false]);
  const some = await it.erase(e164, asReseller(R));
  expect(await everybody()).toEqual([true, true, true, false]);
  const all = await it.erase(e164, asAdmin);
  expect(await everybody()).toEqual([true, true, true, true]);
  const seen = (asker: Asker) =>
    it.stage.bus.call("leads.getErasure", { by: asker, id: all.id }).then(() => "seen", codeOf);
  expect([await seen(asAdmin), await seen(asReseller(R))]).toEqual(["seen", "ERASURE_NOT_FOUND"]);
  const entries = async (asker: Asker) =>
    (await it.stage.bus.call("blacklist.list", { by: asker, phone_number: e164 })).entries.map(({ source }) => source);
  expect(await entries(asReseller(R))).toEqual(["erasure", "erasure", "erasure"]);
  expect(JSON.stringify(await it.stage.bus.call("blacklist.list", { by: asAdmin }))).not.toContain("erasure");
  // one that is under way would list the number again
  for (const { id } of [one, some]) await it.reached(id, "the number to be erased", isDone);
  await it.stage.bus.call("blacklist.remove", { by: asReseller(R), phone_numbers: [e164] });
  expect(await entries(asReseller(R))).toEqual(["erasure"]);
});

test("asked for twice it is one erasure; who may not, and what is no number, changes nothing", async () => {
  const { e164 } = it.fresh();
  const first = await it.erase(e164);
  expect((await it.erase(e164)).id).toBe(first.id);
  const refused = (params: Partial<ParamsOf<"leads.createErasure">>) =>
    it.stage.bus
      .call("leads.createErasure", { by: asReseller(R), phone_number: e164, ...params })
      .then(() => "taken", codeOf);
  expect(await refused({ phone_number: "12345" })).toBe("INVALID_PHONE_NUMBER");
  expect(await refused({ reseller_id: "another" })).toBe("FORBIDDEN");
  expect(await refused({ by: asUser(R, M) })).toBe("FORBIDDEN");
  expect(await refused({ by: asAdmin, reseller_id: "another" })).toBe("RESELLER_NOT_FOUND");
});

test("a call to us that is being judged is waited for; one that nobody judged, ten minutes", async () => {
  const { e164, spellings } = it.fresh();
  const eightMinutesAgo = new Date(it.clock.now().getTime() - 480_000);
  await it.leaveInbound(e164, { judged_at: null, verdict: null, created_at: eightMinutesAgo });
  const { id, created_at } = await it.erase(e164);
  const { finished_at } = await it.reached(id, "the number to be erased", isDone);
  expect(Date.parse(finished_at ?? "") - Date.parse(created_at)).toBeGreaterThan(120_000);
  expect((await it.report(id)).erased.inbound_calls).toBe(1);
  expect(await it.foundIn(spellings)).toEqual([]);
});

test("leads of the other spelling of the phone are erased too, and found by either", async () => {
  const lead_id = await it.push("+5491151234901");
  const found = await it.stage.bus.call("leads.list", { by, phone: "+541151234901" });
  expect(found.leads.map((lead) => lead.id)).toEqual([lead_id]);
  await it.leaveInbound("+5491151234901");
  const asked = await it.erase("+541151234901");
  const done = await it.reached(asked.id, "the phone to be erased", isDone);
  expect(done.erased).toMatchObject({ leads: 1, inbound_calls: 1 });
  expect(await it.foundIn(["+5491151234901"])).toEqual([]);
  expect(await refusedAtPush("+5491151234901")).toBe("NUMBER_BLACKLISTED");
});
