import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { documentOf } from "../../../services/leads/push/lead-document.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { asAdmin, asMerchant, asReseller } from "../../../local/harness/stage.ts";
import { needing } from "../../fixtures/database-abilities.ts";
import { servedBy } from "../../fixtures/query-plan.ts";
import { leadsStage, type LeadsStage } from "../../fixtures/leads-stage.ts";

/** 6,000 leads of three resellers with two merchants each: enough that a scan is told from a search. */
const LEADS = 6000;
const DAY_MS = 86_400_000;
const BEGIN = Date.parse("2026-01-01T00:00:00.000Z");
const STATUSES = ["BACKLOG", "FINISHED", "FINISHED", "FINISHED", "RETRY", "FINISHED"] as const;
const MODES = ["TELEPHONY", "TELEPHONY", "TELEPHONY", "RTC", "TELEPHONY", "RTC_STREAM", "TELEPHONY_TEST"] as const;
const OUTCOMES = ["confirmed", "no_answer", "rescheduled", "busy", "ABORTED"] as const;
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

type Query = Omit<ParamsOf<"leads.list">, "by">;
type Asker = ParamsOf<"leads.list">["by"];
const askers: [string, Asker, (d: LeadDoc) => boolean][] = [
  ["an admin", asAdmin, () => true],
  ["a reseller", asReseller(mine.reseller_id), (d) => d.reseller_id === mine.reseller_id],
  ["a merchant", asMerchant(mine.reseller_id, mine.merchant_id), (d) => d.merchant_id === mine.merchant_id],
];
const from = new Date(BEGIN + DAY_MS / 2).toISOString();
const to = new Date(BEGIN + DAY_MS).toISOString();
const filters: [string, Query, (d: LeadDoc) => boolean][] = [
  ["nothing", {}, () => true],
  ["status", { status: "RETRY" }, (d) => d.status === "RETRY"],
  ["outcome", { outcome: "busy" }, (d) => d.outcome === "busy"],
  ["template_id", { template_id: mine.templates[1]! }, (d) => d.template_id === mine.templates[1]],
  ["merchant_id", { merchant_id: mine.merchant_id }, (d) => d.merchant_id === mine.merchant_id],
  ["another's merchant_id", { merchant_id: beside.merchant_id }, (d) => d.merchant_id === beside.merchant_id],
  ["mode", { mode: "RTC" }, (d) => d.execution_mode === "RTC"],
  ["phone", { phone: "+1 (415) 555-2005" }, (d) => d.phone_number === "+14155552005"],
  ["from", { from }, (d) => d.created_at >= new Date(from)],
  ["to", { to }, (d) => d.created_at < new Date(to)],
  ["from and to", { from, to }, (d) => d.created_at >= new Date(from) && d.created_at < new Date(to)],
  [
    "a bit of everything",
    { status: "FINISHED", outcome: "confirmed", mode: "TELEPHONY", merchant_id: mine.merchant_id, from },
    (d) =>
      d.status === "FINISHED" &&
      d.outcome === "confirmed" &&
      d.execution_mode === "TELEPHONY" &&
      d.merchant_id === mine.merchant_id &&
      d.created_at >= new Date(from),
  ],
];
const cases = askers.flatMap(([who, by, own]) =>
  filters.map(([what, query, fits]) => [who, what, by, query, (d: LeadDoc) => own(d) && fits(d)] as const),
);

async function all(by: Asker, query: Query): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: { leads: { id: string }[]; next_cursor: string | null } = await it.stage.bus.call("leads.list", {
      by,
      ...query,
      limit: 500,
      ...(cursor ? { cursor } : {}),
    });
    ids.push(...page.leads.map((l) => l.id));
    cursor = page.next_cursor;
  }
  return ids;
}
const newestFirst = (some: LeadDoc[]): string[] =>
  some.sort((a, b) => b.created_at.getTime() - a.created_at.getTime() || (a._id < b._id ? 1 : -1)).map((d) => d._id);

describe("GET /leads", () => {
  test.each(cases)("%s by %s: exactly those, newest first", async (_who, _what, by, query, fits) => {
    expect(await all(by, query)).toEqual(newestFirst(docs.filter((d) => fits(d) && !d.is_test)));
  });
  test("tests are shown when asked for", async () => {
    expect(await all(asAdmin, { mode: "TELEPHONY_TEST" })).toEqual([]);
    expect(await all(asAdmin, { mode: "TELEPHONY_TEST", include_test: true })).toEqual(
      newestFirst(docs.filter((d) => d.execution_mode === "TELEPHONY_TEST")),
    );
  });
  test("filters that say nothing usable are refused", async () => {
    await expect(all(asAdmin, { phone: "12345" })).rejects.toMatchObject({ type: "INVALID_PHONE_NUMBER" });
    await expect(all(asAdmin, { from: "yesterday" })).rejects.toMatchObject({ type: "VALIDATION_ERROR" });
    await expect(all(asAdmin, { cursor: "nonsense" })).rejects.toMatchObject({ type: "VALIDATION_FAILED" });
  });

  /** Which index may serve a filter. Without one of its own a list walks the scope's leads in order. */
  const OF: Record<string, RegExp> = {
    status: /_status$/,
    outcome: /_outcome$/,
    mode: /_mode$/,
    template_id: /^by_template$/,
    phone: /^by_phone$/,
    merchant_id: /^of_merchant$/,
    "another's merchant_id": /^of_merchant$/,
  };
  const SCOPE: Record<string, RegExp> = {
    "an admin": /^newest$/,
    "a reseller": /^by_reseller$/,
    "a merchant": /^of_merchant$/,
  };
  needing("plans", () => {
    test.each(cases)("%s by %s: an index finds them in their order", async (who, what, by, query) => {
      const served = await servedBy(it.stage.uri, "leads", () => it.stage.bus.call("leads.list", { by, ...query }));
      expect(served.sorted).toBe(false);
      const own = OF[what];
      // where two indexes fit, the database takes the more selective one; a merchant's leads are few
      const allowed = [own ?? SCOPE[who]!, ...(who === "a merchant" || what === "a bit of everything" ? [/./] : [])];
      expect(allowed.some((name) => name.test(served.index ?? ""))).toBe(true);
    });
  });
});

describe("what else is looked up", () => {
  needing("plans", () => {
    test("a request_id, by its index", async () => {
      for (const by of [asAdmin, asReseller(mine.reseller_id)]) {
        expect(
          await servedBy(it.stage.uri, "leads", () =>
            it.stage.bus.call("leads.byRequest", { by, request_id: "order-7" }),
          ),
        ).toEqual({ index: expect.stringMatching(/^by_request/), sorted: false });
      }
    });
  });
  describe("a recording", () => {
    const ask = (by: Asker, call_sid: string) => it.stage.bus.call("leads.recording", { by, call_sid });
    const own = asMerchant(mine.reseller_id, mine.merchant_id);
    const place = { key: "a.wav", content_type: "audio/wav", bytes: 9, where: "local" as const };
    const nowhere = { key: null, content_type: null, bytes: null, where: null };
    const kept = (over: object = {}) => {
      it.recordings["CA1"] = {
        lead_id: docs.find((d) => d.merchant_id === mine.merchant_id)!._id,
        state: "stored",
        ...place,
        ...over,
      };
    };

    test("its download is in the audit log once, however many pieces are asked for", async () => {
      kept();
      it.audited.length = 0;
      const by = { ...own, id: "listener" };
      for (let i = 0; i < 3; i++) await ask(by, "CA1");
      await ask({ ...by, id: "another" }, "CA1");
      expect(it.audited.map(({ action, subject, by: { id } }) => [action, subject, id])).toEqual([
        ["recording.downloaded", "CA1", "listener"],
        ["recording.downloaded", "CA1", "another"],
      ]);
    });
    test("is told to those whose lead it is, whichever of its attempts was recorded", async () => {
      kept();
      for (const by of [own, asReseller(mine.reseller_id), asAdmin]) expect(await ask(by, "CA1")).toEqual(place);
      await expect(ask(asMerchant(mine.reseller_id, beside.merchant_id), "CA1")).rejects.toMatchObject({
        type: "RECORDING_NOT_FOUND",
      });
      await expect(ask(own, "CA2")).rejects.toMatchObject({
        type: "RECORDING_NOT_FOUND",
        message: "No call of yours has this call_id.",
      });
      await expect(ask(own, randomUUID())).rejects.toMatchObject({
        message: expect.stringContaining("looks like a lead's id: a recording is asked for by the lead's call_id"),
      });
    });
    test.each(["", "..", "../../etc/passwd", "CA1\0", "CA 1", "é", "x".repeat(300)])(
      "%p names no call",
      async (call_sid) => {
        await expect(ask(asAdmin, call_sid)).rejects.toMatchObject({ type: "RECORDING_NOT_FOUND" });
      },
    );
    test.each([
      ["wanted", "RECORDING_NOT_READY"],
      ["fetching", "RECORDING_NOT_READY"],
      ["absent", "RECORDING_NOT_FOUND"],
      ["failed", "RECORDING_FAILED"],
    ] as const)("that is %s: %s", async (state, type) => {
      kept({ state, ...nowhere });
      await expect(ask(own, "CA1")).rejects.toMatchObject({ type });
    });
  });
});
