import type { CapJudgement } from "../../../shared/time/sliding-cap.ts";
import type { CalleeCap } from "../../../shared/contracts/merchants.ts";
import { CALLEE_BUSY, CALLEE_CAPPED, FORMER_CALL_OPEN } from "../../../shared/contracts/records/explanation.ts";
import type { WaitingLead } from "../../../shared/contracts/records/lead.ts";
import { hold, notJudged, pass, type Ruling } from "./gate-verdict.ts";

/** Gates about other calls with the lead's number, and what they say: that the lead may pass, and why it waits. */
const SENTENCES = {
  [FORMER_CALL_OPEN]: {
    passes: "No former call to its number is known to be open.",
    holds:
      "A former call to its number may still be live: its end was asked for, and the carrier has not confirmed it.",
  },
  [CALLEE_BUSY]: {
    passes: "No other call with its number is known to be under way.",
    holds:
      "Another call of yours with its number is under way, from you or to you; one person is never in two calls at once.",
  },
} as const;

/** What the dialer judges right before it would dial: here is what it last said. */
export function otherCallRuling(
  { held }: Partial<Pick<WaitingLead, "held">>,
  at: Date,
  gate: keyof typeof SENTENCES,
): Ruling {
  const until = held?.why === gate ? new Date(held.until) : null;
  return until === null || until <= at ? pass(SENTENCES[gate].passes) : hold(SENTENCES[gate].holds, until);
}

const capText = ({ per_day, per_week }: CalleeCap): string =>
  [
    ...(per_day === undefined ? [] : [`${per_day} in 24 hours`]),
    ...(per_week === undefined ? [] : [`${per_week} in 7 days`]),
  ].join(" and ");

/** The merchant's cap on calls per callee, null: none; and what counts for it. Absent: not read, the dialer asks before it dials. */
export interface CalleeCapInputs {
  callee_cap?: CalleeCap | null;
  callee_calls?: CapJudgement | null;
}

/** The merchant's cap on calls per callee. Where the calls were not counted: what the dialer last said. */
export function calleeCapRuling(
  { held }: Partial<Pick<WaitingLead, "held">>,
  { at, callee_cap: cap, callee_calls: calls }: CalleeCapInputs & { at: Date },
): Ruling {
  if (cap === null) return pass("The merchant has no cap on calls per callee (max_calls_per_callee).");
  if (cap !== undefined && calls) {
    const values = { ...cap, calls_in_24_hours: calls.day, calls_in_7_days: calls.week };
    const said = `The merchant calls one person at most ${capText(cap)}; this one was called ${calls.day} times in 24 hours and ${calls.week} times in 7 days`;
    return calls.free_at === null || calls.free_at <= at
      ? pass(`${said}.`, values)
      : hold(`${said}. One more call fits at ${calls.free_at.toISOString()}.`, calls.free_at, values);
  }
  const until = held?.why === CALLEE_CAPPED ? new Date(held.until) : null;
  return until === null || until <= at
    ? notJudged("Calls to this number are counted right before it is dialled.")
    : hold("The merchant has called this number as often as its cap on calls per callee allows.", until);
}
