import type { Call, EndReason } from "../exchange/call.ts";

/** Telnyx's name for how a call ended; a call that was cut by its limit has one of its own. */
const CAUSES: Record<EndReason, string> = {
  completed: "normal_clearing",
  busy: "user_busy",
  "no-answer": "timeout",
  failed: "unspecified",
  canceled: "originator_cancel",
};
const REJECTED_SIP = 603;
const COST_PER_MINUTE = 0.009;
const SECONDS_PER_MINUTE = 60;

/** Who hung up, as Telnyx sees it: the caller is us for a call that was dialled, the person for one that came in. */
function sourceOf({ endedBy, direction }: Call): "caller" | "callee" | "unknown" {
  switch (endedBy) {
    case "callee":
    case "caller":
      return endedBy;
    case "api":
    case "relay_end":
      return direction === "inbound" ? "callee" : "caller";
    default:
      return "unknown";
  }
}

/** What call.hangup says of an ended call. */
export function hangupOf(call: Call): { hangup_cause: string; hangup_source: string; sip_hangup_cause: string } {
  const reason = call.endReason ?? "failed";
  const cause =
    call.sipCode === REJECTED_SIP
      ? "call_rejected"
      : reason === "completed" && call.endedBy === "timeout"
        ? "time_limit"
        : CAUSES[reason];
  return {
    hangup_cause: cause,
    hangup_source: sourceOf(call),
    sip_hangup_cause: call.sipCode === null || call.direction === "inbound" ? "unspecified" : String(call.sipCode),
  };
}

/** Answered seconds, in wall time so that they agree with the times; 0 for a call that was not answered. */
export function answeredSeconds({ answeredAt, endedAt }: Call): number {
  return answeredAt && endedAt ? Math.max(1, Math.round((endedAt.getTime() - answeredAt.getTime()) / 1000)) : 0;
}

/** What call.cost says. */
export function costOf(call: Call): Record<string, unknown> {
  const billed = Math.ceil(answeredSeconds(call) / SECONDS_PER_MINUTE) * SECONDS_PER_MINUTE;
  const cost = ((billed / SECONDS_PER_MINUTE) * COST_PER_MINUTE).toFixed(4);
  return {
    status: "success",
    total_cost: cost,
    billed_duration_secs: billed,
    billing_group_id: null,
    cost_parts: [
      {
        call_part: "sip-trunking",
        cost,
        rate: COST_PER_MINUTE.toFixed(5),
        currency: "USD",
        billed_duration_secs: billed,
      },
    ],
  };
}
