import { WRITE } from "./cost-page.ts";
import { ITEMS, totalsOf, type Cost, type Costs, type Figure } from "./costs.ts";
import type { ItemRounds } from "./tree-rounds.ts";

/** One judged figure. */
export interface Check {
  ok: boolean;
  says: string;
}

/** How much more bytes, messages and processor time are let pass; of statements not one. */
export const TOLERANCE = 1.05;

const LIMITS: Readonly<Record<Figure, number>> = {
  statements: 1,
  "statement bytes": TOLERANCE,
  messages: TOLERANCE,
  "message bytes": TOLERANCE,
};

/** Kinds of which there are more or fewer than before: `update calls 2 → 3`. */
function changes(kept: Cost["statements"], now: Cost["statements"]): string {
  const kinds = [...new Set([...Object.keys(kept), ...Object.keys(now)])].sort();
  return kinds
    .filter((kind) => kept[kind] !== now[kind])
    .map((kind) => `${kind} ${kept[kind] ?? 0} → ${now[kind] ?? 0}`)
    .join(", ");
}

/** Judges what was counted by what is kept: each figure of each item. */
export function judgeCounts(kept: Costs, now: Costs): Check[] {
  return ITEMS.flatMap((item) => {
    const [before, after] = [totalsOf(kept[item]), totalsOf(now[item])];
    return (Object.keys(LIMITS) as Figure[]).map((figure): Check => {
      const [was, is] = [before[figure], after[figure]];
      const kinds = figure.startsWith("statement") ? "statements" : "messages";
      const which = changes(kept[item][kinds], now[item][kinds]);
      const grew = `${item}: ${figure} ${was} → ${is}${which === "" ? "" : ` (${which})`}`;
      if (is > was * LIMITS[figure]) return { ok: false, says: grew };
      if (is === was && which === "") return { ok: true, says: `${item}: ${figure} ${is}` };
      return { ok: true, says: `${grew}; the page is to say so: ${WRITE}` };
    });
  });
}

/** Student's t: so many standard errors above the mean of 2, 3, … rounds lies by chance one in a hundred; with more rounds than there are here, as many as with the last. */
const STUDENT = [31.8, 6.96, 4.54, 3.75, 3.36, 3.14, 3, 2.9, 2.82, 2.76, 2.72, 2.68, 2.65, 2.62, 2.6];
/** How far a count may be off on real processes, where periodic work comes in between. */
const COUNT_TOLERANCE = 2;

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** The mean of what rounds showed, and the bounds within which it lies in 99 runs of a hundred; of one round there are none. */
export function boundsOf(values: readonly number[]): { mean: number; low: number; high: number } {
  const middle = mean(values);
  const error = Math.sqrt(mean(values.map((x) => (x - middle) ** 2)) / Math.max(1, values.length - 1));
  const sure = values.length < 2 ? Infinity : (STUDENT[values.length - 2] ?? STUDENT.at(-1) ?? Infinity) * error;
  return { mean: middle, low: middle - sure, high: middle + sure };
}

/** Processor time of rounds, each on this tree and beside it on another; `world`: which pair of processes played it. */
export interface TimedRounds {
  item: string;
  pairs: { ours: { ms: number }; theirs: { ms: number }; world: number }[];
}

/** Judges the processor time of an item beside another tree: too much is what is surely more than 5 % more in each of at least two pairs of processes, as one process may be slower than its like for as long as it lives. */
export function judgeProcessor({ item, pairs }: TimedRounds): Check {
  const of = boundsOf(pairs.map(({ ours, theirs }) => Math.log(ours.ms / theirs.ms)));
  const [share = 0, low = 0, high = 0] = [of.mean, of.low, of.high].map((log) => Math.exp(log));
  const [was, is] = [mean(pairs.map((p) => p.theirs.ms)), mean(pairs.map((p) => p.ours.ms))];
  const by = `${share.toFixed(2)} of it (${low.toFixed(2)} to ${high.toFixed(2)}, ${pairs.length} rounds)`;
  const worlds = [...new Set(pairs.map(({ world }) => world))].map((world) => {
    const logs = pairs.filter((p) => p.world === world).map(({ ours, theirs }) => Math.log(ours.ms / theirs.ms));
    return Math.exp(boundsOf(logs).low);
  });
  const ok = worlds.length < 2 || worlds.some((from) => from <= TOLERANCE);
  return { ok, says: `${item}: processor time ${was.toFixed(1)} → ${is.toFixed(1)} ms, ${by}` };
}

/** Judges the commands of an item on real processes beside another tree: too many are surely more than 2 more. */
export function judgeCommands({ item, pairs }: ItemRounds): Check {
  const { low } = boundsOf(pairs.map(({ ours, theirs }) => ours.commands - theirs.commands));
  const [was, is] = [mean(pairs.map((p) => p.theirs.commands)), mean(pairs.map((p) => p.ours.commands))];
  return { ok: low <= COUNT_TOLERANCE, says: `${item}: commands ${was.toFixed(1)} → ${is.toFixed(1)}` };
}
