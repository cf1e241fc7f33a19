import type { PipelineStage } from "mongoose";
import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { fitting } from "../../../shared/batching.ts";
import { fail } from "../../../shared/errors.ts";
import { jsonBytes } from "../../../shared/json.ts";
import { isDecided, isSuccess } from "../rules/outcomes.ts";

/** Longest period that is summed up at once, and the one taken where none is named. */
const MAX_PERIOD_SECONDS = 366 * 86_400;
const DEFAULT_PERIOD_SECONDS = 30 * 86_400;
/** Most groups of one summary: templates times outcomes. */
export const MAX_GROUPS = 50_000;
/** Templates that are listed one by one. */
const MAX_TEMPLATES = 500;
/** Most bytes of them as JSON; the first always is. */
const TEMPLATES_BYTES = 300_000;
/** Outcome words that are listed: of all leads, and of a template's; the most frequent. */
const MAX_WORDS = 1000;
const MAX_TEMPLATE_WORDS = 200;
const COST_DECIMALS = 1e6;

type Summary = ResultOf<"leads.summary">;

/** What the database gives: leads of one template in one status with one outcome. */
export interface Group {
  _id: { template_id: string; status: string; outcome: string | null };
  template: string;
  leads: number;
  attempts: number;
  /** Leads that were called at least once. */
  called: number;
  answered: number;
  talk_seconds: number;
  cost: number;
  do_not_call: number;
}

/** The instants that are asked for. VALIDATION_FAILED. */
export function periodOf(
  { from, to }: Pick<ParamsOf<"leads.summary">, "from" | "to">,
  now: Date,
): { from: Date; to: Date } {
  const end = to === undefined ? now : new Date(to);
  const begin = from === undefined ? plusSeconds(end, -DEFAULT_PERIOD_SECONDS) : new Date(from);
  const wrong = (path: string, message: string): never =>
    fail("VALIDATION_FAILED", `${path} ${message}.`, { errors: [{ path, message }] });
  if (begin >= end) wrong("from", "must lie before to");
  if (end.getTime() - begin.getTime() > MAX_PERIOD_SECONDS * 1000) wrong("from", "must lie at most 366 days before to");
  return { from: begin, to: end };
}

/** Groups leads of a period; what is matched comes before. */
export const GROUPING: PipelineStage[] = [
  {
    $group: {
      _id: { template_id: "$template_id", status: "$status", outcome: "$outcome" },
      template: { $max: "$template" },
      leads: { $sum: 1 },
      attempts: { $sum: "$attempt_count" },
      called: { $sum: { $cond: [{ $gt: ["$attempt_count", 0] }, 1, 0] } },
      answered: { $sum: "$answered_count" },
      talk_seconds: { $sum: "$talk_seconds" },
      do_not_call: { $sum: { $cond: [{ $eq: ["$meta.do_not_call", true] }, 1, 0] } },
      cost: { $sum: { $sum: { $map: { input: { $objectToArray: "$costs" }, as: "c", in: "$$c.v" } } } },
    },
  },
  { $limit: MAX_GROUPS + 1 },
];

function figures(groups: readonly Group[]) {
  const sum = (of: (g: Group) => number): number => groups.reduce((total, g) => total + of(g), 0);
  const finished = sum((g) => (g._id.outcome === null ? 0 : g.leads));
  const answered = sum((g) => g.answered);
  const succeeded = sum((g) => (isSuccess(g._id.outcome) ? g.called : 0));
  // who was not called, or whom somebody took off before the end, had no chance to succeed
  const tried = sum((g) => (g._id.outcome === null || g._id.outcome === "ABORTED" ? 0 : g.called));
  return {
    leads: sum((g) => g.leads),
    finished,
    called: sum((g) => g.called),
    attempts: sum((g) => g.attempts),
    answered,
    average_talk_seconds: answered === 0 ? null : Math.round((sum((g) => g.talk_seconds) / answered) * 10) / 10,
    cost: Math.round(sum((g) => g.cost) * COST_DECIMALS) / COST_DECIMALS,
    do_not_call: sum((g) => g.do_not_call),
    decided: sum((g) => (isDecided(g._id.outcome) ? g.leads : 0)),
    success_rate: tried === 0 ? null : Math.round((succeeded / tried) * 1000) / 1000,
  };
}

/** Leads counted by a word of their group; groups without one are left out. */
function countsBy(groups: readonly Group[], word: (g: Group) => string | null): Record<string, number> {
  const counts = new Map<string, number>();
  for (const g of groups) {
    const key = word(g);
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + g.leads);
  }
  return Object.fromEntries(counts);
}

/** The most frequent words, in the order they came in. */
function frequent(counts: Record<string, number>, most: number): Record<string, number> {
  const entries = Object.entries(counts);
  if (entries.length <= most) return counts;
  const kept = new Set([...entries].sort(([, a], [, b]) => b - a).slice(0, most));
  return Object.fromEntries(entries.filter((entry) => kept.has(entry)));
}

/** Groups -> the figures of all and of each template. VALIDATION_FAILED for more groups than that limit. */
export function summaryOf(groups: readonly Group[], period: { from: Date; to: Date }, cost_currency: string): Summary {
  if (groups.length > MAX_GROUPS)
    fail(
      "VALIDATION_FAILED",
      "the period holds leads of too many templates to sum up at once; name a template_id or merchant_id, or a shorter period",
    );
  const listed = (of: readonly Group[], most: number) =>
    frequent(
      countsBy(of, (g) => g._id.outcome),
      most,
    );
  const byTemplate = Map.groupBy(groups, (g) => g._id.template_id);
  return {
    from: period.from.toISOString(),
    to: period.to.toISOString(),
    cost_currency,
    ...figures(groups),
    by_status: countsBy(groups, (g) => g._id.status),
    by_outcome: listed(groups, MAX_WORDS),
    templates: fitting(
      [...byTemplate]
        .map(([template_id, of]) => ({
          template_id,
          template: of[0]?.template ?? "",
          ...figures(of),
          by_outcome: listed(of, MAX_TEMPLATE_WORDS),
        }))
        .sort((a, b) => b.leads - a.leads || (a.template_id < b.template_id ? -1 : 1))
        .slice(0, MAX_TEMPLATES),
      jsonBytes,
      TEMPLATES_BYTES,
    ),
  };
}
