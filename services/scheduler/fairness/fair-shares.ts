import { recencyCache, type Cache } from "../../../shared/cache.ts";

/** A queue that could be served now. `pools`: what it draws from besides the budget, by name. `weight`: how much more than others it gets; default 1. */
export interface Candidate {
  queue: string;
  reseller_id: string;
  merchant_id: string | null;
  template_id: string;
  pools: readonly string[];
  weight?: number;
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
/** What a queue's turn gives it, times its weight. */
const QUANTUM = 1;
/** Branches whose turn is kept; beyond it the longest unused ones begin anew. */
const MAX_BRANCHES = 20_000;

/** Whose turn it was, by branch (reseller, merchant): the child that was served last, and what children have left of their turns. */
export interface Turns {
  last: Cache<string>;
  credit: Cache<number>;
}

/** Turns of which none was taken yet. */
export const newTurns = (): Turns => ({
  last: recencyCache<string>({ max: MAX_BRANCHES }),
  credit: recencyCache<number>({ max: MAX_BRANCHES }),
});

interface Branch {
  path: string;
  children: Map<string, Branch>;
  order: string[];
  leaf: Candidate | null;
}

const branch = (path: string, leaf: Candidate | null): Branch => ({ path, children: new Map(), order: [], leaf });

function grow(candidates: readonly Candidate[]): Branch {
  const root = branch("", null);
  for (const c of candidates) {
    let at = root;
    for (const name of [c.reseller_id, c.merchant_id ?? "", c.queue]) {
      let child = at.children.get(name);
      if (!child) {
        child = branch(`${at.path}/${name}`, name === c.queue ? c : null);
        at.children.set(name, child);
        at.order.push(name);
      }
      at = child;
    }
  }
  const sort = (b: Branch): void => {
    b.order.sort();
    for (const child of b.children.values()) sort(child);
  };
  sort(root);
  return root;
}

/** Index of the child whose turn it is: the one served last while it has credit, else the next after it. */
function whoseTurn(b: Branch, turns: Turns): number {
  const last = turns.last.get(b.path);
  if (last === undefined) return 0;
  const child = b.children.get(last);
  if (child && (turns.credit.get(child.path) ?? 0) >= 1) return b.order.indexOf(last);
  const after = b.order.findIndex((name) => name > last);
  return after === -1 ? 0 : after;
}

/**
 * Serves one unit by deficit round robin: the child whose turn it is gets its quantum and is served while its credit lasts.
 * Children that can't be served leave the round with their credit. null: none in this branch can be served.
 */
function serve(b: Branch, turns: Turns, can: (c: Candidate) => boolean): Candidate | null {
  if (b.leaf) return can(b.leaf) ? b.leaf : null;
  while (b.order.length > 0) {
    const index = whoseTurn(b, turns);
    const name = b.order[index];
    const child = name === undefined ? undefined : b.children.get(name);
    if (name === undefined || !child) return null;
    const credit = turns.credit.get(child.path) ?? 0;
    if (credit < 1) {
      const more = credit + QUANTUM * (child.leaf?.weight ?? 1);
      turns.credit.set(child.path, more);
      turns.last.set(b.path, name);
      if (more < 1) continue;
    }
    const served = serve(child, turns, can);
    if (served) {
      turns.last.set(b.path, name);
      const left = (turns.credit.get(child.path) ?? 0) - 1;
      if (left > 0) turns.credit.set(child.path, left);
      else turns.credit.delete(child.path);
      return served;
    }
    turns.credit.delete(child.path);
    b.children.delete(name);
    b.order.splice(index, 1);
  }
  return null;
}

/**
 * How many leads each queue may send now: deficit round robin over resellers, their merchants and their queues. A template with
 * max(CAP_AT_LEAST, CAP_PART of all) leads in flight is served only with what no other takes. `turns` is kept from pass to
 * pass, and changed.
 */
export function fairShares(turns: Turns, candidates: readonly Candidate[], supply: Supply): Map<string, number> {
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
    let root = grow(candidates.filter(may));
    while (budget >= 1) {
      const served = serve(root, turns, may);
      if (!served) return;
      shares.set(served.queue, (shares.get(served.queue) ?? 0) + 1);
      inFlight.set(served.template_id, (inFlight.get(served.template_id) ?? 0) + 1);
      budget--;
      if (draw(served)) root = grow(candidates.filter(may));
    }
  };
  round((c) => can(c) && (inFlight.get(c.template_id) ?? 0) < cap);
  round(can);
  return shares;
}
