import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { MongoClient, type Collection } from "mongodb";
import { DEFAULT_ACCOUNT } from "../../../../local/carriers/server.ts";
import { sign } from "../../../../local/carriers/twilio/signature.ts";
import type { InboundCallDoc } from "../../../../services/dialer/inbound/inbound-calls.model.ts";
import type { ParamsOf } from "../../../../shared/bus/bus.ts";
import { systemClock } from "../../../../shared/time/clock.ts";
import type { ConfigurationRecord } from "../../../../shared/contracts/records/configuration.ts";
import { codeOf, fail } from "../../../../shared/errors.ts";
import { uuidOf } from "../../../../shared/ids.ts";
import { asAdmin, asMerchant, asReseller, until } from "../../../../local/harness/stage.ts";
import { setDialerStage, type DialerStage } from "../../fixtures/dialer-stage/dialer-stage.ts";
import { hotline } from "../../fixtures/inbound-plan.ts";

const OURS = "+14155550100";
const NUMBER = randomUUID();
const TEMPLATE = randomUUID();

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
const leadOf = (sid: string): string => uuidOf(`PROVIDER_ONE:${sid}`);
const toldOf = (sid: string, what: string) =>
  d.told.filter(
    (t) => t.what === what && (t.params["lead_id"] === leadOf(sid) || t.params["call_ref"] === `${leadOf(sid)}.1`),
  );
const list = async (over: Partial<ParamsOf<"dialer.inboundCalls">> = {}) =>
  d.stage.bus.call("dialer.inboundCalls", { by: asAdmin, ...over });

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
