import type { Call } from "../exchange/call.ts";
import type { Cause, PlivoCall } from "./plivo-call.ts";

/** Plivo's table, as far as the simulator ends calls. https://www.plivo.com/docs/voice/troubleshooting/hangup-causes */
export const CAUSES = {
  canceled: { code: 1000, name: "Cancelled", source: "API Request" },
  noAnswer: { code: 3000, name: "No Answer", source: "Callee" },
  busy: { code: 3010, name: "Busy Line", source: "Callee" },
  rejected: { code: 3020, name: "Rejected", source: "Answer XML" },
  machine: { code: 3070, name: "Machine Detected", source: "Plivo" },
  normalByCallee: { code: 4000, name: "Normal Hangup", source: "Callee" },
  normalByCaller: { code: 4000, name: "Normal Hangup", source: "Caller" },
  normalByApi: { code: 4000, name: "Normal Hangup", source: "API Request" },
  normalByXml: { code: 4000, name: "Normal Hangup", source: "Answer XML" },
  endOfXml: { code: 4010, name: "End Of XML Instructions", source: "Plivo" },
  congestion: { code: 5000, name: "Network Congestion", source: "Carrier" },
  networkError: { code: 5010, name: "Network Error", source: "Carrier" },
  scheduled: { code: 6000, name: "Scheduled Hangup", source: "Plivo" },
  ringTimeout: { code: 6010, name: "Ring Timeout Reached", source: "Plivo" },
  answerUrl: { code: 7010, name: "Error Reaching Answer URL", source: "Plivo" },
  badXml: { code: 8010, name: "Invalid Answer XML", source: "Plivo" },
} as const satisfies Record<string, Cause>;

/** FreeSWITCH's word that goes with it. */
const NETWORK_CAUSES: Record<number, string> = {
  1000: "ORIGINATOR_CANCEL",
  3000: "NO_ANSWER",
  3010: "USER_BUSY",
  3020: "CALL_REJECTED",
  5000: "NORMAL_TEMPORARY_FAILURE",
  6000: "ALLOTTED_TIMEOUT",
  6010: "NO_ANSWER",
};

/** Why the call ended. */
export function causeOf({ call, cause }: PlivoCall): Cause {
  if (cause) return cause;
  switch (call.endReason) {
    case "busy":
      return CAUSES.busy;
    case "canceled":
      return CAUSES.canceled;
    case "no-answer":
      return call.endedBy === "timeout" ? CAUSES.ringTimeout : CAUSES.noAnswer;
    case "completed":
      break;
    default:
      return CAUSES.congestion;
  }
  if (call.endedBy === "timeout") return CAUSES.scheduled;
  if (call.endedBy === "callee") return CAUSES.normalByCallee;
  if (call.endedBy === "caller") return CAUSES.normalByCaller;
  return call.endedBy === "api" ? CAUSES.normalByApi : CAUSES.networkError;
}

/** The old field, the network's word. */
export const networkCause = ({ code }: Cause): string => NETWORK_CAUSES[code] ?? "NORMAL_CLEARING";

/** Plivo's word for where a call is; a person's call to us ends as "completed" however it went. */
export function statusOf(call: Call): string {
  if (call.phase === "answered") return "in-progress";
  if (call.phase === "queued") return "queued";
  if (call.phase !== "ended") return call.phase === "ringing" ? "ringing" : "initiated";
  if (call.direction === "inbound") return "completed";
  if (call.endReason === "canceled") return "cancel";
  if (call.endReason === "no-answer") return call.endedBy === "timeout" ? "timeout" : "no-answer";
  return call.endReason ?? "failed";
}
