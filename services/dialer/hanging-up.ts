import { fail } from "../../shared/errors.ts";
import { errorForLog } from "../../shared/log.ts";
import { isLive, wantOver } from "./call-machine.ts";
import type { CallDoc, HangUpReason } from "./calls.model.ts";
import type { Works } from "./works.ts";

/** Asks the carrier to end a call that has a name there. DEPENDENCY_DOWN when it can't be reached. */
export async function cutLine(w: Works, call: CallDoc): Promise<void> {
  if (call.provider === undefined || call.carrier_call_id === undefined) return;
  await w.carriers.of(call.provider).hangUp(call.carrier_call_id, call.state === "ANSWERED");
}

/** Ends a call: the wish is written first, so that a carrier that can't be reached now, or a call that has no name yet, is ended by a later look. */
export async function endCall(w: Works, ref: string, reason: HangUpReason): Promise<void> {
  const call = await w.calls.run(wantOver(ref, reason, w.clock.now())) ?? await w.calls.find(ref);
  if (!call || !isLive(call)) return;
  try {
    await cutLine(w, call);
  } catch (error) {
    w.log.warn({ call_ref: ref, reason, error: errorForLog(error) }, "the carrier could not be told to end the call; it is told again");
  }
}

/** Hands a live, answered call to another number. VALIDATION_FAILED when there is none. */
export async function transferCall(w: Works, ref: string, to: string): Promise<void> {
  const call = await w.calls.find(ref);
  if (call?.state !== "ANSWERED" || call.provider === undefined || call.carrier_call_id === undefined || call.order === undefined) {
    fail("VALIDATION_FAILED", `The call ${ref} is not in progress, so it can't be transferred.`);
  }
  await w.carriers.of(call.provider).transfer(call.carrier_call_id, to, call.order.from);
}
