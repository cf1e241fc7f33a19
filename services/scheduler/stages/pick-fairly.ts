import { plusMs } from "../../../shared/clock.ts";
import type { DueLead } from "../../../shared/contracts/lead.ts";
import { fairShares, type Candidate, type Supply } from "../fairness/fair-shares.ts";
import { PACE_AHEAD_MS, type RingFacts } from "../admission/gates.ts";
import { carrierRing, configurationRing } from "../limits/rate-permits.ts";
import { lookAheadMs } from "./scan.ts";
import type { Open } from "./admit-queues.ts";
import { roomAt } from "../limits/sliding-window.ts";
import type { Works } from "../deps.ts";

/** A lead whose turn it is. */
export interface Chosen {
  open: Open;
  lead: DueLead;
}

/** Times that shares which a queue could not fill go round again in one pass. */
const ROUNDS = 4;
/** A queue is read this far at least; where that was not far enough, the next round reads this many times more. */
const LEAST_READ = 4;
const WIDER = 4;
/** Most leads of one queue that one look reads. */
const MOST_OF_A_QUEUE = 500;
/** Pause before room is looked for again that others on their way to the dialler have spoken for. */
const ROOM_RECHECK_MS = 25;
/** Leads looked through for callees on the whitelist while the rate limit is used up. */
const WHITELIST_LOOK = 200;

/** Names of the rings that a queue's calls draw from, where they have a limit. */
export function ringsOf({ facts, rate, carrier, whitelisted_only }: Open): { ring: string; facts: RingFacts }[] {
  const c = facts.plan?.configuration;
  if (!c) return [];
  return [
    ...(carrier?.limit ? [{ ring: carrierRing(c.calling_provider), facts: carrier }] : []),
    ...(rate?.limit && !whitelisted_only ? [{ ring: configurationRing(c.id), facts: rate }] : []),
  ];
}

function poolsOf({ ground, spoken }: Works, open: readonly Open[]): Map<string, number> {
  const at = plusMs(ground.clock.now(), PACE_AHEAD_MS);
  const pools = new Map<string, number>();
  for (const { ring, facts } of open.flatMap(ringsOf)) {
    if (!pools.has(ring))
      pools.set(
        ring,
        Math.max(0, roomAt(facts.state, facts.limit, at).free - spoken.count(ring, ground.clock.monotonicMs())),
      );
  }
  return pools;
}

/** Who is under way; asked only where somebody might stand in another's way. */
async function inFlight({ ground, inFlight: known }: Works, open: readonly Open[]): Promise<Supply["in_flight"]> {
  if (open.length < 2) return { total: 0, templates: new Map() };
  const fresh = known.get("");
  if (fresh) return fresh;
  const { total, templates } = await ground.bus.call("leads.inFlight", {});
  const counted = { total, templates: new Map(templates.map((t) => [t.template_id, t.count])) };
  known.set("", counted);
  return counted;
}

/** How many leads a look at the queue will likely find: reading many that are not due yet would cost more than to ask again. */
const likely = ({ yields }: Works, queue: string): number => Math.max(LEAST_READ, 2 * (yields.get(queue) ?? 0));

/** Takes turns among the queues, so that where lines are short none of them takes all. */
function interleaved(byQueue: ReadonlyMap<Open, DueLead[]>): Chosen[] {
  const longest = Math.max(0, ...[...byQueue.values()].map((leads) => leads.length));
  return Array.from({ length: longest }, (_, i) =>
    [...byQueue].flatMap(([open, leads]) => (leads[i] ? [{ open, lead: leads[i] }] : [])),
  ).flat();
}

/**
 * The leads whose turn it is: fair shares of the budget, and of what rings have room for, read from their queues. A queue that could not fill its share leaves the rest to
 * the others in the same pass. What was seen of each queue says when to look at it next.
 */
export async function choose(w: Works, open: readonly Open[], budget: number): Promise<Chosen[]> {
  const { ground, agenda } = w;
  const now = ground.clock.now();
  const until = plusMs(now, lookAheadMs(ground.env.SCHEDULER_INTERVAL_MS)).toISOString();
  const pools = poolsOf(w, open);
  const in_flight = await inFlight(w, open);
  const byName = new Map(open.map((o) => [o.queue.queue, o]));
  const got = new Map<Open, DueLead[]>();
  const next = new Map<Open, number | null>();
  const drained = new Set<Open>();
  let left = budget;

  for (let round = 0; round < ROUNDS && left > 0; round++) {
    const candidates = open
      .filter((o) => !drained.has(o))
      .map((o): Candidate => ({
        ...o.queue,
        pools: ringsOf(o).map((r) => r.ring),
        wants: MOST_OF_A_QUEUE - 1 - (got.get(o)?.length ?? 0),
      }));
    const shares = [...fairShares(w.turns, candidates, { budget: left, pools, in_flight })].flatMap(([name, n]) => {
      const o = byName.get(name);
      const had = o ? (got.get(o)?.length ?? 0) : 0;
      return o ? [{ o, name, had, most: had + Math.min(n, likely(w, name) * WIDER ** round), share: had + n }] : [];
    });
    if (shares.length === 0) break;
    const { leads } = await ground.bus.call("leads.dueOf", {
      queues: shares.map(({ o, name, most }) => ({
        queue: name,
        limit: o.whitelisted_only ? WHITELIST_LOOK : most + 1,
      })),
      until,
    });
    const read = Map.groupBy(leads, (l) => l.queue ?? l.template_id);
    let short = 0;
    for (const { o, name, had, most, share } of shares) {
      const seen = read.get(name) ?? [];
      const due = seen.filter(
        (l) =>
          new Date(l.due_at) <= now &&
          (!o.whitelisted_only || o.facts.plan?.configuration?.rate_limit_whitelist.includes(l.phone_number)),
      );
      const taken = due.slice(0, most);
      got.set(o, taken);
      left -= taken.length - had;
      for (const { ring } of ringsOf(o)) pools.set(ring, (pools.get(ring) ?? 0) - (taken.length - had));
      if (taken.length < most) drained.add(o);
      if (taken.length < share) short++;
      next.set(
        o,
        due.length > taken.length
          ? now.getTime()
          : (seen.map((l) => Date.parse(l.due_at)).find((at) => at > now.getTime()) ?? null),
      );
    }
    if (short === 0) break;
  }
  for (const [o, at] of next) {
    w.yields.set(o.queue.queue, got.get(o)?.length ?? 0);
    if (!o.whitelisted_only) agenda.learn(o.queue.queue, at);
  }
  // queues whose turn did not come are looked at again: at once when the budget was too small, a little later when what is on its way to the dialler takes all room
  for (const o of open)
    if (!got.has(o) && !o.whitelisted_only)
      agenda.learn(o.queue.queue, now.getTime() + (left > 0 ? ROOM_RECHECK_MS : 0));
  return interleaved(got);
}
