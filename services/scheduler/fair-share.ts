/** Whose lead it is. */
export interface Owned { reseller_id: string; merchant_id: string | null; template_id: string }

/** Takes one from each group in turn; groups keep the order in which they first appeared. */
function interleave<T>(groups: T[][]): T[] {
  const longest = Math.max(0, ...groups.map((g) => g.length));
  const out: T[] = [];
  for (let i = 0; i < longest; i++) for (const g of groups) { const item = g[i]; if (item !== undefined) out.push(item); }
  return out;
}

function grouped<T>(items: readonly T[], key: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const k = key(item);
    const group = groups.get(k);
    if (group) group.push(item); else groups.set(k, [item]);
  }
  return [...groups.values()];
}

/** Puts leads in a fair order: resellers take turns, within a reseller its merchants, within a merchant its templates; each keeps its own order. */
export const inFairOrder = <T extends Owned>(leads: readonly T[]): T[] =>
  interleave(grouped(leads, (l) => l.reseller_id).map((r) =>
    interleave(grouped(r, (l) => l.merchant_id ?? "").map((m) =>
      interleave(grouped(m, (l) => l.template_id))))));
