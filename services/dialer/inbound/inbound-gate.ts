import { windowState } from "../../../shared/calling-window.ts";
import type { InboundPlan } from "../../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import { isShortNumber } from "../../../shared/numbering/short-number.ts";
import type { BlockReason, InboundVerdict } from "../../../shared/contracts/records/inbound.ts";

/** All inputs of the verdict on an inbound call. */
export interface InboundFacts {
  at: Date;
  /** The number that was called. */
  to: string;
  /** Whether it is one of ours. */
  known: boolean;
  plan: InboundPlan | null;
  /** Whether the caller is on the blacklist; false for one who withholds the number, and where the configuration does not enforce it. */
  listed: boolean;
  /**
   * Calls of this caller that were accepted within the window and came before this one; null: the caller withholds the number, so the count is
   * unknown.
   */
  earlier: number | null;
}

/** What becomes of a call, and why where it is blocked. */
export interface InboundRuling {
  verdict: InboundVerdict;
  reason: BlockReason | null;
}

const isOpen = (c: ConfigurationRecord, at: Date): boolean => {
  const { inbound_call_start_time: start, inbound_call_end_time: end } = c;
  return (
    start === null || end === null || windowState({ start, end, zone: c.inbound_call_timezone ?? c.timezone }, at).open
  );
};

/** The first gate that the call does not pass: enabled, window, blacklist, rate per caller; null: it passes all. */
function firstBlock({ at, known, plan, listed, earlier }: InboundFacts): BlockReason | null {
  if (!known) return "unknown_number";
  if (!plan) return "no_template";
  if (!plan.is_active) return "template_inactive";
  const c = plan.configuration;
  if (!c?.enable_inbound) return "inbound_disabled";
  if (!isOpen(c, at)) return "outside_window";
  if (listed && c.enforce_blacklist) return "blacklisted";
  return earlier !== null && earlier >= c.inbound_max_calls_per_caller ? "rate_limited" : null;
}

/** A blocked call goes where the configuration says; never back to the number that was called, which would loop, and never to an emergency or short service. */
export function blocked(plan: InboundPlan | null, to: string, reason: BlockReason): InboundRuling {
  const c = plan?.configuration;
  const target = c?.inbound_block_action === "REDIRECT" ? c.inbound_redirect_number : null;
  const elsewhere = target !== null && target !== to && !isShortNumber(target);
  return { verdict: elsewhere ? "REDIRECTED" : "REJECTED", reason };
}

/** Judges an inbound call. */
export function judgeInbound(facts: InboundFacts): InboundRuling {
  const reason = firstBlock(facts);
  return reason === null ? { verdict: "ACCEPTED", reason } : blocked(facts.plan, facts.to, reason);
}
