import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import leads from "../../../../services/leads/leads.service.ts";
import type { ParamsOf } from "../../../../shared/bus/bus.ts";
import { endedByAgent, noFacts, type AttemptFacts } from "../../../../shared/contracts/records/attempt.ts";
import type { Verdict } from "../../../../shared/contracts/dialer.ts";
import { fail } from "../../../../shared/errors.ts";
import { asMerchant, setStage, standIn, until, type Stage } from "../../../../local/harness/stage.ts";
import {
  claimSeen,
  dueLead,
  keepsReports,
  leadInput,
  M,
  PHONE,
  R,
  resolvedTemplate,
  TEMPLATE,
} from "../../../fixtures/leads-stage.ts";
import { resolvesPushes } from "../../../fixtures/push-resolution.ts";
import { virtualClock } from "../../../fixtures/virtual-clock.ts";

const clock = virtualClock();
const wishes: ParamsOf<"blacklist.recordWish">[] = [];
const reports: { lead_id: string; data: Record<string, unknown> }[] = [];
/** How the lead stood when its callee was put on the list. */
const statuses: string[] = [];
let blacklistDown = false;
let verdict: Verdict = { verdict: "never_dialled" };
let stage: Stage;
const by = asMerchant(R, M);
const get = (lead_id: string) => stage.bus.call("leads.get", { by, lead_id });

beforeAll(async () => {
  stage = await setStage({
    clock,
    services: [
      leads,
      standIn(
        "config",
        resolvesPushes(() => ({ ...resolvedTemplate, name: "reminder", initial_offset: 0 })),
      ),
      standIn("blacklist", {
        check: ({ pairs }) => ({
          listed: pairs.map((p) =>
            wishes.some((w) => w.phone_number === p.phone_number && w.merchant_id === p.merchant_id),
          ),
        }),
        recordWish: async (wish) => {
          if (blacklistDown) fail("STORE_UNAVAILABLE", "away");
          statuses.push((await get(wish.lead_id)).status);
          wishes.push(wish);
          return { added: true };
        },
      }),
      standIn("auth", { record: () => ({}) }),
      standIn("dialer", { reconcile: () => verdict, history: () => ({ calls: [], carrier_events: [] }) }),
      standIn("webhook", {
        checkAddresses: ({ urls }) => ({ refusals: urls.map(() => null) }),
        deliveries: () => ({ deliveries: [] }),
        enqueueMany: keepsReports(reports),
      }),
    ],
  });
});
afterAll(() => stage.stop());
beforeEach(() => {
  wishes.length = 0;
  statuses.length = 0;
  blacklistDown = false;
});

const input = (over: object = {}) => leadInput({ reporting_webhook_url: "https://x.example/", ...over });
async function inCall(over: object = {}): Promise<{ lead_id: string; claim_no: number }> {
  const { lead_call_tracker_id: lead_id } = await stage.bus.call("leads.push", { by, lead: input(over) });
  await clock.advance(1000);
  const due = await dueLead(stage, clock.now(), lead_id);
  const claimed = await claimSeen(stage, due!);
  return { lead_id, claim_no: claimed!.claim_no };
}
const asked = (decided: string | null): AttemptFacts => ({
  ...noFacts("completed"),
  answered_at: clock.now().toISOString(),
  ended_at: clock.now().toISOString(),
  talk: {
    ...endedByAgent(decided),
    do_not_call: true,
    transcription: [{ role: "user", content: "Do not call me again." }],
    node_traversal: ["ask"],
  },
});
const WISH = { reseller_id: R, merchant_id: M, phone_number: PHONE };

describe("a callee who asked not to be called again", () => {
  test("is on the blacklist before the attempt is settled; record, webhook event, timeline and figures say so", async () => {
    const attempt = await inCall();
    const settled = await stage.bus.call("leads.settle", { ...attempt, facts: asked("do_not_call") });
    expect(settled).toEqual({ done: true, status: "FINISHED", outcome: "do_not_call" });
    const { lead_id } = attempt;
    expect([wishes, statuses]).toEqual([[expect.objectContaining({ ...WISH, lead_id })], ["PROCESSING"]]);
    expect(await get(lead_id)).toMatchObject({ outcome: "do_not_call", metaData: { do_not_call: true } });
    const event = await until("the event", async () => {
      await clock.advance(1000);
      return reports.find((r) => r.lead_id === lead_id);
    });
    expect(event.data).toMatchObject({ outcome: "do_not_call", metaData: { do_not_call: true } });
    const { events } = await stage.bus.call("leads.timeline", { by, lead_id });
    expect(JSON.stringify(events)).toContain('"do_not_call":true');
    expect(await stage.bus.call("leads.summary", { by })).toMatchObject({
      do_not_call: 1,
      by_outcome: { do_not_call: 1 },
      success_rate: 0,
    });
  });

  test("is never tried again, whatever was decided and whatever the policy names", async () => {
    const attempt = await inCall();
    const settled = await stage.bus.call("leads.settle", { ...attempt, facts: asked("call_me_later") });
    expect(settled).toMatchObject({ status: "FINISHED", outcome: "call_me_later" });
    expect((await get(attempt.lead_id)).metaData).toMatchObject({ do_not_call: true });
  });

  test("while the blacklist can't be written the attempt is not settled; whoever settles comes again", async () => {
    const attempt = await inCall();
    blacklistDown = true;
    const facts = asked("do_not_call");
    await expect(stage.bus.call("leads.settle", { ...attempt, facts })).rejects.toMatchObject({
      type: "STORE_UNAVAILABLE",
    });
    expect(await get(attempt.lead_id)).toMatchObject({ status: "PROCESSING", outcome: null });
    blacklistDown = false;
    expect(await stage.bus.call("leads.settle", { ...attempt, facts })).toMatchObject({ done: true });
    expect([wishes.length, statuses]).toEqual([1, ["PROCESSING"]]);
  });

  test("the process of the conversation dies between the wish and the settlement: the sweep writes it, also after an outage of the blacklist", async () => {
    const attempt = await inCall();
    verdict = {
      verdict: "ended",
      facts: { ...asked("do_not_call"), error: { code: "CONVERSATION_LOST", message: "x" } },
    };
    blacklistDown = true;
    for (let i = 0; i < 40; i++) await clock.advance(2000);
    expect([wishes, (await get(attempt.lead_id)).status]).toEqual([[], "PROCESSING"]);
    blacklistDown = false;
    const lead = await until("the lead to be settled", async () => {
      await clock.advance(2000);
      const now = await get(attempt.lead_id);
      return now.status === "FINISHED" ? now : undefined;
    });
    expect(lead).toMatchObject({ outcome: "do_not_call", metaData: { do_not_call: true } });
    expect([wishes[0], statuses[0]]).toEqual([expect.objectContaining({ ...WISH, lead_id: lead.id }), "PROCESSING"]);
  });

  test("another process settled the attempt without it: the wish is written all the same", async () => {
    const attempt = await inCall();
    await stage.bus.call("leads.settle", { ...attempt, facts: noFacts("failed") });
    expect(await stage.bus.call("leads.settle", { ...attempt, facts: asked(null) })).toMatchObject({ done: false });
    expect(wishes).toEqual([expect.objectContaining({ ...WISH, lead_id: attempt.lead_id })]);
  });

  test("a push to them by the same merchant is refused from then on", async () => {
    const attempt = await inCall();
    await stage.bus.call("leads.settle", { ...attempt, facts: asked("do_not_call") });
    await expect(stage.bus.call("leads.push", { by, lead: input() })).rejects.toMatchObject({
      type: "NUMBER_BLACKLISTED",
    });
  });

  test.each<[string, string | null, object[]]>([
    ["who called us", PHONE, [expect.objectContaining(WISH)]],
    ["who called us and withholds the number", null, []],
  ])("%s", async (_who, from, listed) => {
    const lead_id = randomUUID();
    await stage.bus.call("leads.receive", {
      lead_id,
      call_id: `CA${lead_id}`,
      provider: "PROVIDER_ONE",
      number_id: randomUUID(),
      reseller_id: R,
      merchant_id: M,
      template_id: TEMPLATE,
      template: "hotline",
      template_version: 1,
      from,
      to: "+14155550100",
      reporting_webhook_url: null,
      lease_seconds: 30,
    });
    const settled = await stage.bus.call("leads.settle", { lead_id, claim_no: 1, facts: asked("do_not_call") });
    expect([settled.status, wishes]).toEqual(["FINISHED", listed]);
  });
});
