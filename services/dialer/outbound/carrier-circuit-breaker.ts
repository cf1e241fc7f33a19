import { exponentialMs, jitterMs } from "../../../shared/backoff.ts";
import { plusMs } from "../../../shared/clock.ts";
import type { Provider } from "../../../shared/contracts/configuration.ts";
import type { DialAnswer } from "../carriers/carrier-port.ts";
import type { Works } from "../deps.ts";

/** A carrier that takes no calls for a while. Times are monotonic milliseconds. */
export interface Pause {
  /** No request goes out before. */
  untilMs: number;
  /** Pauses in a row without a call taken between them. */
  misses: number;
  /** Requests in a row that were never answered. */
  unanswered: number;
  /** Until when the other replicas were told. */
  toldMs: number;
  /** The carrier refused our credentials: when the pause is over, one call tries whether they are right by now. */
  locked: boolean;
  /** Until when such a try is believed to be on its way. */
  tryingMs: number;
}

/** A carrier that refuses our credentials is asked again this seldom: only a person can change that. */
const CREDENTIALS_PAUSE_MS = 180_000;
/** Longest sentence that leads and other replicas are told. */
const WHY_CHARS = 200;
/** First and longest pause after a carrier did not take a dial request, and its spread. */
const PAUSE_FIRST_MS = 2000;
const PAUSE_LONGEST_MS = 60_000;
const PAUSE_SPREAD = 0.2;
/** Shortest pause a carrier can ask for: a Retry-After of 0 must not make a hot loop. */
const PAUSE_SHORTEST_MS = 1000;
/** So many requests in a row without an answer, and the carrier is left alone for a while: each of them costs a lead an attempt. */
const UNANSWERED_TOLERATED = 5;
/** A call that waits longer than this in the carrier's own queue says that we dial too fast: the queue knows no calling window. */
const QUEUE_TOLERATED_MS = 5000;
/** Replicas are told again when a pause grew by this much. */
const TELL_GRAIN_MS = 500;

const NONE: Pause = {
  untilMs: -Infinity,
  misses: 0,
  unanswered: 0,
  toldMs: -Infinity,
  locked: false,
  tryingMs: -Infinity,
};
/** A try that has not come to its answer after this long came to nothing (its attempt stopped before the dial); another may go. */
const TRY_MS = 30_000;

/** What an answer of the carrier means for the requests behind it; `why` is null where nothing holds them back. Pure. */
export function afterAnswer(
  before: Pause | undefined,
  answer: DialAnswer,
  nowMs: number,
  random: number,
): { pause: Pause; why: string | null } {
  const was = { ...(before ?? NONE), tryingMs: -Infinity };
  const running = was.untilMs > nowMs;
  const lengthened = (waitMs: number, more: Partial<Pause> = {}): Pause => ({
    ...was,
    untilMs: Math.max(was.untilMs, nowMs + waitMs),
    ...more,
  });
  // many requests of one moment fail together: that is one miss
  const missed = (more: Partial<Pause> = {}): Pause =>
    running
      ? { ...was, ...more }
      : lengthened(jitterMs(exponentialMs(was.misses, PAUSE_FIRST_MS, PAUSE_LONGEST_MS), PAUSE_SPREAD, random), {
          misses: was.misses + 1,
          ...more,
        });
  switch (answer.kind) {
    case "not_placed": {
      if (answer.credentials_refused)
        return {
          why: answer.reason,
          pause: lengthened(CREDENTIALS_PAUSE_MS, { misses: was.misses + (running ? 0 : 1), locked: true }),
        };
      const asked = answer.retry_after_seconds;
      return {
        why: answer.reason,
        pause:
          asked === null
            ? missed()
            : lengthened(Math.max(asked * 1000, PAUSE_SHORTEST_MS), { misses: was.misses + (running ? 0 : 1) }),
      };
    }
    case "uncertain": {
      const unanswered = was.unanswered + 1;
      return unanswered < UNANSWERED_TOLERATED
        ? { why: null, pause: { ...was, unanswered } }
        : { why: answer.reason, pause: missed({ unanswered }) };
    }
    case "placed": {
      const fresh = running ? { ...was, unanswered: 0, locked: false } : NONE;
      if (answer.queued_ms <= QUEUE_TOLERATED_MS) return { why: null, pause: fresh };
      return {
        why: "the carrier keeps calls waiting in its own queue",
        pause: { ...fresh, untilMs: Math.max(fresh.untilMs, nowMs + answer.queued_ms) },
      };
    }
    case "refused":
      return { why: null, pause: running ? { ...was, unanswered: 0, locked: false } : NONE };
  }
}

/** When this provider's account takes calls again; null: it does now. */
export function pausedUntil(w: Works, provider: Provider): Date | null {
  const left = (w.pauses.get(provider) ?? NONE).untilMs - w.clock.monotonicMs();
  return left > 0 ? plusMs(w.clock.now(), left) : null;
}

/** The same for a call that is about to be placed: where the credentials were refused, one goes first and the others wait for what becomes of it. */
export function admittedAfter(w: Works, provider: Provider): Date | null {
  const until = pausedUntil(w, provider);
  const pause = w.pauses.get(provider);
  if (until !== null || !pause?.locked) return until;
  const nowMs = w.clock.monotonicMs();
  if (pause.tryingMs > nowMs) return plusMs(w.clock.now(), pause.tryingMs - nowMs);
  w.pauses.set(provider, { ...pause, tryingMs: nowMs + TRY_MS });
  return null;
}

const isLocked = (answer: DialAnswer): boolean => answer.kind === "not_placed" && answer.credentials_refused === true;

/** Why a call was not placed, as leads and people are told: where the carrier refuses our credentials, with whose they are and where to set them right. */
export const reasonOf = (w: Works, provider: Provider, reason: string, answer: DialAnswer): string =>
  (isLocked(answer) ? `${reason} of ${provider}: check ${w.carriers.variables(provider).join(", ")}` : reason).slice(
    0,
    WHY_CHARS,
  );

/** Takes note of what the carrier answered: this process holds back at once, the other replicas as soon as they are told. */
export function noteAnswer(w: Works, provider: Provider, answer: DialAnswer): void {
  const { pause, why: said } = afterAnswer(w.pauses.get(provider), answer, w.clock.monotonicMs(), w.random());
  const why = said === null ? null : reasonOf(w, provider, said, answer);
  const tell = why !== null && pause.untilMs >= pause.toldMs + TELL_GRAIN_MS;
  w.pauses.set(provider, tell ? { ...pause, toldMs: pause.untilMs } : pause);
  const until = pausedUntil(w, provider);
  if (why === null || !tell || until === null) return;
  w.log[isLocked(answer) ? "error" : "warn"](
    { provider, until: until.toISOString(), why },
    "no call goes through this carrier account for a while",
  );
  w.background.run("telling the other replicas to hold back", async () => {
    await w.bus.call("scheduler.slow", { provider, until: until.toISOString(), why });
  });
}
