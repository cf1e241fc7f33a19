import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { Cache } from "../../../shared/cache.ts";
import { spendPools } from "../memory/spend-rooms.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { DueLead } from "../../../shared/contracts/records/lead.ts";
import type { LimitState } from "../admission/gates.ts";
import { failedQueues, type Deferred, type StageResult } from "../dispositions.ts";
import { readDueLeads } from "../due-leads.ts";
import { fairShares, type Supply, type Turns } from "../fairness/fair-shares.ts";
import type { InFlightReservations } from "../limits/in-flight-reservations.ts";
import { carrierWindowId, configurationWindowId } from "../limits/rules/rate-limits.ts";
import { permitsAt, windowMs } from "../limits/rules/sliding-window.ts";
import type { OpenQueue } from "./admit-queues.ts";
import { lookAheadMs } from "./scan.ts";
import { hasPhone } from "../../../shared/numbering/spellings.ts";

/** A lead whose turn it is, and its queue. */
export interface PickedLead {
  open: OpenQueue;
  lead: DueLead;
}

/** What the stage needs. */
export interface PickFairlyDeps extends Pick<ServiceDeps, "bus" | "clock" | "env"> {
  turns: Turns;
  reservations: Pick<InFlightReservations, "count" | "aheadMs">;
  /** How many due leads the last read of a queue found, by queue. */
  dueCounts: Cache<number>;
  /** The last count of leads in flight, under the empty key. */
  inFlight: Cache<Supply["in_flight"]>;
}

/** What one queue gives in this pass. */
interface Share {
  open: OpenQueue;
  windows: readonly string[];
  leads: readonly DueLead[];
  /** False until its turn comes. */
  read: boolean;
  /** It has fewer leads than it could give. */
  exhausted: boolean;
  /** When it has more leads; null: unknown. */
  next_at: number | null;
}

/** One read of a queue: its first `most` leads, of `fair` that it may give. */
interface Read {
  share: Share;
  most: number;
  fair: number;
}

/** Times that shares which a queue could not fill go round again in one pass. */
const ROUNDS = 4;
/** A queue is read this far at least; where that was not far enough, the next round reads this many times more. */
const LEAST_READ = 4;
const WIDER = 4;
/** Most leads of one queue that one read returns. */
const MOST_OF_A_QUEUE = 500;
/** Time until a queue is read again whose permits are reserved by leads on their way to the dialer. */
const RESERVED_RECHECK_MS = 25;
/** Leads searched for callees on the whitelist while the rate limit is used up. */
const WHITELIST_READ = 200;

/** The rate windows with a limit that a queue's calls draw from. */
export function rateWindowsOf({ inputs, rate, carrier, whitelisted_only }: OpenQueue): [string, LimitState][] {
  const c = inputs.plan?.configuration;
  if (!c) return [];
  return [
    ...(carrier?.limit ? [[carrierWindowId(c.calling_provider), carrier] as [string, LimitState]] : []),
    ...(rate?.limit && !whitelisted_only ? [[configurationWindowId(c.id), rate] as [string, LimitState]] : []),
  ];
}

/** The names of all that a queue's calls draw from: rate windows, and the ledgers of its spend ceilings. */
export const poolsOf = (open: OpenQueue): string[] =>
  [...rateWindowsOf(open), ...spendPools(open.inputs)].map(([id]) => id);

/** Permits that each rate window has left, and calls that each spend ceiling has room for, without those that leads on their way to the dialer will ask for. */
function permitsLeft(queues: readonly OpenQueue[], { clock, reservations }: PickFairlyDeps): Map<string, number> {
  const aheadMs = reservations.aheadMs();
  const at = plusMs(clock.now(), aheadMs);
  const left = new Map<string, number>();
  for (const [id, { log, limit }] of queues.flatMap(rateWindowsOf)) {
    if (left.has(id)) continue;
    // whole windows that end on the way give all their permits again
    const again = limit ? limit.max * Math.floor(aheadMs / windowMs(limit)) : 0;
    const free = permitsAt(log, limit, at).free + again;
    left.set(id, Math.max(0, free - reservations.count(id, clock.monotonicMs())));
  }
  const nowMs = clock.monotonicMs();
  for (const [id, room] of queues.flatMap(({ inputs }) => spendPools(inputs)))
    left.set(id, Math.min(left.get(id) ?? Infinity, Math.max(0, room - reservations.count(id, nowMs))));
  return left;
}

/** Leads in flight by template; asked for only where queues compete. */
async function leadsInFlight(queues: number, { bus, inFlight }: PickFairlyDeps): Promise<Supply["in_flight"]> {
  if (queues < 2) return { total: 0, templates: new Map() };
  const known = inFlight.get("");
  if (known) return known;
  const { total, templates } = await bus.call("leads.inFlight", {});
  const counted = { total, templates: new Map(templates.map((t) => [t.template_id, t.count])) };
  inFlight.set("", counted);
  return counted;
}

const nameOf = ({ open }: Share): string => open.inputs.queue.queue;

const newShare = (open: OpenQueue): Share => ({
  open,
  windows: poolsOf(open),
  leads: [],
  read: false,
  exhausted: false,
  next_at: null,
});

/** The reads of one round: fair shares among the queues that may have more, each read about as far as it has leads. */
function readsOf(shares: ReadonlyMap<string, Share>, supply: Supply, round: number, deps: PickFairlyDeps): Read[] {
  const candidates = [...shares.values()].flatMap((share) => {
    const { open, windows, leads, exhausted } = share;
    return exhausted ? [] : [{ ...open.inputs.queue, pools: windows, wants: MOST_OF_A_QUEUE - 1 - leads.length }];
  });
  return [...fairShares(deps.turns, candidates, supply)].flatMap(([name, n]): Read[] => {
    const share = shares.get(name);
    if (!share) return [];
    const had = share.leads.length;
    const likely = Math.max(LEAST_READ, 2 * (deps.dueCounts.get(name) ?? 0));
    return [{ share, most: had + Math.min(n, likely * WIDER ** round), fair: had + n }];
  });
}

/** The share after a read that found these leads, in the order of their due times. */
function afterRead({ share, most }: Read, found: readonly DueLead[], now: Date): Share {
  const whitelist = share.open.inputs.plan?.configuration?.rate_limit_whitelist ?? [];
  const callable = (l: DueLead): boolean => !share.open.whitelisted_only || hasPhone(whitelist, l.phone_number);
  const due = found.filter((l) => new Date(l.due_at) <= now && callable(l));
  const leads = due.slice(0, most);
  const later = found.map((l) => Date.parse(l.due_at)).find((at) => at > now.getTime()) ?? null;
  const next_at = due.length > leads.length ? now.getTime() : later;
  return { ...share, leads, read: true, exhausted: leads.length < most, next_at };
}

/** The leads of all shares in turns, so that none of them gets all slots where slots are short. */
function inTurns(shares: readonly Share[]): PickedLead[] {
  const longest = Math.max(0, ...shares.map(({ leads }) => leads.length));
  const nth = (i: number): PickedLead[] =>
    shares.flatMap(({ open, leads }) => (leads[i] ? [{ open, lead: leads[i] }] : []));
  return Array.from({ length: longest }, (_, i) => nth(i)).flat();
}

/** When each queue is served next. A queue that got no turn because the budget was too small is served at once. */
const deferralOf = (share: Share, now: number, budgetLeft: number): Deferred[] => {
  if (share.open.whitelisted_only) return [];
  const at = share.read ? share.next_at : now + (budgetLeft > 0 ? RESERVED_RECHECK_MS : 0);
  return [{ kind: "queue", queue: nameOf(share), at }];
};

/**
 * Picks the leads whose turn it is: fair shares of the budget and of the permits left, read from their queues. A queue that
 * can't fill its share leaves the rest to the others in the same pass.
 */
export async function pickFairly(
  { queues, budget }: { queues: readonly OpenQueue[]; budget: number },
  deps: PickFairlyDeps,
): Promise<StageResult<PickedLead>> {
  if (queues.length === 0) return { ok: [], deferred: [], dropped: [] };
  const now = deps.clock.now();
  const until = plusMs(now, lookAheadMs(deps.env.SCHEDULER_INTERVAL_MS)).toISOString();
  const pools = permitsLeft(queues, deps);
  const in_flight = await leadsInFlight(queues.length, deps);
  const shares = new Map(queues.map((open) => [open.inputs.queue.queue, newShare(open)]));
  const failed: Deferred[] = [];
  let left = budget;

  for (let round = 0, short = true; short && left > 0 && round < ROUNDS; round++) {
    const reads = readsOf(shares, { budget: left, pools, in_flight }, round, deps);
    if (reads.length === 0) break;
    const limitOf = ({ share, most }: Read): number => (share.open.whitelisted_only ? WHITELIST_READ : most + 1);
    const wanted = reads.map((read) => ({ queue: nameOf(read.share), limit: limitOf(read) }));
    const found = await readDueLeads(deps, wanted, until);
    short = false;
    for (const read of reads) {
      const name = nameOf(read.share);
      const error = found.failed.get(name);
      if (error !== undefined) {
        failed.push(...failedQueues([{ queue: name }], error));
        shares.delete(name);
        continue;
      }
      const share = afterRead(read, found.of.get(name) ?? [], now);
      const more = share.leads.length - read.share.leads.length;
      left -= more;
      for (const window of share.windows) pools.set(window, (pools.get(window) ?? 0) - more);
      // shares that were read stand last, in the order of their turns
      if (!read.share.read) shares.delete(name);
      shares.set(name, share);
      short ||= share.leads.length < read.fair;
    }
  }
  const all = [...shares.values()];
  for (const share of all) if (share.read) deps.dueCounts.set(nameOf(share), share.leads.length);
  const deferred = [...failed, ...all.flatMap((share) => deferralOf(share, now.getTime(), left))];
  return { ok: inTurns(all), deferred, dropped: [] };
}
