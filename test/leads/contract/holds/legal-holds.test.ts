import { existsSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { asAdmin, asMerchant, asReseller } from "../../../../local/harness/stage.ts";
import type { ParamsOf } from "../../../../shared/bus/bus.ts";
import type { ErasureRecord } from "../../../../shared/contracts/requests/erasures.ts";
import type { LegalHoldRecord } from "../../../../shared/contracts/requests/legal-holds.ts";
import { erasureSchema } from "../../../../services/leads/erasure/erasures.model.ts";
import { erasuresRepository, type Erasures } from "../../../../services/leads/erasure/erasures.repository.ts";
import { openStore } from "../../../../shared/database/mongo.ts";
import { codeOf } from "../../../../shared/errors.ts";
import { M, R } from "../../../fixtures/leads-stage.ts";
import { untilPassed } from "../../../fixtures/virtual-clock.ts";
import { erasureStage, type ErasureStage } from "../../fixtures/erasure-stage.ts";
import { leaveOver } from "../../fixtures/over-leads.ts";

let it: ErasureStage;
let store: ReturnType<typeof openStore>;
let erasures: Erasures;
beforeAll(async () => {
  it = await erasureStage();
  store = openStore(it.stage.env.MONGODB_URI);
  erasures = erasuresRepository(store.model("erasures", erasureSchema));
  await store.open();
});
afterAll(async () => {
  await store.close();
  await it.stop();
});
/** When the oldest erasures were asked for that are under way, and that are held: what CallagentErasureUnfinished (deploy/observability/alerts.yml) is raised by. */
const oldest = async () => [await erasures.oldest(false), await erasures.oldest(true)];

const by = asReseller(R);
const put = (over: Partial<ParamsOf<"leads.putLegalHold">> = {}): Promise<LegalHoldRecord> =>
  it.stage.bus.call("leads.putLegalHold", { by: asAdmin, reseller_id: R, reason: "case 1", ...over });
const lift = (id: string): Promise<LegalHoldRecord> =>
  it.stage.bus.call("leads.liftLegalHold", { by: asAdmin, id, reason: "case 1 is closed" });
const keepFor = (days: number | null) =>
  it.stage.bus.call("leads.setRetention", { by, ...(days === null ? {} : { leads_days: days }) });
const isThere = (lead_id: string): Promise<boolean> =>
  it.stage.bus.call("leads.get", { by: asMerchant(R, M), lead_id }).then(() => true, () => false); // prettier-ignore
const isDone = ({ state }: ErasureRecord): boolean => state === "done";
const refused = (phone: string, asker: Parameters<ErasureStage["erase"]>[1]) =>
  it.erase(phone, asker).then(() => "taken", codeOf);
const run = () =>
  untilPassed(it.clock, "the run to be done", 2000, async () => {
    const { last_run } = await it.stage.bus.call("leads.getRetention", { by });
    return last_run !== null && last_run.finished_at !== null ? last_run : undefined;
  });

beforeEach(async () => {
  await keepFor(null);
  const { legal_holds } = await it.stage.bus.call("leads.listLegalHolds", { by: asAdmin, state: "active" });
  for (const { id } of legal_holds) await lift(id);
  await it.db.collection("leads").deleteMany({});
});

test("what is said of a held number is neither ended nor erased, other numbers are; lifted, it may be, and the hold forgets the number", async () => {
  const number = it.fresh();
  const [held, other] = [await leaveOver(it, 40, number), await leaveOver(it, 40)];
  const { id } = await put({ phone_number: number.e164 });
  await keepFor(30);
  expect((await run()).waiting).toBe(1);
  expect([await isThere(held.lead_id), await isThere(other.lead_id)]).toEqual([true, false]);
  expect(existsSync(held.file)).toBe(true);

  for (const asker of [asMerchant(R, M), asReseller(R), asAdmin])
    expect(await refused(number.e164, asker)).toBe("LEGAL_HOLD");
  const said = await it.erase(number.e164).then(() => "", String);
  expect(said).toContain(id);
  expect(said).toContain("POST /legal-holds/{id}/lift");
  expect(await refused(it.fresh().e164, asReseller(R))).toBe("taken");
  // nothing of the request took effect
  const listed = await it.stage.bus.call("blacklist.check", {
    pairs: [{ reseller_id: R, merchant_id: M, phone_number: number.e164 }],
  });
  expect(listed.listed).toEqual([false]);

  expect(await lift(id)).toMatchObject({ state: "lifted", covers: "number", phone_number: null });
  await keepFor(null);
  const erased = await it.erase(number.e164);
  await it.reached(erased.id, "the number to be erased", isDone);
  expect(await it.foundIn(number.spellings)).toEqual([]);
  expect(existsSync(held.file)).toBe(false);
});

test("a hold on a phone covers every spelling of it", async () => {
  const held = await leaveOver(it, 40, { e164: "+5491151234801", spellings: [] });
  const { id } = await put({ phone_number: "+541151234801" });
  expect(await refused("+5491151234801", asReseller(R))).toBe("LEGAL_HOLD");
  await keepFor(30);
  await run();
  expect(await isThere(held.lead_id)).toBe(true);
  await lift(id);
});

test("a hold put while an erasure is under way stops it before its next step; lifted, it goes on", async () => {
  const { e164, spellings } = it.fresh();
  const lead_id = await it.push(e164);
  const claim_no = await it.claim(lead_id);
  const { id } = await it.erase(e164);
  await it.reached(id, "the lead to be seen", ({ waiting }) => waiting === 1);
  const asked_at = new Date((await it.report(id)).created_at);
  expect(await oldest()).toEqual([asked_at, null]);
  const hold = await put({ phone_number: e164 });
  await it.settle(lead_id, claim_no, spellings[1] ?? "");
  await it.reached(id, "the hold to be seen", ({ held_by }) => held_by === hold.id);
  await it.clock.advance(600_000);
  expect(await it.report(id)).toMatchObject({ state: "running", held_by: hold.id, erased: { leads: 0 } });
  expect((await it.foundIn(spellings)).length).toBeGreaterThan(2);
  expect(await oldest()).toEqual([null, asked_at]);
  await lift(hold.id);
  expect((await it.reached(id, "the number to be erased", isDone)).held_by).toBe(null);
  expect(await oldest()).toEqual([null, null]);
  expect(await it.foundIn(spellings)).toEqual([]);
});

test("a hold on a reseller put in the middle of a run of retention is respected before its next batch", async () => {
  const [first, second] = [await leaveOver(it, 60), await leaveOver(it, 50)];
  await keepFor(3650);
  await run();
  const started_at = it.clock.now();
  const after = { finished_at: first.finished_at, lead_id: first.lead_id };
  const under_way = { started_at, finished_at: null, kind: "leads", after, waiting: 0, ended: { leads: 1 } };
  const { id } = await put();
  await it.db
    .collection<{ _id: string }>("retentions")
    .updateOne({ _id: R }, { $set: { run: under_way, "days.leads_days": 30, due_at: started_at } });
  expect(await run()).toMatchObject({ waiting: 1, ended: { leads: 1 } });
  expect(await isThere(second.lead_id)).toBe(true);
  const counted = await it.stage.bus.call("leads.dryRunRetention", { by, leads_days: 30 });
  expect(counted.kinds.map(({ leads }) => leads)).toEqual([0]);
  expect(await refused(it.fresh().e164, asAdmin)).toBe("LEGAL_HOLD");
  await lift(id);
  await keepFor(30);
  await run();
  expect([await isThere(first.lead_id), await isThere(second.lead_id)]).toEqual([false, false]);
});

test("one of two holds that is lifted leaves the other in force; the dry run leaves held numbers out", async () => {
  const number = it.fresh();
  await leaveOver(it, 40, number);
  await leaveOver(it, 40);
  const [one, two] = [await put({ phone_number: number.e164 }), await put({ phone_number: number.e164 })];
  await lift(one.id);
  expect(await lift(one.id)).toMatchObject({ state: "lifted" });
  expect(await refused(number.e164, asReseller(R))).toBe("LEGAL_HOLD");
  const { kinds } = await it.stage.bus.call("leads.dryRunRetention", { by, leads_days: 30 });
  expect(kinds.map(({ leads }) => leads)).toEqual([1]);
  await lift(two.id);
  expect(await refused(number.e164, asReseller(R))).toBe("taken");
});

test("an admin alone puts and lifts, with a reason that the audit log has; the reseller sees its own", async () => {
  const code = (of: Promise<unknown>) => of.then(() => "taken", codeOf);
  expect(await code(put({ by }))).toBe("FORBIDDEN");
  expect(await code(put({ reseller_id: "another" }))).toBe("RESELLER_NOT_FOUND");
  expect(await code(put({ phone_number: "12345" }))).toBe("INVALID_PHONE_NUMBER");
  const { e164 } = it.fresh();
  const { id } = await put({ phone_number: e164 });
  expect(await code(it.stage.bus.call("leads.liftLegalHold", { by, id, reason: "x" }))).toBe("FORBIDDEN");
  const read = (asker: ParamsOf<"leads.getLegalHold">["by"]) =>
    it.stage.bus.call("leads.getLegalHold", { by: asker, id }).then(({ reason }) => reason, codeOf);
  expect([await read(by), await read(asAdmin)]).toEqual(["case 1", "case 1"]);
  expect([await read(asReseller("r-2")), await read(asMerchant(R, M))]).toEqual(["LEGAL_HOLD_NOT_FOUND", "FORBIDDEN"]);
  await lift(id);
  const { legal_holds } = await it.stage.bus.call("leads.listLegalHolds", { by, state: "lifted" });
  expect(legal_holds.find((hold) => hold.id === id)).toMatchObject({
    lift_reason: "case 1 is closed",
    lifted_by: { role: "admin" },
  });
  const told = it.audited.filter(({ subject }) => subject === id);
  expect(told.map(({ action, details }) => [action, details?.["reason"]])).toEqual([
    ["legal_hold.put", "case 1"],
    ["legal_hold.lifted", "case 1 is closed"],
  ]);
  expect(JSON.stringify(told)).not.toContain(e164);
});
