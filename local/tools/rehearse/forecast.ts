import { settle } from "../../../services/leads/rules/settlement.ts";
import { admit, type Admission } from "../../../services/scheduler/admission/admission.ts";
import type { Facts, LineFacts } from "../../../services/scheduler/admission/gates.ts";
import { rateLimitOf, ringLimit } from "../../../services/scheduler/limits/rate-permits.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import type { GateName } from "../../../shared/contracts/explanation.ts";
import { callees, REACHED, seeded, type Assumptions } from "./callees.ts";
import { createHeap } from "./time-heap.ts";
import { createTokens } from "./in-memory-limiter.ts";

/** What the leads would meet: the plan as the scheduler has it, the pauses, and the lines nobody else uses. Calls per second 0: no limit. */
export interface World {
  plan: Plan;
  pauses: Facts["pauses"];
  lines: LineFacts;
  calls_per_second: number;
  country: string | null;
}

/** What is rehearsed: so many leads, all pushed at one instant. */
export interface Rehearsal extends Assumptions {
  at: Date;
  leads: number;
  seed: number;
}

/** What came of it. `held`: for each gate the hours that leads waited because of it, all leads together; `due`: their own retry and initial offsets. */
export interface Forecast {
  /** When the last lead was finished. */
  finish_at: Date;
  dials: number;
  reached: number;
  /** Leads that ended otherwise, by outcome. */
  ended: ReadonlyMap<string, number>;
  /** Dials by the quarter of an hour they were placed in (no zone is shifted by less); its beginning in ms since 1970. */
  by_quarter: ReadonlyMap<number, number>;
  held: ReadonlyMap<GateName, number>;
  peak_lines: number;
  lines: number;
  /** A gate that would not have let anybody through without somebody's doing. */
  stuck: { gate: GateName; detail: string } | null;
}

/** Told of each dial: for tests that check every one. */
export type Watch = (dial: { at: number; ends_at: number }) => void;

type Hold = Extract<Admission, { verdict: "hold" }>;
interface Waiting {
  tries: number;
  due: number;
}
type Ending = Waiting & { facts: ReturnType<ReturnType<typeof callees>>["facts"] };

const HOUR_MS = 3_600_000;
const QUARTER_MS = HOUR_MS / 4;
const SECOND_MS = 1000;

/** How the leads of one rehearsal stand. */
function standing(world: World, r: Rehearsal) {
  const configuration = world.plan.configuration;
  const own = configuration && rateLimitOf(configuration, null);
  return {
    /** Due now, in the order in which they came due; the first `head` of them are gone. */
    ready: [] as Waiting[],
    head: 0,
    later: createHeap<Waiting>(),
    calls: createHeap<Ending>(),
    rate: createTokens(own ? ringLimit(own) : null),
    carrier: createTokens(world.calls_per_second === 0 ? null : { max: world.calls_per_second, window_ms: SECOND_MS }),
    ring: callees(r, world.plan.max_call_seconds, seeded(r.seed)),
    dials: 0,
    reached: 0,
    ended: new Map<string, number>(),
    by_quarter: new Map<number, number>(),
    held: new Map<GateName, number>(),
    peak: 0,
    stuck: null as Forecast["stuck"],
    finished_at: r.at.getTime(),
  };
}
type Standing = ReturnType<typeof standing>;

const add = <K>(map: Map<K, number>, key: K, n: number): void => {
  map.set(key, (map.get(key) ?? 0) + n);
};
const readyCount = (s: Standing): number => s.ready.length - s.head;

const capacity = ({ lines }: World): number => (lines.home ?? lines).free_lines;

function linesNow({ lines }: World, taken: number): LineFacts {
  const left = (of: { numbers: number; free_lines: number }) => ({
    numbers: of.numbers,
    free_lines: Math.max(0, of.free_lines - taken),
  });
  return { ...left(lines), home: lines.home && left(lines.home) };
}

/** The scheduler's own verdict on the next lead in line, with what it would know at this instant. */
function judged(world: World, r: Rehearsal, s: Standing, at: number, lead: Waiting): Admission {
  return admit({
    at: new Date(at),
    plan: world.plan,
    pauses: world.pauses,
    blacklisted: false,
    country: world.country,
    lines: linesNow(world, s.calls.size),
    rate: { limit: s.rate.limit, state: s.rate.state() },
    carrier: { limit: s.carrier.limit, state: s.carrier.state() },
    lead: {
      status: lead.tries === 0 ? "BACKLOG" : "RETRY",
      due_at: new Date(lead.due).toISOString(),
      created_at: r.at.toISOString(),
      execution_mode: "TELEPHONY",
      phone_number: "",
      masked: null,
    },
  });
}

/** Ends every lead that waits: the verdict on one of them is that on all, for they were pushed together. */
function dropAll(s: Standing, at: number, outcome: string): void {
  add(s.ended, outcome, readyCount(s) + s.later.drain().length);
  s.ready = [];
  s.head = 0;
  s.finished_at = Math.max(s.finished_at, at);
}

/** Dials as many as lines and tokens are there for, at the first instant at which both limits have room; the gates let nobody through who must wait long for it. */
function dial(world: World, s: Standing, now: number, watch: Watch | undefined): void {
  const at = Math.max(now, s.rate.room(now).next ?? now, s.carrier.room(now).next ?? now);
  const count = Math.min(
    readyCount(s),
    capacity(world) - s.calls.size,
    Math.max(1, Math.min(s.rate.room(at).free, s.carrier.room(at).free)),
  );
  s.rate.take(at, count);
  s.carrier.take(at, count);
  for (const lead of s.ready.slice(s.head, s.head + count)) {
    const { ms, facts } = s.ring(at);
    s.calls.push(at + ms, { tries: lead.tries + 1, due: at + ms, facts });
    watch?.({ at, ends_at: at + ms });
  }
  s.head += count;
  if (s.head > s.ready.length / 2) {
    s.ready = s.ready.slice(s.head);
    s.head = 0;
  }
  s.dials += count;
  s.peak = Math.max(s.peak, s.calls.size);
  add(s.by_quarter, Math.floor(at / QUARTER_MS) * QUARTER_MS, count);
}

/** Settles the calls that have ended by now, and makes the leads ready whose time has come. */
function catchUp(world: World, s: Standing, now: number): void {
  const configuration = world.plan.configuration;
  while ((s.calls.next() ?? Infinity) <= now) {
    const call = s.calls.pop();
    if (!call || !configuration) break;
    const policy = {
      max_retry: configuration.max_retry,
      retry_offset: configuration.retry_offset,
      retry_on: world.plan.retry_on,
    };
    const next = settle(call.facts, policy, call.tries, new Date(call.due));
    s.finished_at = Math.max(s.finished_at, call.due);
    if (next.kind === "retry") s.later.push(next.due_at.getTime(), { tries: call.tries, due: next.due_at.getTime() });
    else if (next.outcome === REACHED) s.reached++;
    else add(s.ended, next.outcome, 1);
  }
  while ((s.later.next() ?? Infinity) <= now) {
    const lead = s.later.pop();
    if (lead) s.ready.push(lead);
  }
}

/** Serves everybody who may be dialled now; gives the hold that ended it, null when nobody waits any more. */
function serve(world: World, r: Rehearsal, s: Standing, now: number, watch: Watch | undefined): Hold | null {
  const expires = r.at.getTime() + world.plan.max_age_seconds * SECOND_MS;
  if (readyCount(s) === 0 && s.later.size > 0 && now >= expires) dropAll(s, now, "EXPIRED");
  for (;;) {
    const lead = s.ready[s.head];
    if (!lead) return null;
    const verdict = judged(world, r, s, now, lead);
    if (verdict.verdict === "hold") return verdict;
    if (verdict.verdict === "drop") dropAll(s, now, verdict.outcome);
    else dial(world, s, now, watch);
  }
}

/**
 * Drives the leads through the scheduler's own gates and the settling of attempts over a clock that jumps from event to event. Deterministic for a seed. It ends: leads that
 * nothing lets through expire with their template's max_age_seconds.
 */
export function forecast(world: World, r: Rehearsal, watch?: Watch): Forecast {
  const s = standing(world, r);
  const start = r.at.getTime();
  const due = start + (world.plan.configuration?.initial_offset ?? 0) * SECOND_MS;
  const expires = start + world.plan.max_age_seconds * SECOND_MS;
  for (let i = 0; i < r.leads; i++) s.later.push(due, { tries: 0, due });

  let hold: Hold | null = null;
  for (let now = start; ;) {
    catchUp(world, s, now);
    // what a gate holds until an instant, nothing that happens before lets through
    const sure: boolean = now < Math.min(hold?.until?.getTime() ?? 0, expires) && readyCount(s) > 0;
    if (!sure) hold = serve(world, r, s, now, watch);
    const waits = readyCount(s) + s.later.size;
    if (waits === 0 && s.calls.size === 0) break;
    const instants = [
      s.calls.next(),
      s.later.next(),
      hold?.until?.getTime() ?? null,
      waits > 0 && now < expires ? expires : null,
    ].filter((t) => t !== null && t > now) as number[];
    const next = Math.min(...instants);
    if (!Number.isFinite(next)) break;
    if (hold) {
      add(s.held, hold.gate, (readyCount(s) * (next - now)) / HOUR_MS);
      if (hold.until === null && s.calls.size === 0) s.stuck ??= { gate: hold.gate, detail: hold.reason };
    }
    if (s.later.size > 0) add(s.held, "due", (s.later.size * (next - now)) / HOUR_MS);
    now = next;
  }
  return {
    finish_at: new Date(s.finished_at),
    dials: s.dials,
    reached: s.reached,
    ended: s.ended,
    by_quarter: s.by_quarter,
    held: s.held,
    peak_lines: s.peak,
    lines: capacity(world),
    stuck: s.stuck,
  };
}
