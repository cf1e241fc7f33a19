import { exponentialMs, jitterMs } from "../../../shared/time/backoff.ts";
import { plusMs, type Clock } from "../../../shared/time/clock.ts";
import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import type { Log } from "../../../shared/process/log.ts";
import type { DialAnswer } from "../carriers/carrier-port.ts";

/** State of the circuit breaker of one carrier account. It is open until `openUntilMs`. Times are monotonic milliseconds. */
export interface BreakerState {
  /** No request goes out before. */
  openUntilMs: number;
  /** Times in a row that it opened without a call taken in between. */
  failures: number;
  /** Requests in a row that were never answered. */
  unanswered: number;
  /** Until when the other replicas know it to be open. */
  announcedMs: number;
  /** The carrier refused our credentials: when the breaker closes, one trial call finds out whether they are right by now. */
  locked: boolean;
  /** Until when such a trial counts as under way. */
  trialUntilMs: number;
}

/** The circuit breakers of all carrier accounts. */
export interface CarrierBreakers {
  /** When this provider's account takes calls again; null: it does now. */
  openUntil(provider: Provider): Date | null;
  /** The same for a call that is about to be placed: where the credentials were refused, one call is the trial and the others wait for its result. */
  waitUntil(provider: Provider): Date | null;
  /** Takes note of a carrier's answer: this process backs off at once, the other replicas once `announce` has reached them. */
  record(provider: Provider, answer: DialAnswer): void;
  /** Why a call was not placed, for leads and people: where the carrier refuses our credentials, which variables hold them. */
  reasonOf(provider: Provider, reason: string, answer: DialAnswer): string;
}

/** What the breakers need. */
export interface BreakerDeps {
  clock: Clock;
  log: Log;
  /** Evenly spread in [0, 1). */
  random(): number;
  /** The variables a provider's credentials are read from. */
  variables(provider: Provider): string[];
  /** Makes a breaker's opening known to the other replicas. */
  announce(provider: Provider, until: Date, why: string): void;
}

/** A carrier that refuses our credentials is asked again this seldom: only a person can change that. */
const CREDENTIALS_BACKOFF_MS = 180_000;
/** Longest reason that leads and other replicas are given. */
const WHY_CHARS = 200;
/** First and longest back-off after a carrier did not take a dial request, and its spread. */
const BACKOFF_FIRST_MS = 2000;
const BACKOFF_LONGEST_MS = 60_000;
const BACKOFF_SPREAD = 0.2;
/** Shortest back-off a carrier can ask for: a Retry-After of 0 must not make a hot loop. */
const BACKOFF_SHORTEST_MS = 1000;
/** So many requests in a row without an answer open the breaker: each of them costs a lead an attempt. */
const UNANSWERED_TOLERATED = 5;
/** A call that waits longer than this in the carrier's own queue shows that we dial too fast: the queue knows no calling window. */
const QUEUE_TOLERATED_MS = 5000;
/** Replicas get a further announcement when the breaker stays open by this much longer. */
const ANNOUNCE_GRAIN_MS = 500;
/** A trial without an answer after this long came to nothing (its attempt stopped before the dial); another may go. */
const TRIAL_MS = 30_000;

const CLOSED: BreakerState = {
  openUntilMs: -Infinity,
  failures: 0,
  unanswered: 0,
  announcedMs: -Infinity,
  locked: false,
  trialUntilMs: -Infinity,
};

/** What an answer of the carrier means for the requests behind it; `why` is null where it does not open the breaker. Pure. */
export function afterAnswer(
  before: BreakerState | undefined,
  answer: DialAnswer,
  nowMs: number,
  random: number,
): { state: BreakerState; why: string | null } {
  const was = { ...(before ?? CLOSED), trialUntilMs: -Infinity };
  const isOpen = was.openUntilMs > nowMs;
  const open = (waitMs: number, more: Partial<BreakerState> = {}): BreakerState => ({
    ...was,
    openUntilMs: Math.max(was.openUntilMs, nowMs + waitMs),
    ...more,
  });
  const failures = was.failures + (isOpen ? 0 : 1);
  // many requests of one moment fail together: that is one failure
  const backOff = (more: Partial<BreakerState> = {}): BreakerState =>
    isOpen
      ? { ...was, ...more }
      : open(jitterMs(exponentialMs(was.failures, BACKOFF_FIRST_MS, BACKOFF_LONGEST_MS), BACKOFF_SPREAD, random), {
          failures,
          ...more,
        });
  const recovered = isOpen ? { ...was, unanswered: 0, locked: false } : CLOSED;
  switch (answer.kind) {
    case "not_placed": {
      const { reason: why, retry_after_seconds: wait } = answer;
      if (answer.credentials_refused) return { why, state: open(CREDENTIALS_BACKOFF_MS, { failures, locked: true }) };
      return {
        why,
        state: wait === null ? backOff() : open(Math.max(wait * 1000, BACKOFF_SHORTEST_MS), { failures }),
      };
    }
    case "uncertain": {
      const unanswered = was.unanswered + 1;
      return unanswered < UNANSWERED_TOLERATED
        ? { why: null, state: { ...was, unanswered } }
        : { why: answer.reason, state: backOff({ unanswered }) };
    }
    case "placed":
      return answer.queued_ms <= QUEUE_TOLERATED_MS
        ? { why: null, state: recovered }
        : {
            why: "the carrier keeps calls waiting in its own queue",
            state: { ...recovered, openUntilMs: Math.max(recovered.openUntilMs, nowMs + answer.queued_ms) },
          };
    case "refused":
      return { why: null, state: recovered };
    case "not_sent":
      return { why: null, state: was };
  }
}

const isLocked = (answer: DialAnswer): boolean => answer.kind === "not_placed" && answer.credentials_refused === true;

/** Breakers of one process, all closed. */
export function createCarrierBreakers({ clock, log, random, variables, announce }: BreakerDeps): CarrierBreakers {
  const states = new Map<Provider, BreakerState>();
  const openUntil = (provider: Provider): Date | null => {
    const left = (states.get(provider) ?? CLOSED).openUntilMs - clock.monotonicMs();
    return left > 0 ? plusMs(clock.now(), left) : null;
  };
  const reasonOf = (provider: Provider, reason: string, answer: DialAnswer): string =>
    (isLocked(answer) ? `${reason} of ${provider}: check ${variables(provider).join(", ")}` : reason).slice(
      0,
      WHY_CHARS,
    );
  return {
    openUntil,
    reasonOf,
    waitUntil(provider) {
      const until = openUntil(provider);
      const state = states.get(provider);
      if (until !== null || !state?.locked) return until;
      const nowMs = clock.monotonicMs();
      if (state.trialUntilMs > nowMs) return plusMs(clock.now(), state.trialUntilMs - nowMs);
      states.set(provider, { ...state, trialUntilMs: nowMs + TRIAL_MS });
      return null;
    },
    record(provider, answer) {
      const { state, why: reason } = afterAnswer(states.get(provider), answer, clock.monotonicMs(), random());
      const isNew = reason !== null && state.openUntilMs >= state.announcedMs + ANNOUNCE_GRAIN_MS;
      states.set(provider, isNew ? { ...state, announcedMs: state.openUntilMs } : state);
      const until = openUntil(provider);
      if (reason === null || !isNew || until === null) return;
      const why = reasonOf(provider, reason, answer);
      log[isLocked(answer) ? "error" : "warn"](
        { provider, until: until.toISOString(), why },
        "the circuit breaker of this carrier account opens",
      );
      announce(provider, until, why);
    },
  };
}
