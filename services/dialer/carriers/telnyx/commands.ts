import { refusedCommand } from "../carrier-errors.ts";
import { isOver } from "./refusals.ts";
import { pathPart, type Rest } from "./rest.ts";

/** Commands to Telnyx about a call (https://developers.telnyx.com/api-reference/call-commands). */
export type Command = "answer" | "hangup" | "reject" | "send_dtmf" | "speak" | "transfer";

/** Sends a command about a call. CALL_REFUSED for its no, DEPENDENCY_DOWN when it can't be reached or is too busy. */
export async function command(
  rest: Rest,
  call_id: string,
  what: Command,
  body: Record<string, unknown>,
): Promise<void> {
  await rest
    .post(`/calls/${pathPart(call_id)}/actions/${what}`, body)
    .catch((error: unknown) => refusedCommand(`to ${what}`, error));
}

/** The same for a call that may be over by now, which is no error. */
export async function commandIfLive(
  rest: Rest,
  call_id: string,
  what: Command,
  body: Record<string, unknown>,
): Promise<void> {
  await rest.post(`/calls/${pathPart(call_id)}/actions/${what}`, body).catch((error: unknown) => {
    if (!isOver(error)) refusedCommand(`to ${what}`, error);
  });
}
