import { fail } from "../../../../shared/errors.ts";
import { errorCodeOf, Refusal } from "../carrier-errors.ts";
import { isOver } from "./refusals.ts";
import { pathPart, type Rest } from "./rest.ts";

/** Commands to Telnyx about a call (https://developers.telnyx.com/api-reference/call-commands). */
export type Command = "answer" | "hangup" | "reject" | "send_dtmf" | "speak" | "transfer";

const TOO_MANY_STATUS = 429;
const SERVER_ERROR_STATUS = 500;

/** Throws DEPENDENCY_DOWN for a carrier that could not be asked. */
export const unreachable = (error: unknown): never =>
  fail(
    "DEPENDENCY_DOWN",
    `The carrier does not answer (${error instanceof Refusal ? `HTTP ${error.status}, code ${error.code}` : errorCodeOf(error)}); it will be asked again.`,
  );

function refused(what: Command, error: unknown): never {
  if (error instanceof Refusal && error.status < SERVER_ERROR_STATUS && error.status !== TOO_MANY_STATUS) {
    fail("CALL_REFUSED", `The carrier refused to ${what} (code ${error.code ?? error.status}): ${error.message}`);
  }
  return unreachable(error);
}

/** Sends a command about a call. CALL_REFUSED for its no, DEPENDENCY_DOWN when it can't be reached or is too busy. */
export async function command(
  rest: Rest,
  call_id: string,
  what: Command,
  body: Record<string, unknown>,
): Promise<void> {
  await rest.post(`/calls/${pathPart(call_id)}/actions/${what}`, body).catch((error: unknown) => refused(what, error));
}

/** The same for a call that may be over by now, which is no error. */
export async function commandIfLive(
  rest: Rest,
  call_id: string,
  what: Command,
  body: Record<string, unknown>,
): Promise<void> {
  await rest.post(`/calls/${pathPart(call_id)}/actions/${what}`, body).catch((error: unknown) => {
    if (!isOver(error)) refused(what, error);
  });
}
