import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import { fail } from "../../../shared/errors.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { isLive, requestHangUp } from "./call-state-machine.ts";
import { handleOf, type CallDoc, type HangUpReason, type StoredOrder } from "./calls.model.ts";
import { callbackBase, type CallHandle } from "../carriers/carrier-port.ts";
import type { DialerParts } from "../deps.ts";

/** Asks the carrier to end a call that has a name there. DEPENDENCY_DOWN when it can't be reached. */
export async function hangUpAtCarrier(deps: DialerParts, call: CallDoc): Promise<void> {
  const handle = handleOf(call);
  if (call.provider === undefined || handle === null) return;
  await deps.carriers.of(call.provider).hangUp(handle, call.state === "ANSWERED");
}

/** Ends a call: the request is stored first, so that a later poll ends a call whose carrier is unreachable now, or that has no name yet. */
export async function endCall(deps: DialerParts, ref: string, reason: HangUpReason): Promise<void> {
  const call = (await deps.calls.apply(requestHangUp(ref, reason, deps.clock.now()))) ?? (await deps.calls.find(ref));
  if (!call || !isLive(call)) return;
  try {
    await hangUpAtCarrier(deps, call);
  } catch (error) {
    deps.log.warn(
      { call_ref: ref, reason, error: errorForLog(error) },
      "the carrier could not be told to end the call; it is told again",
    );
  }
}

interface InProgress {
  call: CallDoc & { order: StoredOrder };
  handle: CallHandle;
  provider: Provider;
}

async function inProgress(deps: DialerParts, ref: string, what: string): Promise<InProgress> {
  const call = await deps.calls.find(ref);
  const handle = call ? handleOf(call) : null;
  if (call?.state !== "ANSWERED" || call.provider === undefined || handle === null || call.order === undefined) {
    fail("VALIDATION_FAILED", `The call ${ref} is not in progress, so it can't be ${what}.`);
  }
  return { call: { ...call, order: call.order }, handle, provider: call.provider };
}

/** Transfers a live, answered call to another number. VALIDATION_FAILED when there is none. */
export async function transferCall(deps: DialerParts, ref: string, to: string): Promise<void> {
  const { call, handle, provider } = await inProgress(deps, ref, "transferred");
  await deps.carriers
    .of(provider)
    .transfer(handle, to, call.order.from, { base: callbackBase(deps.env, provider), call_ref: ref });
}

/** Sends DTMF to the callee. VALIDATION_FAILED when there is no call in progress, NOT_AVAILABLE where the conversation's own channel does it. */
export async function sendDtmf(deps: DialerParts, ref: string, digits: string): Promise<void> {
  const { handle, provider } = await inProgress(deps, ref, "sent keys");
  const carrier = deps.carriers.of(provider);
  if (carrier.capabilities.dtmf !== "command")
    fail("NOT_AVAILABLE", `The carrier of ${provider} presses keys in the talk's own channel.`);
  await carrier.sendDtmf(handle, digits);
}
