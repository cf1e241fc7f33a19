import { WRITE } from "./cost-page.ts";
import { ITEMS, totalsOf, type Cost, type Costs, type Figure } from "./costs.ts";

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
