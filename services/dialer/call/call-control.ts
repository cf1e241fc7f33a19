import type { Handlers, ParamsOf } from "../../../shared/bus/bus.ts";
import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import type { CallEndEvidence } from "../../../shared/contracts/dialer.ts";
import { codeOf, fail } from "../../../shared/errors.ts";
import type { HangUpReason, MediaEnd } from "../../../shared/hangup-source.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { endEvidenceOf } from "./call-facts.ts";
import { handOn, isLive, requestHangUp } from "./call-state-machine.ts";
import { handleOf, isSession, type CallDoc, type StoredOrder } from "./calls.model.ts";
import { endSession } from "../sessions/end-session.ts";
import { callbackBase, type CallHandle } from "../carriers/carrier-port.ts";
import { giveBackSpend } from "../spend/spend-admission.ts";
import { longestSeconds } from "../spend/spend-amounts.ts";
import { handedOnRef } from "../spend/spend-settlement.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { admitLeg } from "../admission/leg-admission.ts";
import type { DialerParts } from "../deps.ts";

/** Asks the carrier to end a call that has a name there; a session ends at once. DEPENDENCY_DOWN when it can't be reached. */
export async function hangUpAtCarrier(deps: DialerParts, call: CallDoc): Promise<void> {
  if (isSession(call)) return endSession(deps, call);
  const handle = handleOf(call);
  if (call.provider === undefined || handle === null) return;
  await deps.carriers.of(call.provider).hangUp(handle, call.state === "ANSWERED");
}

/** Ends a call: the request is stored first, so that a later poll ends a call whose carrier is unreachable now, or that has no name yet. */
export async function endCall(deps: DialerParts, ref: string, reason: HangUpReason, media?: MediaEnd): Promise<void> {
  const call =
    (await deps.calls.apply(requestHangUp(ref, reason, deps.clock.now(), media))) ?? (await deps.calls.find(ref));
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

/** The carrier's word of who ended a call is waited for this long, ms, and looked for this often. */
const WORD_MS = 1500;
const WORD_EVERY_MS = 250;

/** Ends a call whose media ended on the carrier's side; what is known of its end. The carrier's word of who ended it is waited for, where it gives one. */
export async function endAfterMedia(
  deps: DialerParts,
  ref: string,
  reason: HangUpReason,
  media: MediaEnd,
): Promise<CallEndEvidence | undefined> {
  await endCall(deps, ref, reason, media);
  const { clock } = deps;
  for (const untilMs = clock.monotonicMs() + WORD_MS; ; await clock.wait(WORD_EVERY_MS)) {
    const call = await deps.calls.find(ref);
    if (!call) return undefined;
    const { provider, media: kind } = call;
    // who ended it, or that the carrier's own session of the conversation failed
    const tells = provider !== undefined && (kind === "text" || deps.carriers.of(provider).capabilities.names_ender);
    if (!tells || call.media_fault !== undefined || !isLive(call) || clock.monotonicMs() >= untilMs)
      return endEvidenceOf(call);
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

/** Transfers a live, answered call to another number. VALIDATION_FAILED when there is none; INVALID_PHONE_NUMBER, NUMBER_BLACKLISTED and FORBIDDEN where the leg is not admitted. */
async function transferCall(
  deps: DialerParts,
  { call_ref: ref, to, from_variable }: ParamsOf<"dialer.transfer">,
): Promise<void> {
  const { call, handle, provider } = await inProgress(deps, ref, "transferred");
  const now = deps.clock.now();
  const answered_at = call.answered_at ?? now;
  const seconds = longestSeconds(call.order.max_call_seconds) - (now.getTime() - answered_at.getTime()) / MS_PER_SECOND;
  const reservation = { ref: handedOnRef(ref, now), seconds };
  const refused = await admitLeg(deps, { ...call.order, kind: "transfer", to, from_variable, reservation });
  if (refused !== null) fail(refused.code, `The call is not transferred: ${refused.why}.`);
  // first: its media may be reported over before the carrier answers
  await deps.calls.apply(handOn(ref, true));
  try {
    await deps.carriers
      .of(provider)
      .transfer(handle, to, call.order.from, { base: callbackBase(deps.env, provider), call_ref: ref });
  } catch (error) {
    // of another error nobody knows whether the leg came to be: it counts
    if (codeOf(error) === "CALL_REFUSED") {
      await giveBackSpend(deps, { ...call.order, ref: reservation.ref });
      await deps.calls.apply(handOn(ref, false));
    }
    throw error;
  }
}

/** Sends DTMF to the callee. VALIDATION_FAILED when there is no call in progress, NOT_AVAILABLE where the conversation's own channel does it. */
async function sendDtmf(deps: DialerParts, ref: string, digits: string): Promise<void> {
  const { handle, provider } = await inProgress(deps, ref, "sent keys");
  const carrier = deps.carriers.of(provider);
  if (carrier.capabilities.dtmf !== "command")
    fail("NOT_AVAILABLE", `The carrier of ${provider} presses keys in the talk's own channel.`);
  await carrier.sendDtmf(handle, digits);
}

/** Makes the carrier of an XML-driven call ask for its next document now. VALIDATION_FAILED when there is no call in progress, NOT_AVAILABLE where documents lead none. */
async function askAgain(deps: DialerParts, { call_ref, turn, language }: ParamsOf<"dialer.askAgain">): Promise<void> {
  const { handle, provider } = await inProgress(deps, call_ref, "led on");
  const carrier = deps.carriers.of(provider);
  if (carrier.askAgain === undefined) fail("NOT_AVAILABLE", `The carrier of ${provider} asks for no documents.`);
  await carrier.askAgain(handle, { base: callbackBase(deps.env, provider), call_ref, turn, language });
}

/** The actions by which a conversation commands its call. */
export const callCommands = (deps: DialerParts): Handlers<"dialer", "transfer" | "sendDtmf" | "askAgain"> => ({
  async transfer(params) {
    await transferCall(deps, params);
    return {};
  },
  async sendDtmf({ call_ref, digits }) {
    await sendDtmf(deps, call_ref, digits);
    return {};
  },
  async askAgain(params) {
    await askAgain(deps, params);
    return {};
  },
});
