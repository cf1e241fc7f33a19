import { recencyCache, type Cache } from "../../../shared/cache.ts";

/** A queue that could be served now. `pools`: what it draws from besides the budget, by name. */
export interface Candidate {
  queue: string;
  reseller_id: string;
  merchant_id: string | null;
  template_id: string;
  pools: readonly string[];
  /** Most it can take; absent: without end. */
  wants?: number;
}

/**
 * What may be handed out. `pools`: the size of each named pool; a pool that is not named is unlimited. `in_flight`: leads in
 * flight, in all and by template.
 */
export interface Supply {
  budget: number;
  pools: ReadonlyMap<string, number>;
  in_flight: { total: number; templates: ReadonlyMap<string, number> };
}

/** Leads of one template that may be in flight while others wait; beyond it only this part of all leads in flight. */
export const CAP_AT_LEAST = 30;
export const CAP_PART = 0.1;
/** Branches whose turn is kept; beyond it the longest unused ones begin anew. */
const MAX_BRANCHES = 20_000;

/** Whose turn it was, by branch (reseller, merchant, template): the child that was served last. */
export type Turns = Cache<string>;

/** Turns of which none was taken yet. */
export const newTurns = (): Turns => recencyCache<string>({ max: MAX_BRANCHES });

/** A reseller, a merchant, a template or a queue. `children` are in the order of their turns. */
interface Branch {
  path: string;
  leaf: Candidate | null;
  children: Map<string, Branch>;
}

const levelsOf = (c: Candidate): [string, string, string, string] => [
  c.reseller_id,
  c.merchant_id ?? "",
  c.template_id,
  c.queue,
];

/** The order of turns: by reseller, merchant, template and queue. */
function byLevels(a: Candidate, b: Candidate): number {
  const others = levelsOf(b);
  for (const [i, name] of levelsOf(a).entries()) {
    const other = others[i] ?? "";
    if (name !== other) return name < other ? -1 : 1;
  }
  return 0;
}

/** The tree of these candidates, which are in the order of their turns. */
function grow(candidates: readonly Candidate[]): Branch {
  const root: Branch = { path: "", leaf: null, children: new Map() };
  for (const c of candidates) {
    let at = root;
    const levels = levelsOf(c);
    for (const [i, name] of levels.entries()) {
      const child = at.children.get(name) ?? {
        path: `${at.path}/${name}`,
        leaf: i === levels.length - 1 ? c : null,
        children: new Map(),
      };
      at.children.set(name, child);
      at = child;
    }
  }
  return root;
}

/** The child after the one served last, or else the first. */
function nextChild({ children }: Branch, last: string | undefined): [string, Branch] | undefined {
  const [first] = children;
  if (last !== undefined) for (const child of children) if (child[0] > last) return child;
  return first;
}

/** Serves one unit by round robin; null: none in this branch can be served. */
function serve(b: Branch, turns: Turns, can: (c: Candidate) => boolean): Candidate | null {
  if (b.leaf) return can(b.leaf) ? b.leaf : null;
  while (b.children.size > 0) {
    const next = nextChild(b, turns.get(b.path));
    if (!next) return null;
    const [name, child] = next;
    turns.set(b.path, name);
    const served = serve(child, turns, can);
    if (served) return served;
    b.children.delete(name);
  }
  return null;
}

/**
 * How many leads each queue may send now: round robin over resellers, their merchants, their templates and the queues of each. A template with
 * max(CAP_AT_LEAST, CAP_PART of all) leads in flight is served only with what no other takes. `turns` is kept from pass to
 * pass, and changed.
 */
export function fairShares(turns: Turns, candidates: readonly Candidate[], supply: Supply): Map<string, number> {
  const inOrder = candidates.toSorted(byLevels);
  const shares = new Map<string, number>();
  const pools = new Map(supply.pools);
  const cap = Math.max(CAP_AT_LEAST, Math.floor(supply.in_flight.total * CAP_PART));
  const inFlight = new Map(supply.in_flight.templates);
  let budget = supply.budget;
  const can = (c: Candidate): boolean =>
    (shares.get(c.queue) ?? 0) < (c.wants ?? Number.POSITIVE_INFINITY) &&
    c.pools.every((p) => (pools.get(p) ?? 1) >= 1);
  const users = new Map<string, number>();
  for (const c of candidates) for (const p of c.pools) users.set(p, (users.get(p) ?? 0) + 1);
  /** Takes a unit out of the pools; true when one that many share ran dry, so that they need not be tried one by one. */
  const draw = (c: Candidate): boolean => {
    let dry = false;
    for (const p of c.pools) {
      const left = pools.get(p);
      if (left === undefined) continue;
      pools.set(p, left - 1);
      dry ||= left < 2 && (users.get(p) ?? 0) > 1;
    }
    return dry;
  };
  const round = (may: (c: Candidate) => boolean): void => {
    let root = grow(inOrder.filter(may));
    while (budget >= 1) {
      const served = serve(root, turns, may);
      if (!served) return;
      shares.set(served.queue, (shares.get(served.queue) ?? 0) + 1);
      inFlight.set(served.template_id, (inFlight.get(served.template_id) ?? 0) + 1);
      budget--;
      if (draw(served)) root = grow(inOrder.filter(may));
    }
  };
  round((c) => can(c) && (inFlight.get(c.template_id) ?? 0) < cap);
  round(can);
  return shares;
}
