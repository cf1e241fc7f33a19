import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { documentOf } from "../../../services/leads/push/lead-document.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { asAdmin, asMerchant, asReseller } from "../../../local/harness/stage.ts";
import { summaryOf, type Group } from "../../../services/leads/lists/lead-summary.ts";
import { isDecided, isSuccess } from "../../../services/leads/rules/outcomes.ts";
import { leadsStage, type LeadsStage } from "../../fixtures/leads-stage.ts";
import { needing } from "../../fixtures/database-abilities.ts";

/** 6,000 leads of three resellers with two merchants each: enough that a scan is told from a search. */
const LEADS = 6000;
const DAY_MS = 86_400_000;
const BEGIN = Date.parse("2026-01-01T00:00:00.000Z");
const STATUSES = ["BACKLOG", "FINISHED", "FINISHED", "FINISHED", "RETRY", "FINISHED"] as const;
const MODES = ["TELEPHONY", "TELEPHONY", "TELEPHONY", "RTC", "TELEPHONY", "RTC_STREAM", "TELEPHONY_TEST"] as const;
const OUTCOMES = ["confirmed", "no_answer", "rescheduled", "busy", "ABORTED", "declined"] as const;
const resellers = Array.from({ length: 3 }, () => randomUUID());
const merchants = resellers.flatMap((reseller_id) => [
  { reseller_id, merchant_id: randomUUID(), templates: [randomUUID(), randomUUID()] },
  { reseller_id, merchant_id: randomUUID(), templates: [randomUUID()] },
]);
const [mine, beside] = [merchants[0]!, merchants[1]!];

let it: LeadsStage;
let docs: LeadDoc[];

const at = <T>(of: readonly T[], i: number): T => of[i % of.length]!;
/** A number below `below` that follows no pattern in i, and is the same for the same i. */
const mixed = (i: number, below: number): number => (Math.imul(i + 1, 2_654_435_761) >>> 12) % below;
const phone = (i: number): string => `+1415555${String(2000 + (i % 700)).padStart(4, "0")}`;
function lead(i: number): LeadDoc {
  const owner = at(merchants, i * 7);
  const status = at(STATUSES, Math.floor(i / 3));
  const created_at = new Date(BEGIN + Math.floor(i / 2) * 60_000); // two and two at the same instant
  const doc = documentOf(
    randomUUID(),
    owner.merchant_id,
    {
      request_id: `order-${i % 50}`,
      template_id: at(owner.templates, i),
      reseller_id: owner.reseller_id,
      merchant_id: owner.merchant_id,
      payload: {},
      execution_mode: at(MODES, Math.floor(i / 5)),
    },
    {
      template_id: at(owner.templates, i),
      version: 1,
      name: `template ${at(owner.templates, i).slice(0, 4)}`,
      reseller_id: owner.reseller_id,
      merchant_id: owner.merchant_id,
      initial_offset: null,
      max_age_seconds: 60,
    },
    i % 11 === 0 ? null : phone(i),
    created_at,
  );
  const finished = status === "FINISHED";
  return {
    ...doc,
    status,
    outcome: finished ? at(OUTCOMES, Math.floor(i / 7)) : null,
    finished_at: finished ? created_at : null,
    attempt_count: mixed(i, 3),
    answered_count: mixed(i, 2),
    talk_seconds: mixed(i, 2) * mixed(i, 100),
    costs: mixed(i, 2) ? { "1": 0.01, "2": 0.0025 } : {},
    call_id: finished ? `CA${i}` : null,
  };
}

beforeAll(async () => {
  it = await leadsStage();
  docs = Array.from({ length: LEADS }, (_, i) => lead(i));
  await it.db.collection<LeadDoc>("leads").insertMany(docs);
});
afterAll(() => it.stop());

type Asker = ParamsOf<"leads.list">["by"];
const askers: [string, Asker, (d: LeadDoc) => boolean][] = [
  ["an admin", asAdmin, () => true],
  ["a reseller", asReseller(mine.reseller_id), (d) => d.reseller_id === mine.reseller_id],
  ["a merchant", asMerchant(mine.reseller_id, mine.merchant_id), (d) => d.merchant_id === mine.merchant_id],
];
const from = new Date(BEGIN + DAY_MS / 2).toISOString();
const to = new Date(BEGIN + DAY_MS).toISOString();

describe("GET /analytics/summary", () => {
  const period = { from: new Date(BEGIN).toISOString(), to: new Date(BEGIN + 30 * DAY_MS).toISOString() };
  const summary = (by: Asker, over: Omit<ParamsOf<"leads.summary">, "by"> = {}) =>
    it.stage.bus.call("leads.summary", { by, ...period, ...over });
  const count = (some: LeadDoc[], word: (d: LeadDoc) => string | null) =>
    Object.fromEntries(
      [
        ...Map.groupBy(
          some.filter((d) => word(d) !== null),
          (d) => word(d)!,
        ),
      ].map(([k, of]) => [k, of.length]),
    );
  const sum = (some: LeadDoc[], of: (d: LeadDoc) => number): number => some.reduce((total, d) => total + of(d), 0);
  const expected = (some: LeadDoc[]) => {
    const finished = some.filter((d) => d.outcome !== null).length;
    const answered = sum(some, (d) => d.answered_count);
    const called = some.filter((d) => d.attempt_count > 0);
    const of = (in_: LeadDoc[], ...outcomes: string[]) => in_.filter((d) => outcomes.includes(d.outcome ?? "")).length;
    const tried = called.filter((d) => d.outcome !== null && d.outcome !== "ABORTED").length;
    return {
      leads: some.length,
      finished,
      called: called.length,
      attempts: sum(some, (d) => d.attempt_count),
      answered,
      average_talk_seconds: Math.round((sum(some, (d) => d.talk_seconds) / answered) * 10) / 10,
      cost: Math.round(sum(some, (d) => sum([d], () => Object.values(d.costs).reduce((a, b) => a + b, 0))) * 1e6) / 1e6,
      decided: of(some, "confirmed", "rescheduled", "declined"),
      success_rate: Math.round((of(called, "confirmed", "rescheduled") / tried) * 1000) / 1000,
      by_outcome: count(some, (d) => d.outcome),
    };
  };

  test.each(askers)("%s sees the figures of what it may see, tests left out", async (_who, by, own) => {
    const counted = docs.filter((d) => own(d) && !d.is_test);
    const answer = await summary(by);
    expect(answer).toMatchObject({
      ...period,
      cost_currency: "USD",
      ...expected(counted),
      by_status: count(counted, (d) => d.status),
    });
    expect(sum(counted, () => 1)).toBe(answer.templates.reduce((total, t) => total + t.leads, 0));
    for (const t of answer.templates)
      expect(t).toMatchObject(expected(counted.filter((d) => d.template_id === t.template_id)));
    expect(answer.templates.map((t) => t.leads)).toEqual(answer.templates.map((t) => t.leads).sort((a, b) => b - a));
  });
  test("whom nobody called, and whom somebody took off, do not make the rate of success smaller", () => {
    const group = (outcome: string, leads: number, called: number) => ({
      _id: { template_id: "t", status: "FINISHED", outcome },
      template: "t",
      leads,
      called,
      attempts: called,
      answered: 0,
      talk_seconds: 0,
      cost: 0,
      do_not_call: 0,
    });
    const rate = (...groups: Group[]) =>
      summaryOf(groups, { from: new Date(BEGIN), to: new Date(BEGIN + DAY_MS) }, "USD").success_rate;
    const called = [group("confirmed", 40, 40), group("rescheduled", 14, 14), group("no_answer", 22, 22)];
    expect(rate(...called)).toBe(0.711);
    expect(rate(...called, group("ABORTED", 1961, 3), group("BLACKLISTED", 5, 0), group("EXPIRED", 9, 0))).toBe(0.711);
    expect(rate(group("ABORTED", 3, 1))).toBeNull();
  });
  test.each([
    ["confirmed", true, true],
    ["declined", true, false],
    ["Wrong-Person", true, false],
    ["no_answer", false, false],
    ["ABORTED", false, false],
    [null, false, false],
  ])("%s is decided: %s, and a success: %s", (outcome, decided, success) => {
    expect([isDecided(outcome), isSuccess(outcome)]).toEqual([decided, success]);
  });
  test("it is narrowed by template, merchant and period", async () => {
    expect(await summary(asAdmin, { template_id: mine.templates[0]! })).toMatchObject(
      expected(docs.filter((d) => d.template_id === mine.templates[0] && !d.is_test)),
    );
    expect(await summary(asAdmin, { merchant_id: beside.merchant_id })).toMatchObject(
      expected(docs.filter((d) => d.merchant_id === beside.merchant_id && !d.is_test)),
    );
    expect((await summary(asAdmin, { from, to })).leads).toBe(
      docs.filter((d) => d.created_at >= new Date(from) && d.created_at < new Date(to) && !d.is_test).length,
    );
    expect(await summary(asReseller(mine.reseller_id), { merchant_id: merchants[2]!.merchant_id })).toMatchObject({
      leads: 0,
      success_rate: null,
      average_talk_seconds: null,
      templates: [],
    });
  });
  test.each([
    ["longer than a year", { from: "2025-01-01T00:00:00.000Z", to: "2026-01-03T00:00:00.000Z" }],
    ["turned round", { from: period.to, to: period.from }],
  ])("a period that is %s is refused", async (_, over) => {
    await expect(summary(asAdmin, over)).rejects.toMatchObject({ type: "VALIDATION_FAILED" });
  });
  test("the last 30 days where no period is named", async () => {
    const { from: begin, to: end } = await it.stage.bus.call("leads.summary", { by: asAdmin });
    expect([end, Date.parse(end) - Date.parse(begin)]).toEqual([it.clock.now().toISOString(), 30 * DAY_MS]);
  });
  needing("plans", () => {
    test("the period is read from an index", async () => {
      for (const [match, index] of [
        [{ reseller_id: mine.reseller_id }, "by_reseller"],
        [{ merchant_id: mine.merchant_id }, "of_merchant"],
        [{}, "newest"],
      ] as const) {
        const plan = await it.db
          .collection("leads")
          .aggregate([
            { $match: { $and: [match, { created_at: { $gte: new Date(from), $lt: new Date(to) }, is_test: false }] } },
            { $group: { _id: null, n: { $sum: 1 } } },
          ])
          .explain("queryPlanner");
        expect(JSON.stringify(plan)).toContain(`"indexName":"${index}"`);
      }
    });
  });
});
