import { ITEMS, type Cost, type Costs, type Item } from "../../../local/bench/guard/costs.ts";
import { DUE_AFTER_MS, type Expense, type RoadNotes } from "../engine/costed-road.ts";
import type { Fleet } from "../engine/fleet.ts";
import type { CostRun } from "../engine/scene.ts";

/** Before the lead is due, ms: what a push brings about is over, and no claim has begun. */
const BETWEEN_MS = 5000;

const nobody: CostRun = { person: null, turns: 0, reports: false };
const RUNS = {
  idle: nobody,
  unanswered: { ...nobody, person: "no_answer" },
  busy: { ...nobody, person: "busy" },
  reported: { ...nobody, person: "busy", reports: true },
  four: { ...nobody, person: "answers", turns: 4 },
  ten: { ...nobody, person: "answers", turns: 10 },
} as const satisfies Record<string, CostRun>;
type Run = keyof typeof RUNS;

/** What the expenses of a run come to less those of another, between two instants; the first of them is not in it. */
function costBetween(these: RoadNotes, those: RoadNotes | null, from = -1, until = Infinity): Cost {
  const cost = { statement_bytes: 0, message_bytes: 0 };
  const counts = { statement: new Map<string, number>(), message: new Map<string, number>() };
  const add = ({ at, kind, what, bytes }: Expense, sign: 1 | -1): void => {
    if (at <= from || at > until) return;
    counts[kind].set(what, (counts[kind].get(what) ?? 0) + sign);
    cost[`${kind}_bytes`] += sign * bytes;
  };
  for (const expense of these.expenses) add(expense, 1);
  for (const expense of those?.expenses ?? []) add(expense, -1);
  const some = (of: Map<string, number>) => Object.fromEntries([...of].filter(([, count]) => count !== 0));
  return { statements: some(counts.statement), messages: some(counts.message), ...cost };
}

/** Counts every item. Throws where a run went wrong. */
export async function countCosts(fleet: Fleet): Promise<Costs> {
  const notes = new Map<Run, RoadNotes>();
  await Promise.all(
    (Object.keys(RUNS) as Run[]).map(async (run) => {
      const { violations, notes: found } = await fleet.once(1, { costs: RUNS[run] });
      if (violations[0] || !found) throw new Error(`the run ${run} went wrong: ${violations[0]?.what ?? "no notes"}`);
      notes.set(run, found);
    }),
  );
  const of = (run: Run): RoadNotes => notes.get(run) ?? { expenses: [], handed_over_at: null };
  const [idle, busy] = [of("idle"), of("busy")];
  const dueSoon = DUE_AFTER_MS - BETWEEN_MS;
  const call = (run: Run): Cost => costBetween(of(run), idle, of(run).handed_over_at ?? 0);
  const costs: Record<Item, Cost> = {
    push: costBetween(busy, idle, -1, dueSoon),
    claim: costBetween(busy, idle, dueSoon, busy.handed_over_at ?? 0),
    "unanswered call": call("unanswered"),
    "busy call": call("busy"),
    "answered call, 4 turns": call("four"),
    "answered call, a minute with 10 turns": call("ten"),
    "webhook event": costBetween(of("reported"), busy),
    "2 idle minutes": costBetween(idle, null),
  };
  return Object.fromEntries(ITEMS.map((item) => [item, costs[item]])) as Record<Item, Cost>;
}
