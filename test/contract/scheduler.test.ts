import scheduler from "../../services/scheduler/scheduler.service.ts";
import { Failure } from "../../shared/errors.ts";
import type { ParamsOf } from "../../shared/bus.ts";
import type { ConfigurationRecord } from "../../shared/contracts/configuration.ts";
import type { DueLead } from "../../shared/contracts/lead.ts";
import { setStage, standIn, until, type Stage } from "../support/stage.ts";
import { virtualClock } from "../support/virtual-clock.ts";

const T = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const N = "22222222-2222-4222-8222-222222222222";
const clock = virtualClock();
const iso = (s = 0): string => new Date(clock.now().getTime() + s * 1000).toISOString();
const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

let due: DueLead[] = [];
let configuration: Partial<ConfigurationRecord> = {};
let line: "free" | "taken" = "free";
let dial: (order: ParamsOf<"dialer.dial">) => void = () => undefined;
let claimWins = true;
const told: { what: string; p: Record<string, unknown> }[] = [];
const note = (what: string) => (p: object): Record<string, never> => { told.push({ what, p: { ...p } }); return {}; };
const ofKind = (what: string) => told.filter((t) => t.what === what).map((t) => t.p);
let stage: Stage;

const record = (): ConfigurationRecord => ({
  id: N, reseller_id: "r", merchant_id: "m", template_id: T, template: "t", initial_offset: 0, retry_offset: 5, call_start_time: "00:00", call_end_time: "00:00", timezone: "UTC",
  max_retry: 1, calling_provider: "PROVIDER_ONE", enable_calling: true, enable_international_call: true, enable_inbound: false, inbound_call_start_time: null, inbound_call_end_time: null,
  inbound_call_timezone: null, inbound_block_action: "REJECT", inbound_redirect_number: null, inbound_block_message: null, enforce_blacklist: true, rate_limit_enabled: false,
  rate_limit_max_calls: null, rate_limit_window_seconds: 3600, rate_limit_whitelist: [], pre_checks: [], created_at: iso(), updated_at: iso(), ...configuration,
});
const lead = (n: number, over: Partial<DueLead> = {}): DueLead => ({
  lead_id: id(n), status: "BACKLOG", due_at: iso(), created_at: iso(), reseller_id: "r", merchant_id: "m", template_id: T, phone_number: "+14155552601", attempt_count: 0, claim_no: 0,
  execution_mode: "TELEPHONY", configurations_override: null, ...over,
});

beforeAll(async () => {
  stage = await setStage({
    clock,
    services: [
      scheduler,
      standIn("leads", {
        due: () => { const now = due; due = []; return { leads: now }; },
        defer: (p) => { note("defer")(p); return { deferred: p.items.length }; },
        drop: (p) => { note("drop")(p); return { done: true }; },
        release: (p) => { note("leads.release")(p); return { done: true }; },
        claim: (p) => { note("claim")(p); return claimWins ? { lead_id: p.lead_id, claim_no: p.claim_no + 1, attempt_count: 1, reseller_id: "r", merchant_id: "m", template_id: T, phone_number: "+14155552601", payload: {}, execution_mode: "TELEPHONY" } : null; },
      }),
      standIn("config", {
        plans: ({ template_ids }) => ({ plans: template_ids.map((template_id) => ({ template_id, version: 7, is_active: true, max_age_seconds: 3600, max_call_seconds: 120, retry_on: null, configuration: record() })) }),
        overridden: ({ override }) => ({ configuration: { ...record(), ...override } }),
      }),
      standIn("blacklist", { check: ({ pairs }) => ({ listed: pairs.map((p) => p.phone_number.endsWith("99")) }) }),
      standIn("numbers", { reserve: (p) => { note("reserve")(p); return line === "free" ? { id: N, phone_number: "+14155550100", provider: p.provider } : null; }, release: note("numbers.release"), any: () => ({ any: true }) }),
      standIn("dialer", { dial: (p) => { note("dial")(p); dial(p); return {}; } }),
    ],
  });
});
afterAll(() => stage.stop());
beforeEach(() => { told.length = 0; configuration = {}; line = "free"; dial = () => undefined; claimWins = true; });

async function pass(leads: DueLead[]): Promise<void> {
  due = leads;
  await until("the pass", async () => { await clock.advance(1000); return due.length === 0 || undefined; });
}
const seen = (what: string, n = 1) => until(`${n} × ${what}`, () => (ofKind(what).length >= n ? ofKind(what) : undefined));

test("a due lead gets a line, is claimed and handed to the dialler with its snapshot", async () => {
  await pass([lead(1)]);
  const [order] = await seen("dial");
  expect(order).toMatchObject({ lead_id: id(1), claim_no: 1, to: "+14155552601", from: "+14155550100", template_version: 7, dial_until: null, enforce_blacklist: true, max_call_seconds: 120 });
  expect(ofKind("reserve")[0]).toMatchObject({ holder: expect.stringMatching(new RegExp(`^${id(1)}\\.1~[0-9a-f]{8}$`)) });
  expect(ofKind("claim")[0]).toMatchObject({ attempt: { number_id: N, policy: { max_retry: 1, retry_offset: 5, retry_on: null } } });
  expect(told.map((t) => t.what)).toEqual(["reserve", "claim", "dial"]);
});

test("outside the window nothing is reserved; the lead gets the opening as its due time", async () => {
  configuration = { call_start_time: "12:00", call_end_time: "13:00" };
  await pass([lead(2, { created_at: iso() })]);
  const [deferred] = await seen("defer");
  expect(deferred).toMatchObject({ items: [{ lead_id: id(2), why: "outside_window" }] });
  expect(ofKind("reserve")).toHaveLength(0);
});

test("no free line: held back a moment, no attempt spent", async () => {
  line = "taken";
  await pass([lead(3)]);
  expect((await seen("defer"))[0]).toMatchObject({ items: [{ lead_id: id(3), why: "no_number" }] });
  expect(ofKind("claim")).toHaveLength(0);
});

test("a lost claim gives the line back and dials nothing", async () => {
  claimWins = false;
  await pass([lead(4)]);
  expect((await seen("numbers.release"))[0]).toEqual({ holder: expect.stringMatching(new RegExp(`^${id(4)}\\.1~`)) });
  expect(ofKind("dial")).toHaveLength(0);
});

test("a dialler without room: lead and line go back", async () => {
  dial = () => { throw new Failure("BUSY", "no room"); };
  await pass([lead(5)]);
  expect((await seen("leads.release"))[0]).toMatchObject({ lead_id: id(5), claim_no: 1 });
  await seen("numbers.release");
});

test("a dialler whose answer is unknown keeps lead and line: the lease decides", async () => {
  dial = () => { throw new Error("something unexpected after the hand-over"); };
  await pass([lead(6)]);
  await seen("dial");
  await pass([lead(60)]);
  await seen("dial", 2);
  expect(ofKind("leads.release")).toHaveLength(0);
  expect(ofKind("numbers.release")).toHaveLength(0);
});

test("blacklisted while queued: dropped, or dialled when the blacklist is not enforced", async () => {
  await pass([lead(7, { phone_number: "+14155552699" })]);
  expect((await seen("drop"))[0]).toMatchObject({ lead_id: id(7), outcome: "BLACKLISTED" });
  configuration = { enforce_blacklist: false };
  await pass([lead(8, { phone_number: "+14155552699" })]);
  await seen("dial");
});

test("international calls off: a number abroad is dropped", async () => {
  configuration = { enable_international_call: false };
  await pass([lead(9, { phone_number: "+442071838750" })]);
  expect((await seen("drop"))[0]).toMatchObject({ lead_id: id(9), outcome: "INTERNATIONAL_BLOCKED" });
  await seen("numbers.release");
});

test("a playground lead runs on its overridden configuration", async () => {
  configuration = { call_start_time: "12:00", call_end_time: "13:00" };
  await pass([lead(10, { configurations_override: { call_start_time: "00:00", call_end_time: "00:00" } })]);
  await seen("dial");
});

test("the rate limit holds over all passes: never more than the maximum, the rest get the instant at which a place frees", async () => {
  configuration = { id: "33333333-3333-4333-8333-333333333333", rate_limit_enabled: true, rate_limit_max_calls: 3, rate_limit_window_seconds: 3600, rate_limit_whitelist: ["+14155552655"] };
  await pass(Array.from({ length: 8 }, (_, i) => lead(20 + i)));
  const [deferred] = await seen("defer");
  expect(ofKind("dial")).toHaveLength(3);
  expect(deferred?.["items"]).toHaveLength(5);
  expect(deferred?.["items"]).toEqual(Array.from({ length: 5 }, () => expect.objectContaining({ why: "rate_limit" })));
  await pass([lead(40, { phone_number: "+14155552655" })]);
  await seen("dial", 4);
});
