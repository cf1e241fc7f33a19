import type { ResultOf } from "../../../shared/bus/bus.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { GRANT_VALID_MS } from "../../../shared/contracts/scheduler.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { MonotonicSpan } from "../../../shared/time/store-clock.ts";
import type { DialerParts } from "../deps.ts";
import { releaseForFault, type EarlyStop, type Release } from "./early-stop.ts";

type Granted = Extract<ResultOf<"scheduler.grant">, { granted: true }>;
type RatePermit = NonNullable<Granted["permits"]>[number];

/**
 * When a dial request may leave: not before and not after. `held`: a permit of each rate window that counts the call, by the store's clock. `span`:
 * where the scheduler names no instants or the store's clock is not known, by our own monotonic clock.
 */
export interface DialPermit {
  held: readonly RatePermit[];
  span: MonotonicSpan | null;
}

/** An attempt waits this long for its permit, beside the time that it needs itself; a longer wait is the queue's. */
const MAX_WAIT_MS = 2000;
/** The contract's longest wait. */
const LONGEST_WAIT_MS = 5000;
/** How long permits are wanted to be valid: what a slow store or a busy machine may take in between, and little of a minute. */
const VALID_MS = 2000;
/** From the last reading of the clock until the request has left. */
const SENDING_MS = 20;
/** The intent is written at least this long before the permit's instant, ms. */
const LEAST_LEAD_MS = 100;
/** Errors of the store's clock below this need no longer permits; the contract's longest. */
const CERTAIN_MS = 10;
const MOST_UNCERTAIN_MS = 2000;
/** An attempt whose permits came too late asks for others so often, then its lead is released. */
const MAX_RENEWALS = 3;
const NEVER: MonotonicSpan = { notBeforeMs: Number.POSITIVE_INFINITY, notAfterMs: Number.NEGATIVE_INFINITY };

/** Whether calls of this order are rate-limited at all. */
const isLimited = ({ env }: Pick<DialerParts, "env">, { provider, rate_limit }: DialJob): boolean =>
  env[`${provider}_CALLS_PER_SECOND`] > 0 || rate_limit !== null;

/** What permits are acquired and held with. */
export type PermitDeps = Pick<DialerParts, "bus" | "clock" | "draining" | "env" | "permitPace" | "storeClock">;
type SpanDeps = Pick<DialerParts, "storeClock">;

/** When the request may leave, in monotonic ms: by every permit, whatever the store's clock is within its bounds. */
function spanOf({ storeClock }: SpanDeps, { held, span }: DialPermit): MonotonicSpan {
  if (span) return span;
  const spans = held.map(({ from, until }) => storeClock.within(new Date(from), new Date(until)) ?? NEVER);
  return {
    notBeforeMs: Math.max(...spans.map((s) => s.notBeforeMs)),
    notAfterMs: Math.min(...spans.map((s) => s.notAfterMs)) - SENDING_MS,
  };
}

/** The permit as the answer gives it, that was asked for at `askedMs` and came now. */
function permitOf({ clock, storeClock }: PermitDeps, { send_in_ms, permits }: Granted, askedMs: number): DialPermit {
  const held = permits ?? [];
  if (held.length > 0 && storeClock.uncertainMs() !== null) return { held, span: null };
  const notBeforeMs = clock.monotonicMs() + send_in_ms;
  return { held, span: { notBeforeMs, notAfterMs: askedMs + send_in_ms + GRANT_VALID_MS - SENDING_MS } };
}

const tooLate = ({ clock, permitPace }: PermitDeps, reason: string): Release => ({
  kind: "release",
  due_at: plusMs(clock.now(), permitPace.late()),
  reason,
});

/** Gives permits back with which nothing was sent, and nothing will be. One that can't be given back is lost to its window, which is safe. */
export async function giveBack({ bus }: Pick<DialerParts, "bus">, held: readonly RatePermit[]): Promise<void> {
  if (held.length > 0) await bus.call("scheduler.giveBack", { permits: [...held] }).catch(() => undefined);
}

/** By how much we may be wrong about the store's clock, where that is a part of a permit's shortest validity that counts: a store that is far away. */
function uncertaintyOf({ storeClock }: SpanDeps): { uncertain_ms?: number } {
  const uncertain_ms = Math.ceil(storeClock.uncertainMs() ?? 0);
  return uncertain_ms < CERTAIN_MS ? {} : { uncertain_ms: Math.min(uncertain_ms, MOST_UNCERTAIN_MS) };
}

/** Asks for the permits of these windows, in turn. */
async function ask(
  deps: PermitDeps,
  order: Pick<DialJob, "provider" | "rate_limit">,
  leadMs: () => number,
  takenMs?: number,
): Promise<DialPermit | Release> {
  const { clock, permitPace } = deps;
  return permitPace.inTurn(async () => {
    const askedMs = clock.monotonicMs();
    const min_wait_ms = leadMs();
    const answer = await deps.bus.call("scheduler.grant", {
      provider: order.provider,
      rate_limit: order.rate_limit,
      max_wait_ms: Math.min(LONGEST_WAIT_MS, MAX_WAIT_MS + min_wait_ms),
      ...(min_wait_ms > 0 ? { min_wait_ms } : {}),
      ...(takenMs === undefined ? {} : { waited_ms: Math.max(0, Math.round(askedMs - takenMs)) }),
      ...uncertaintyOf(deps),
      valid_ms: VALID_MS,
    });
    if (!answer.granted) return { kind: "release", due_at: new Date(answer.retry_at), reason: answer.why };
    permitPace.permitTook(clock.monotonicMs() - askedMs, answer.permits !== undefined);
    return permitOf(deps, answer, askedMs);
  });
}

/**
 * The permit to place this call, acquired right before the intent; null: nothing limits it. One that comes too late for its instant is given back, and the
 * lead waits. `takenMs`: when this process took the order, monotonic.
 */
export async function acquirePermit(
  deps: PermitDeps,
  order: DialJob,
  takenMs: number,
): Promise<DialPermit | EarlyStop | null> {
  if (!isLimited(deps, order)) return null;
  const permit = await ask(deps, order, () => deps.permitPace.leadMs(), takenMs);
  if ("kind" in permit || permit.span === null) return permit;
  if (permit.span.notBeforeMs <= permit.span.notAfterMs) return permit;
  await giveBack(deps, permit.held);
  return tooLate(deps, "the right to place the call came too late");
}

/** True when the permit can't be used any more. */
const isExpired = (deps: SpanDeps & Pick<DialerParts, "clock">, permit: DialPermit): boolean => {
  const { notBeforeMs, notAfterMs } = spanOf(deps, permit);
  return notBeforeMs > notAfterMs || deps.clock.monotonicMs() > notAfterMs;
};

/** Waits until so long before the permit's instant; a process that shuts down waits no longer. */
async function waitFor(deps: PermitDeps, permit: DialPermit, beforeMs = 0): Promise<void> {
  const { clock, draining } = deps;
  while (!isExpired(deps, permit)) {
    const left = spanOf(deps, permit).notBeforeMs - beforeMs - clock.monotonicMs();
    if (left <= 0 || draining.aborted) return;
    await clock.wait(left, draining);
  }
}

/** Which permits are still good for the time that asking for the others takes: those of the configuration, which are valid for longer than the account's. */
function stillGood(deps: PermitDeps, { rate_limit }: DialJob, { held }: DialPermit): RatePermit[] {
  const goodMs = deps.clock.monotonicMs() + deps.permitPace.renewalLeadMs() + GRANT_VALID_MS;
  return held.filter(
    (p) =>
      rate_limit !== null &&
      p.window.endsWith(rate_limit.configuration_id) &&
      spanOf(deps, { held: [p], span: null }).notAfterMs > goodMs,
  );
}

/** The new permit together with those that were kept. */
function joined(deps: PermitDeps, next: DialPermit, kept: readonly RatePermit[]): DialPermit {
  if (kept.length === 0) return next;
  const held = [...next.held, ...kept];
  if (!next.span) return { held, span: null };
  const old = spanOf(deps, { held: kept, span: null });
  const notBeforeMs = Math.max(next.span.notBeforeMs, old.notBeforeMs);
  return { held, span: { notBeforeMs, notAfterMs: Math.min(next.span.notAfterMs, old.notAfterMs) } };
}

/** The permits of an attempt, from its intent on. */
export interface HeldPermit {
  /** Waits until it is time to write the intent: what it took lately, and some more, before the permit's instant. */
  near(): Promise<void>;
  /** Waits until the request may leave, and asks again where a permit was missed; what the lead is released for where that leads nowhere, null: it may leave now. */
  ready(): Promise<Release | null>;
  /** Whether the request may leave at this instant. */
  mayLeave(): boolean;
  /** The request never left: what is held is free again for others. */
  unused(): Promise<void>;
}

/** The permits of this attempt; `permit` null: nothing limits its call. */
export function holdPermit(deps: PermitDeps, order: DialJob, permit: DialPermit | null): HeldPermit {
  let held = permit;
  let renewals = 0;
  /** Gives back what is held but for `kept`: no permit is ever given back twice. */
  const keepOnly = async (kept: readonly RatePermit[]): Promise<void> => {
    const others = (held?.held ?? []).filter((p) => !kept.includes(p));
    held = held && { held: kept, span: kept.length === 0 ? NEVER : null };
    await giveBack(deps, others);
  };
  const renew = async (of: DialPermit): Promise<Release | null> => {
    const kept = stillGood(deps, order, of);
    await keepOnly(kept);
    const { provider } = order;
    const rate_limit = kept.length > 0 ? null : order.rate_limit;
    const next = await ask(deps, { provider, rate_limit }, () => deps.permitPace.renewalLeadMs());
    if ("kind" in next) return next;
    held = joined(deps, next, kept);
    return null;
  };
  return {
    async near() {
      if (held !== null) await waitFor(deps, held, Math.max(LEAST_LEAD_MS, deps.permitPace.leadMs()));
    },
    async ready() {
      for (;;) {
        if (held === null) return null;
        await waitFor(deps, held);
        if (deps.draining.aborted || !isExpired(deps, held)) return null;
        // a scheduler that names no permits takes none back: asking again would cost another
        if (held.held.length === 0 || renewals++ === MAX_RENEWALS)
          return tooLate(deps, "the right to place the call ran out");
        const ends = await renew(held).catch((error: unknown) => releaseForFault(error, deps.clock.now()));
        if (ends) return ends;
      }
    },
    mayLeave: () => held === null || !isExpired(deps, held),
    unused: () => keepOnly([]),
  };
}
