import { randomUUID } from "node:crypto";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import { asMerchant } from "../../../local/harness/stage.ts";
import { IS_LONG_FORM, played } from "../../fixtures/long-form.ts";
import { leadsStage, M, R, TEMPLATE, type LeadsStage } from "../../fixtures/leads-stage.ts";

const ROUNDS = IS_LONG_FORM ? 50 : played(4, 12);
const LEADS = 200;
const by = asMerchant(R, M);
const PLAN = {
  number_id: TEMPLATE,
  provider: "PROVIDER_ONE" as const,
  template_version: 1,
  policy: { max_retry: 0, retry_offset: 0, retry_on: null },
};
let at: LeadsStage;

beforeAll(async () => {
  at = await leadsStage();
});
afterAll(() => at.stop());

/** Seeded, so that a failure comes again. */
function mulberry(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [out[i], out[j]] = [out[j]!, out[i]!];
  }
  return out;
}
function slices<T>(items: T[], n: number): T[][] {
  return Array.from({ length: n }, (_, i) => items.filter((_item, k) => k % n === i));
}

test(`${ROUNDS * LEADS} races of abort against claim: each lead is aborted or claimed, never both and never neither`, async () => {
  const random = mulberry(20_261_121);
  const template = await at.db.collection<LeadDoc>("leads").findOne({ _id: (await at.push()).lead_call_tracker_id });
  const leads = at.db.collection<LeadDoc>("leads");
  // Lists play no part in this, and keeping their indexes up to date would be most of the work.
  for (const { name } of await leads.indexes())
    if (name !== undefined && !["_id_", "due_by_queue", "lease_of_template", "report"].includes(name))
      await leads.dropIndex(name);
  const wins = { aborted: 0, claimed: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const due_at = at.clock.now();
    const ids = Array.from({ length: LEADS }, () => randomUUID());
    await leads.insertMany(ids.map((_id) => ({ ...template!, _id, due_at })));
    const abort = async (some: string[]): Promise<[string, string][]> =>
      (
        await at.stage.bus.call("leads.abort", {
          by,
          leads: some.map((lead_id) => ({ lead_id, cancellation_reason: "race" })),
        })
      ).leads.map((l) => [l.id, l.status]);
    const claim = async (some: string[]): Promise<string[]> =>
      (
        await at.stage.bus.call("leads.claimMany", {
          lease_seconds: 3600,
          items: some.map((lead_id) => ({ lead_id, due_at: due_at.toISOString(), claim_no: 0, attempt: PLAN })),
        })
      ).claimed.flatMap((c) => c?.lead_id ?? []);
    // Several requests of either kind at once, each with its leads in an order of its own.
    const work = shuffled(
      [
        ...slices(shuffled(ids, random), 4).map((some) => () => abort(some)),
        ...slices(shuffled(ids, random), 4).map((some) => () => claim(some)),
      ],
      random,
    );
    // An abort looks before it writes: without a start that differs by some round trips, claims would win every race.
    const answers = await Promise.all(
      work.map(async (run) => {
        for (let trips = Math.floor(random() * 4); trips > 0; trips--) await at.db.command({ ping: 1 });
        return run();
      }),
    );
    const aborts = new Map(answers.flat().filter((a) => typeof a !== "string"));
    const claimed = new Set(answers.flat().filter((a) => typeof a === "string"));

    const stored = new Map(
      (
        await leads
          .find({ _id: { $in: ids } }, { projection: { status: 1, outcome: 1, attempt_count: 1, due_at: 1 } })
          .toArray()
      ).map((d) => [d._id, d]),
    );
    for (const id of ids) {
      const lead = stored.get(id);
      if (claimed.has(id))
        expect([aborts.get(id), lead?.status, lead?.attempt_count]).toEqual(["processing", "PROCESSING", 1]);
      else
        expect([aborts.get(id), lead?.status, lead?.outcome, lead?.attempt_count, lead?.due_at]).toEqual([
          "success",
          "FINISHED",
          "ABORTED",
          0,
          undefined,
        ]);
    }
    wins.claimed += claimed.size;
    wins.aborted += ids.length - claimed.size;
  }
  // A race that one side always wins is none.
  expect(Math.min(wins.aborted, wins.claimed)).toBeGreaterThan((ROUNDS * LEADS) / 20);
}, 120_000);
