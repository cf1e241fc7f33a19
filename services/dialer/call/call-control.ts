import type { Provider } from "../../../shared/contracts/configuration.ts";
import { fail } from "../../../shared/errors.ts";
import { errorForLog } from "../../../shared/log.ts";
import { isLive, wantOver } from "./call-state-machine.ts";
import { handleOf, type CallDoc, type HangUpReason, type KeptOrder } from "./calls.model.ts";
import type { CallHandle } from "../carriers/carrier-port.ts";
import { callbackBase, type Works } from "../deps.ts";

/** Asks the carrier to end a call that has a name there. DEPENDENCY_DOWN when it can't be reached. */
export async function cutLine(w: Works, call: CallDoc): Promise<void> {
  const handle = handleOf(call);
  if (call.provider === undefined || handle === null) return;
  await w.carriers.of(call.provider).hangUp(handle, call.state === "ANSWERED");
}

/** Ends a call: the wish is written first, so that a carrier that can't be reached now, or a call that has no name yet, is ended by a later look. */
export async function endCall(w: Works, ref: string, reason: HangUpReason): Promise<void> {
  const call = (await w.calls.run(wantOver(ref, reason, w.clock.now()))) ?? (await w.calls.find(ref));
  if (!call || !isLive(call)) return;
  try {
    await cutLine(w, call);
  } catch (error) {
    w.log.warn(
      { call_ref: ref, reason, error: errorForLog(error) },
      "the carrier could not be told to end the call; it is told again",
    );
  }
}

interface InProgress {
  call: CallDoc & { order: KeptOrder };
  handle: CallHandle;
  provider: Provider;
}

async function inProgress(w: Works, ref: string, what: string): Promise<InProgress> {
  const call = await w.calls.find(ref);
  const handle = call ? handleOf(call) : null;
  if (call?.state !== "ANSWERED" || call.provider === undefined || handle === null || call.order === undefined) {
    fail("VALIDATION_FAILED", `The call ${ref} is not in progress, so it can't be ${what}.`);
  }
  return { call: { ...call, order: call.order }, handle, provider: call.provider };
}

/** Hands a live, answered call to another number. VALIDATION_FAILED when there is none. */
export async function transferCall(w: Works, ref: string, to: string): Promise<void> {
  const { call, handle, provider } = await inProgress(w, ref, "transferred");
  await w.carriers
    .of(provider)
    .transfer(handle, to, call.order.from, { base: callbackBase(w, provider), call_ref: ref });
}

/** Presses keys towards the callee. VALIDATION_FAILED when there is no call in progress, NOT_AVAILABLE where the talk's own channel does it. */
export async function sendDigits(w: Works, ref: string, digits: string): Promise<void> {
  const { handle, provider } = await inProgress(w, ref, "sent keys");
  const carrier = w.carriers.of(provider);
  if (carrier.capabilities.digits !== "command")
    fail("NOT_AVAILABLE", `The carrier of ${provider} presses keys in the talk's own channel.`);
  await carrier.sendDigits(handle, digits);
}
