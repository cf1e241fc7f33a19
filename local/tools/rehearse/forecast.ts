import { settle } from "../../../services/leads/pure.ts";
import {
  admitLead,
  rateLimitOf,
  toRateLimit,
  type Admission,
  type GateInputs,
  type SlotAvailability,
} from "../../../services/scheduler/pure.ts";
import { callsThatDecide, judgeCap } from "../../../shared/time/sliding-cap.ts";
import type { CalleeCap } from "../../../shared/contracts/merchants.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import type { GateName } from "../../../shared/contracts/records/explanation.ts";
import { callees, REACHED, seeded, type Assumptions } from "./callees.ts";
import { createHeap } from "./time-heap.ts";
import { createLimiter } from "./in-memory-limiter.ts";
import { spendForecast, type SpendWorld } from "./spend-forecast.ts";

/** What the leads meet: the plan as the scheduler has it, the pauses, and the slots no other template uses. Calls per second 0: no limit. */
export interface World {
  plan: Plan;
  pauses: GateInputs["pauses"];
  slots: SlotAvailability;
  calls_per_second: number;
  country: string | null;
  /** The merchant's; each lead is taken for another person whom nobody called before. Absent or null: none. */
  callee_cap?: CalleeCap | null;
  /** Absent or null: none. */
  spend?: SpendWorld | null;
  /** Zones where the callees may be; absent: nothing is assumed of that. */
  callee_zones?: readonly string[];
}

/** What is rehearsed: so many leads, all pushed at one instant. */
export interface Rehearsal extends Assumptions {
  at: Date;
  leads: number;
  seed: number;
}

/** The forecast. `waited`: for each gate the hours that leads waited because of it, all leads together; `due`: their own retry and initial offsets. */
export interface Forecast {
  /** When the last lead was finished. */
  finish_at: Date;
  dials: number;
  reached: number;
  /** Leads that ended otherwise, by outcome. */
  ended: ReadonlyMap<string, number>;
  /** Dials by the quarter of an hour they were placed in (no zone is shifted by less); its beginning in ms since 1970. */
  by_quarter: ReadonlyMap<number, number>;
  waited: ReadonlyMap<GateName, number>;
  peak_slots: number;
  slots: number;
  /** A gate that lets no lead pass until a person changes something. */
  stuck: { gate: GateName; detail: string } | null;
}

/** Called with each dial: for tests that check every one. */
export type Watch = (dial: { at: number; ends_at: number }) => void;

type Deferral = Extract<Admission, { verdict: "deferred" }>;
interface Waiting {
  tries: number;
  due: number;
  /** When it was dialled, as far as the cap on calls per callee asks. */
  dialled: readonly number[];
}
type Ending = Waiting & { facts: ReturnType<ReturnType<typeof callees>>["facts"]; spend_ref: string | null };

const HOUR_MS = 3_600_000;
const QUARTER_MS = HOUR_MS / 4;
const SECOND_MS = 1000;

/** The state of one rehearsal. */
function newState(world: World, r: Rehearsal) {
  const configuration = world.plan.configuration;
  const own = configuration && rateLimitOf(configuration, null);
  return {
    /** Due now, in the order in which they came due; the first `head` of them are gone. */
    ready: [] as Waiting[],
    head: 0,
    later: createHeap<Waiting>(),
    /** Due, and called as often as the cap on calls per callee allows. */
    capped: createHeap<Waiting>(),
    calls: createHeap<Ending>(),
    rate: createLimiter(own ? toRateLimit(own) : null),
    carrier: createLimiter(world.calls_per_second === 0 ? null : { max: world.calls_per_second, window_ms: SECOND_MS }),
    spend: world.spend ? spendForecast(world.spend, world.plan.max_call_seconds) : null,
    ring: callees(r, world.plan.max_call_seconds, seeded(r.seed)),
    dials: 0,
    reached: 0,
    ended: new Map<string, number>(),
    by_quarter: new Map<number, number>(),
    waited: new Map<GateName, number>(),
    peak: 0,
    stuck: null as Forecast["stuck"],
    finished_at: r.at.getTime(),
  };
}
type State = ReturnType<typeof newState>;

const add = <K>(map: Map<K, number>, key: K, n: number): void => {
  map.set(key, (map.get(key) ?? 0) + n);
};
const readyCount = (s: State): number => s.ready.length - s.head;

const capacity = ({ slots }: World): number => (slots.home ?? slots).free_lines;

function slotsNow({ slots }: World, taken: number): SlotAvailability {
  const left = (of: { numbers: number; free_lines: number }) => ({
    numbers: of.numbers,
    free_lines: Math.max(0, of.free_lines - taken),
  });
  return { ...left(slots), home: slots.home && left(slots.home) };
}

/** The scheduler's admission of the next lead, with what it would know at this instant. */
function admissionOf(world: World, r: Rehearsal, s: State, at: number, lead: Waiting): Admission {
  return admitLead({
    at: new Date(at),
    plan: world.plan,
    pauses: world.pauses,
    blacklisted: false,
    country: world.country,
    callee_zones: world.callee_zones ?? [],
    slots: slotsNow(world, s.calls.size),
    rate: { limit: s.rate.limit, log: s.rate.log() },
    carrier: { limit: s.carrier.limit, log: s.carrier.log() },
    ceilings: world.spend ? world.spend.ceilings : null,
    spend: s.spend?.room(at) ?? null,
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

/** Ends every lead that waits: the gates drop all or none of them, for they were pushed together. */
function dropAll(s: State, at: number, outcome: string): void {
  add(s.ended, outcome, readyCount(s) + s.later.drain().length + s.capped.drain().length);
  s.ready = [];
  s.head = 0;
  s.finished_at = Math.max(s.finished_at, at);
}

const talkSeconds = ({ answered_at, ended_at }: Ending["facts"]): number =>
  answered_at === null || ended_at === null ? 0 : (Date.parse(ended_at) - Date.parse(answered_at)) / SECOND_MS;

/** When a lead was dialled, with this dial, as far as the cap on calls per callee asks. */
const dialledAt = ({ callee_cap }: World, { dialled }: Waiting, at: number): readonly number[] =>
  callee_cap ? [...dialled, at].slice(-callsThatDecide(callee_cap)) : dialled;

/** From when the cap on calls per callee lets the lead be dialled; null: now. */
function cappedUntil({ callee_cap }: World, { dialled }: Waiting, at: number): number | null {
  if (!callee_cap) return null;
  const calls = dialled.map((ms) => new Date(ms));
  return judgeCap(callee_cap, calls, new Date(at)).free_at?.getTime() ?? null;
}

/** Dials as many leads as there are slots and permits, at the first instant at which both limits have one; the gates defer leads that wait long for it. */
function dial(world: World, s: State, now: number, watch: Watch | undefined): void {
  const at = Math.max(now, s.rate.permits(now).next ?? now, s.carrier.permits(now).next ?? now);
  const count = Math.min(
    readyCount(s),
    capacity(world) - s.calls.size,
    Math.max(1, Math.min(s.rate.permits(at).free, s.carrier.permits(at).free)),
    ...Object.values(s.spend?.room(now).room ?? {}),
  );
  s.rate.acquire(at, count);
  s.carrier.acquire(at, count);
  for (const lead of s.ready.slice(s.head, s.head + count)) {
    const { ms, facts } = s.ring(at);
    const spend_ref = s.spend?.dialled(now) ?? null;
    s.calls.push(at + ms, {
      tries: lead.tries + 1,
      due: at + ms,
      dialled: dialledAt(world, lead, at),
      facts,
      spend_ref,
    });
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
function catchUp(world: World, s: State, now: number): void {
  const configuration = world.plan.configuration;
  while ((s.calls.next() ?? Infinity) <= now) {
    const call = s.calls.pop();
    if (!call || !configuration) break;
    if (call.spend_ref !== null) s.spend?.ended(call.spend_ref, call.due, talkSeconds(call.facts));
    const policy = {
      max_retry: configuration.max_retry,
      retry_offset: configuration.retry_offset,
      retry_on: world.plan.retry_on,
    };
    const next = settle(call.facts, policy, call.tries, new Date(call.due));
    s.finished_at = Math.max(s.finished_at, call.due);
    if (next.kind === "retry")
      s.later.push(next.due_at.getTime(), { tries: call.tries, due: next.due_at.getTime(), dialled: call.dialled });
    else if (next.outcome === REACHED) s.reached++;
    else add(s.ended, next.outcome, 1);
  }
  while ((s.later.next() ?? Infinity) <= now) {
    const lead = s.later.pop();
    const until = lead && cappedUntil(world, lead, now);
    if (lead && until !== null) s.capped.push(until, lead);
    else if (lead) s.ready.push(lead);
  }
  while ((s.capped.next() ?? Infinity) <= now) {
    const lead = s.capped.pop();
    if (lead) s.ready.push(lead);
  }
}

/** Dials the leads that may be called now; the deferral that ended it, null when no lead is due any more. */
function dialDue(world: World, r: Rehearsal, s: State, now: number, watch: Watch | undefined): Deferral | null {
  const expires = r.at.getTime() + world.plan.max_age_seconds * SECOND_MS;
  if (readyCount(s) === 0 && s.later.size + s.capped.size > 0 && now >= expires) dropAll(s, now, "EXPIRED");
  for (;;) {
    const lead = s.ready[s.head];
    if (!lead) return null;
    const admission = admissionOf(world, r, s, now, lead);
    if (admission.verdict === "deferred") return admission;
    if (admission.verdict === "dropped") dropAll(s, now, admission.outcome);
    else dial(world, s, now, watch);
  }
}

/**
 * Drives the leads through the scheduler's own gates and the settling of attempts over a clock that jumps from event to event.
 * Deterministic for a seed. It ends: leads that are deferred for ever expire with their template's max_age_seconds.
 */
export function forecast(world: World, r: Rehearsal, watch?: Watch): Forecast {
  const s = newState(world, r);
  const start = r.at.getTime();
  const due = start + (world.plan.configuration?.initial_offset ?? 0) * SECOND_MS;
  const expires = start + world.plan.max_age_seconds * SECOND_MS;
  for (let i = 0; i < r.leads; i++) s.later.push(due, { tries: 0, due, dialled: [] });

  let deferral: Deferral | null = null;
  for (let now = start; ;) {
    catchUp(world, s, now);
    // a lead that a gate defers until an instant is not admitted before, whatever happens
    const sure: boolean = now < Math.min(deferral?.until?.getTime() ?? 0, expires) && readyCount(s) > 0;
    if (!sure) deferral = dialDue(world, r, s, now, watch);
    const waits = readyCount(s) + s.later.size + s.capped.size;
    if (waits === 0 && s.calls.size === 0) break;
    const instants = [
      s.calls.next(),
      s.later.next(),
      s.capped.next(),
      deferral?.until?.getTime() ?? null,
      waits > 0 && now < expires ? expires : null,
    ].filter((t) => t !== null && t > now) as number[];
    const next = Math.min(...instants);
    if (!Number.isFinite(next)) break;
    if (deferral) {
      add(s.waited, deferral.gate, (readyCount(s) * (next - now)) / HOUR_MS);
      if (deferral.until === null && s.calls.size === 0) s.stuck ??= { gate: deferral.gate, detail: deferral.reason };
    }
    if (s.later.size > 0) add(s.waited, "due", (s.later.size * (next - now)) / HOUR_MS);
    if (s.capped.size > 0) add(s.waited, "callee_capped", (s.capped.size * (next - now)) / HOUR_MS);
    now = next;
  }
  return {
    finish_at: new Date(s.finished_at),
    dials: s.dials,
    reached: s.reached,
    ended: s.ended,
    by_quarter: s.by_quarter,
    waited: s.waited,
    peak_slots: s.peak,
    slots: capacity(world),
    stuck: s.stuck,
  };
}
