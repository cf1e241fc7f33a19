import { maskPhone } from "../../../shared/process/log.ts";
import type { DialerParts } from "../deps.ts";
import type { CallDoc } from "./calls.model.ts";

/** Events of a call's life in the log. */
export type CallEvent = "call.inbound" | "call.dialling" | "call.ringing" | "call.answered" | "call.ended";

/** Events that are counted as they are logged; an answer may be told twice, by the carrier and by the media, and is counted at the end. */
const COUNTED: Partial<Record<CallEvent, string>> = {
  "call.inbound": "inbound",
  "call.dialling": "dialling",
  "call.ringing": "ringing",
};

/** Logs an event of a call, and counts it; the number is masked. */
export function logCall(
  { log, metrics }: Pick<DialerParts, "log" | "metrics">,
  event: CallEvent,
  { lead_id, _id, order, provider }: CallDoc,
  sentence: string,
  more: Record<string, unknown> = {},
): void {
  const counted = COUNTED[event];
  if (counted !== undefined) metrics.count("callagent_calls_total", { provider: provider ?? "", event: counted });
  log.info({ event, lead_id, call_ref: _id, to: maskPhone(order?.to ?? ""), ...more }, sentence);
}
