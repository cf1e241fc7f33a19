import { maskPhone } from "../../../shared/process/log.ts";
import type { DialerParts } from "../deps.ts";
import type { CallDoc } from "./calls.model.ts";

/** Events of a call's life in the log. */
export type CallEvent = "call.inbound" | "call.dialling" | "call.ringing" | "call.answered" | "call.ended";

/** Logs an event of a call; the number is masked. */
export function logCall(
  { log }: Pick<DialerParts, "log">,
  event: CallEvent,
  { lead_id, _id, order }: CallDoc,
  sentence: string,
  more: Record<string, unknown> = {},
): void {
  log.info({ event, lead_id, call_ref: _id, to: maskPhone(order?.to ?? ""), ...more }, sentence);
}
