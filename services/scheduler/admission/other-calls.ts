import { CALLEE_BUSY, FORMER_CALL_OPEN } from "../../../shared/contracts/records/explanation.ts";
import type { WaitingLead } from "../../../shared/contracts/records/lead.ts";
import { hold, pass, type Ruling } from "./gate-verdict.ts";

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
