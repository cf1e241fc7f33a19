import { endedSession } from "../call/call-state-machine.ts";
import type { CallDoc } from "../call/calls.model.ts";
import { finishCall } from "../call/close-call.ts";
import type { DialerParts } from "../deps.ts";

/** Ends a session: no carrier confirms it, so it is over at once, and its conversation is told. One that nobody joined is canceled. Idempotent. */
export async function endSession(deps: DialerParts, { _id, holder }: CallDoc): Promise<void> {
  const ended = holder === undefined ? "canceled" : "completed";
  const over = await deps.calls.apply(endedSession(_id, ended, deps.clock.now()));
  if (over) await finishCall(deps, over);
}
