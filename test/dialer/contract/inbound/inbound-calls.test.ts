import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { MongoClient, type Collection } from "mongodb";
import type { CallRow } from "../../../../local/carriers/ledger/call-rows.ts";
import { DEFAULT_ACCOUNT } from "../../../../local/carriers/server.ts";
import { sign } from "../../../../local/carriers/twilio/signature.ts";
import type { InboundCallDoc } from "../../../../services/dialer/inbound/inbound-calls.model.ts";
import type { ParamsOf } from "../../../../shared/bus.ts";
import { systemClock } from "../../../../shared/clock.ts";
import type { ConfigurationRecord } from "../../../../shared/contracts/configuration.ts";
import type { InboundCallRecord } from "../../../../shared/contracts/inbound.ts";
import { codeOf, fail } from "../../../../shared/errors.ts";
import { uuidOf } from "../../../../shared/ids.ts";
import { asAdmin, asMerchant, asReseller, until } from "../../../../local/harness/stage.ts";
import { setDialerStage, type DialerStage } from "../../fixtures/dialer-stage.ts";

const OURS = "+14155550100";
const NUMBER = randomUUID();
const TEMPLATE = randomUUID();
const CREATED = "2026-11-21T10:00:00.000Z";

let d: DialerStage;
let client: MongoClient;
let stored: Collection<InboundCallDoc>;
beforeAll(async () => {
  d = await setDialerStage({ clock: systemClock });
  client = await MongoClient.connect(d.stage.uri);
  stored = client.db().collection<InboundCallDoc>("inbound_calls");
  const voice = `${d.stage.env.PUBLIC_HTTP_URL}/carriers/PROVIDER_ONE`;
  const set = await fetch(`${d.carrier}/inbound-address`, {
    method: "POST",
    body: JSON.stringify({ carrier: "twilio", url: `${voice}/inbound/new`, status_url: `${voice}/status/new` }),
  });
  expect(set.status).toBe(204);
});
afterAll(async () => {
  await client.close();
  await d.stop();
});
afterEach(() => d.reset());
beforeEach(() => takes({}));

/** The number takes calls by this configuration. */
function takes(over: Partial<ConfigurationRecord>): void {
  d.script.called = { id: NUMBER, reseller_id: "r1", merchant_id: "m1", inbound_template_id: null };
  d.script.plan = {
    template_id: TEMPLATE,
    version: 3,
    name: "hotline",
    reseller_id: "r1",
    merchant_id: "m1",
    is_active: true,
    language: "en-GB",
    max_call_seconds: 600,
    configuration: {
      id: randomUUID(),
      reseller_id: "r1",
      merchant_id: "m1",
      template_id: TEMPLATE,
      template: "hotline",
      initial_offset: 0,
      retry_offset: 60,
      call_start_time: "00:00",
      call_end_time: "00:00",
      timezone: "UTC",
      max_retry: 0,
      calling_provider: "PROVIDER_ONE",
      enable_calling: true,
      enable_international_call: true,
      enable_inbound: true,
      inbound_call_start_time: null,
      inbound_call_end_time: null,
      inbound_call_timezone: "UTC",
      inbound_block_action: "REJECT",
      inbound_redirect_number: null,
      inbound_block_message: null,
      inbound_webhook_url: "https://shop.example/in",
      inbound_max_calls_per_caller: 100,
      inbound_caller_window_seconds: 3600,
      record_calls: false,
      voicemail_action: "hangup",
      engine: null,
      enforce_blacklist: true,
      rate_limit_enabled: false,
      rate_limit_max_calls: null,
      rate_limit_window_seconds: 3600,
      rate_limit_whitelist: ["+14155550111"],
      pre_checks: [{ name: "crm", headers: { "$x.y": "1" } }],
      created_at: CREATED,
      updated_at: CREATED,
      ...over,
    },
  };
}

let people = 0;
const person = (ending = "04"): string => `+1415777${String(people++).padStart(2, "0")}${ending}`;
async function call(from: string, more: object = {}): Promise<string> {
  const answer = await fetch(`${d.carrier}/inbound`, {
    method: "POST",
    body: JSON.stringify({ carrier: "twilio", from, to: OURS, ...more }),
  });
  return ((await answer.json()) as { sid: string }).sid;
}
const row = async (sid: string): Promise<CallRow | undefined> =>
  ((await (await fetch(`${d.carrier}/ledger/calls`)).json()) as { calls: CallRow[] }).calls.find((c) => c.sid === sid);
const over = (sid: string): Promise<CallRow> =>
  until(`the end of ${sid}`, async () => {
    const r = await row(sid);
    return r?.ended_at ? r : undefined;
  });
const leadOf = (sid: string): string => uuidOf(`PROVIDER_ONE:${sid}`);
const toldOf = (sid: string, what: string) =>
  d.told.filter(
    (t) => t.what === what && (t.params["lead_id"] === leadOf(sid) || t.params["call_ref"] === `${leadOf(sid)}.1`),
  );
const list = async (over: Partial<ParamsOf<"dialer.inboundCalls">> = {}) =>
  d.stage.bus.call("dialer.inboundCalls", { by: asAdmin, ...over });
const record = async (sid: string): Promise<InboundCallRecord | undefined> =>
  (await list({ limit: 500 })).inbound_calls.find((c) => c.call_id === sid);

describe("a call that is taken", () => {
  test("becomes a lead and a talk on the same road as a dialled one, and is settled at its end", async () => {
    const from = person("01");
    const sid = await call(from);
    const ended = await over(sid);
    expect(ended).toMatchObject({ direction: "inbound", answered: true, status: "completed", ended_by: "relay_end" });
    expect(toldOf(sid, "leads.receive")[0]?.params).toMatchObject({
      call_id: sid,
      number_id: NUMBER,
      reseller_id: "r1",
      merchant_id: "m1",
      template_id: TEMPLATE,
      template: "hotline",
      template_version: 3,
      from,
      to: OURS,
      reporting_webhook_url: "https://shop.example/in",
    });
    expect(toldOf(sid, "conversation.prepareMany")[0]?.params).toMatchObject({
      template_version: 3,
      voicemail_action: "continue",
      payload: { caller_number: from, called_number: OURS },
    });
    const doc = await until("the end of the call's document", async () => {
      const c = await d.calls.findOne({ _id: `${leadOf(sid)}.1` });
      return c?.closed_at ? c : undefined;
    });
    expect(doc).toMatchObject({
      direction: "INBOUND",
      state: "ENDED",
      ended: "completed",
      holder: "services",
      carrier_call_id: sid,
    });
    expect(toldOf(sid, "leads.annotate").length).toBeGreaterThan(0);
    expect(await record(sid)).toEqual({
      id: leadOf(sid),
      provider: "PROVIDER_ONE",
      call_id: sid,
      caller_number: from,
      called_number: OURS,
      number_id: NUMBER,
      reseller_id: "r1",
      merchant_id: "m1",
      template_id: TEMPLATE,
      verdict: "ACCEPTED",
      reason: null,
      lead_id: leadOf(sid),
      created_at: expect.any(String),
    });
    const { calls } = await d.stage.bus.call("dialer.history", { lead_id: leadOf(sid) });
    expect(calls).toMatchObject([{ direction: "INBOUND", call_id: sid, placed_at: null }]);
  });

  test("whose caller hangs up before anybody talks is settled as left", async () => {
    d.script.join = false;
    const sid = await call(person("04"));
    await over(sid);
    const settled = await until("the settling", () => toldOf(sid, "leads.settle")[0]?.params, 20_000);
    expect(settled).toMatchObject({ facts: { ended: "completed", talk: null } });
  });

  test("with a withheld number has no caller, and is neither on a list nor limited", async () => {
    takes({ inbound_max_calls_per_caller: 1 });
    d.script.listed = true;
    const sids = [await call(person("01"), { withheld: true }), await call(person("01"), { withheld: true })];
    for (const sid of sids) {
      await over(sid);
      expect(toldOf(sid, "leads.receive")[0]?.params).toMatchObject({ from: null });
      expect(await record(sid)).toMatchObject({ verdict: "ACCEPTED", caller_number: null });
    }
  });
});

describe("a call that is blocked", () => {
  const office = { inbound_call_start_time: "00:00", inbound_call_end_time: "00:01", inbound_call_timezone: "UTC" };
  const closed =
    new Date().getUTCHours() === 0
      ? { ...office, inbound_call_start_time: "12:00", inbound_call_end_time: "12:01" }
      : office;
  test.each<[string, () => void]>([
    [
      "unknown_number",
      () => {
        d.script.called = null;
      },
    ],
    [
      "no_template",
      () => {
        d.script.plan = null;
      },
    ],
    ["inbound_disabled", () => takes({ enable_inbound: false })],
    ["outside_window", () => takes(closed)],
    [
      "blacklisted",
      () => {
        d.script.listed = true;
      },
    ],
  ])("is turned away unanswered and recorded: %s", async (reason, arrange) => {
    arrange();
    const sid = await call(person());
    expect(await over(sid)).toMatchObject({ answered: false, status: "no-answer" });
    expect(await record(sid)).toMatchObject({ verdict: "REJECTED", reason, lead_id: null });
    expect(toldOf(sid, "leads.receive")).toEqual([]);
  });

  test("hears the message where there is one", async () => {
    takes({ enable_inbound: false, inbound_block_message: "We are closed, call again tomorrow." });
    const sid = await call(person("05"));
    const ended = await over(sid);
    expect(ended).toMatchObject({ answered: true, status: "completed" });
    expect(ended.transcript.filter((t) => t.who === "agent").map((t) => t.text)).toEqual([
      "We are closed, call again tomorrow.",
    ]);
  });

  test("is connected to the redirect number", async () => {
    takes({ enable_inbound: false, inbound_block_action: "REDIRECT", inbound_redirect_number: "+14155550111" });
    const sid = await call(person("05"));
    await over(sid);
    const { entries } = (await (await fetch(`${d.carrier}/ledger?limit=10000`)).json()) as {
      entries: Record<string, unknown>[];
    };
    expect(entries.find((e) => e["kind"] === "dial" && e["call_sid"] === sid)).toMatchObject({
      number: "+14155550111",
    });
    expect(await record(sid)).toMatchObject({ verdict: "REDIRECTED", reason: "inbound_disabled" });
  });

  test("for calling too often is so for the calls above the limit only, however close they come", async () => {
    takes({ inbound_max_calls_per_caller: 2 });
    const from = person("04");
    const sids = await Promise.all(Array.from({ length: 5 }, () => call(from)));
    await Promise.all(sids.map(over));
    const verdicts = (await Promise.all(sids.map(record))).map((r) => r?.reason ?? r?.verdict);
    expect(verdicts.filter((v) => v === "ACCEPTED").length).toBeLessThanOrEqual(2);
    expect(verdicts.filter((v) => v === "rate_limited").length).toBeGreaterThanOrEqual(3);
    const other = await call(person("04"));
    await over(other);
    expect(await record(other)).toMatchObject({ verdict: "ACCEPTED" });
  });

  test("because the talk can't be prepared goes where blocked calls go, and its lead is finished", async () => {
    takes({ inbound_block_action: "REDIRECT", inbound_redirect_number: "+14155550111" });
    d.script.prepare = () => fail("DEPENDENCY_DOWN", "no conversation service");
    const sid = await call(person("05"));
    await over(sid);
    expect(await record(sid)).toMatchObject({ verdict: "REDIRECTED", reason: "unavailable" });
    expect(await until("the settling", () => toldOf(sid, "leads.settle")[0]?.params)).toMatchObject({
      facts: { ended: "failed", error: { code: "INBOUND_UNAVAILABLE" } },
    });
  });
});

describe("the webhook", () => {
  const webhook = (
    sid: string,
    from: string,
    kind = "inbound",
    more: Record<string, string> = {},
  ): ParamsOf<"dialer.carrierEvent"> => {
    const path = `/carriers/PROVIDER_ONE/${kind}/new`;
    const form = new URLSearchParams({
      CallSid: sid,
      AccountSid: DEFAULT_ACCOUNT.sid,
      From: from,
      To: OURS,
      Direction: "inbound",
      CallStatus: "ringing",
      ...more,
    });
    const headers = {
      "content-type": "application/x-www-form-urlencoded",
      "x-twilio-signature": sign(DEFAULT_ACCOUNT.authToken, d.stage.env.PUBLIC_HTTP_URL + path, form),
    };
    return { provider: "PROVIDER_ONE", kind, ref: "new", method: "POST", path, headers, body: form.toString() };
  };
  const sidOf = (): string => `CA${randomUUID().replaceAll("-", "")}`;
  const ask = (raw: ParamsOf<"dialer.carrierEvent">) => d.stage.bus.call("dialer.carrierEvent", raw);

  test("that comes twice, at once or later, has one answer and makes one lead", async () => {
    const raw = webhook(sidOf(), person());
    const answers = [...(await Promise.all([ask(raw), ask(raw)])), await ask(raw)];
    expect(answers[0]?.body).toContain("<ConversationRelay");
    expect(new Set(answers.map((a) => a.body)).size).toBe(1);
    const sid = new URLSearchParams(raw.body).get("CallSid") ?? "";
    expect(toldOf(sid, "leads.receive")).toHaveLength(1);
    expect(await stored.countDocuments({ carrier_call_id: sid })).toBe(1);
  });

  test("that another node has judged keeps its ruling, whatever the configuration is by then", async () => {
    takes({ inbound_block_message: "Closed." });
    const judged = async (judged_at: Date): Promise<ParamsOf<"dialer.carrierEvent">> => {
      const [sid, from] = [sidOf(), person()];
      await stored.insertOne({
        _id: leadOf(sid),
        provider: "PROVIDER_ONE",
        carrier_call_id: sid,
        from,
        to: OURS,
        number_id: NUMBER,
        reseller_id: "r1",
        merchant_id: "m1",
        template_id: TEMPLATE,
        plan: d.script.plan,
        created_at: judged_at,
        verdict: "REJECTED",
        reason: "blacklisted",
        judged_at,
      });
      return webhook(sid, from);
    };
    const [long_ago, just_now] = [await judged(new Date(Date.now() - 60_000)), await judged(new Date())];
    takes({});
    expect((await ask(long_ago)).body).toContain("Closed.");
    // that node may be answering it this very moment
    expect(await ask(just_now).catch(codeOf)).toBe("BUSY");
  });

  test("with a wrong signature is refused, and nothing is kept", async () => {
    const sid = sidOf();
    const raw = webhook(sid, person());
    expect(await ask({ ...raw, body: raw.body.replace(/From=[^&]*/, "From=%2B14155550199") }).catch(codeOf)).toBe(
      "SIGNATURE_INVALID",
    );
    expect(await stored.countDocuments({ carrier_call_id: sid })).toBe(0);
    expect(await d.events.countDocuments({ carrier_call_id: sid })).toBe(0);
  });

  test("while the numbers can't be asked is to be tried again; nothing is decided", async () => {
    const sid = sidOf();
    const raw = webhook(sid, person());
    Object.defineProperty(d.script, "called", { configurable: true, get: () => fail("DEPENDENCY_DOWN", "away") });
    expect(await ask(raw).catch(codeOf)).toBe("DEPENDENCY_DOWN");
    d.reset();
    takes({});
    expect((await ask(raw)).body).toContain("<ConversationRelay");
  });

  test("of the number's status tells the call of ours, and nothing of a blocked one", async () => {
    const [sid, blockedSid] = [sidOf(), sidOf()];
    await ask(webhook(sid, person()));
    await ask(webhook(sid, person(), "status", { CallStatus: "completed", CallDuration: "3" }));
    const doc = await until("the call's end", async () => {
      const c = await d.calls.findOne({ _id: `${leadOf(sid)}.1` });
      return c?.state === "ENDED" ? c : undefined;
    });
    expect(doc).toMatchObject({ ended: "completed", talk_seconds: 3 });
    await ask(webhook(blockedSid, person(), "status", { CallStatus: "completed" }));
    expect(await until("the note", async () => (await d.events.findOne({ carrier_call_id: blockedSid }))?.note)).toBe(
      "no_call_of_ours",
    );
  });
});

describe("the list", () => {
  test("is scoped to the tenant and narrowed by template, verdict and time, in pages", async () => {
    const at = (minute: number): Date => new Date(Date.UTC(2030, 0, 1, 0, minute));
    const [mine, neighbour] = [randomUUID(), randomUUID()];
    await stored.insertMany(
      Array.from({ length: 6 }, (_, i): InboundCallDoc => ({
        _id: randomUUID(),
        provider: "PROVIDER_ONE",
        carrier_call_id: `listed-${i}`,
        from: null,
        to: OURS,
        number_id: NUMBER,
        reseller_id: i === 5 ? "other" : "lister",
        merchant_id: i % 2 === 0 ? mine : neighbour,
        template_id: TEMPLATE,
        plan: null,
        created_at: at(i),
        verdict: i < 2 ? "REJECTED" : "ACCEPTED",
        ...(i < 2 ? { reason: "blacklisted" as const } : {}),
        lead_id: randomUUID(),
      })),
    );
    const ids = async (over: Partial<ParamsOf<"dialer.inboundCalls">>) =>
      (await list(over)).inbound_calls.map((c) => c.call_id);
    const by = asReseller("lister");
    expect(await ids({ by })).toEqual(["listed-4", "listed-3", "listed-2", "listed-1", "listed-0"]);
    expect(await ids({ by: asMerchant("lister", mine) })).toEqual(["listed-4", "listed-2", "listed-0"]);
    expect(await ids({ by, merchant_id: neighbour })).toEqual(["listed-3", "listed-1"]);
    expect(await ids({ by, verdict: "REJECTED" })).toEqual(["listed-1", "listed-0"]);
    expect(await ids({ by, template_id: randomUUID() })).toEqual([]);
    expect(await ids({ by, from: at(1).toISOString(), to: at(3).toISOString() })).toEqual(["listed-2", "listed-1"]);
    const first = await list({ by, limit: 2 });
    expect(await ids({ by, limit: 2, cursor: first.next_cursor ?? "" })).toEqual(["listed-2", "listed-1"]);
  });
});
