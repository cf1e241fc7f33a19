import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import type { CallRow } from "../../../../local/carriers/ledger/call-rows.ts";
import type { ParamsOf } from "../../../../shared/bus/bus.ts";
import { systemClock } from "../../../../shared/time/clock.ts";
import type { ConfigurationRecord } from "../../../../shared/contracts/records/configuration.ts";
import type { InboundCallRecord } from "../../../../shared/contracts/records/inbound.ts";
import { fail } from "../../../../shared/errors.ts";
import { uuidOf } from "../../../../shared/ids.ts";
import { asAdmin, until } from "../../../../local/harness/stage.ts";
import { setDialerStage, type DialerStage } from "../../fixtures/dialer-stage/dialer-stage.ts";
import { hotline } from "../../fixtures/inbound-plan.ts";

const OURS = "+14155550100";
const NUMBER = randomUUID();
const TEMPLATE = randomUUID();

let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({ clock: systemClock });
  const voice = `${d.stage.env.PUBLIC_HTTP_URL}/carriers/PROVIDER_ONE`;
  const set = await fetch(`${d.carrier}/inbound-address`, {
    method: "POST",
    body: JSON.stringify({ carrier: "twilio", url: `${voice}/inbound/new`, status_url: `${voice}/status/new` }),
  });
  expect(set.status).toBe(204);
});
afterAll(async () => {
  await d.stop();
});
afterEach(() => d.reset());
beforeEach(() => takes({}));

/** The number takes calls by this configuration. */
function takes(over: Partial<ConfigurationRecord>): void {
  d.script.called = { id: NUMBER, reseller_id: "r1", merchant_id: "m1", inbound_template_id: null };
  d.script.plan = {
    ...hotline(TEMPLATE, "m1", {
      inbound_webhook_url: "https://shop.example/in",
      rate_limit_whitelist: ["+14155550111"],
      pre_checks: [{ name: "crm", headers: { "$x.y": "1" } }],
      ...over,
    }),
    version: 3,
    language: "en-GB",
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
    const settled = await until("the settling", () => toldOf(sid, "leads.settle")[0]?.params);
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

  test("hears the message and is connected to the redirect number", async () => {
    takes({
      enable_inbound: false,
      inbound_block_action: "REDIRECT",
      inbound_redirect_number: "+14155550111",
      inbound_block_message: "One moment, please.",
    });
    const sid = await call(person("05"));
    const ended = await over(sid);
    expect(ended.transcript.filter((t) => t.who === "agent").map((t) => t.text)).toEqual(["One moment, please."]);
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
