import type { Provider } from "../../../shared/contracts/records/configuration.ts";
import { crashPoint } from "../../../shared/process/crash.ts";
import { parseCallRef } from "../../../shared/ids.ts";
import { endsForVoicemail, isLive, voicemailActionOf, nameLeg, progress } from "../call/call-state-machine.ts";
import { handleOf, type CallDoc } from "../call/calls.model.ts";
import type { CarrierEventDoc } from "./carrier-events.model.ts";
import type { CallProgress } from "../carriers/carrier-port.ts";
import { finishCall, signalConversation } from "../call/close-call.ts";
import { chargeReported } from "../billing/charge.ts";
import { momentOf } from "../call/call-facts.ts";
import { isUntold } from "../call/tell-placed.ts";
import { hangUpAtCarrier, endCall } from "../call/call-control.ts";
import { releaseIfLost } from "../call/lost-conversation.ts";
import { expectRecording, recordingReported } from "../recordings/expect-recording.ts";
import { logCall } from "../call/call-log.ts";
import type { DialerParts } from "../deps.ts";

/**
 * Voicemail answered, or its greeting is over. To hang up: a conversation that began is stopped by its own node, else the call is ended here. For
 * a message:
 * the node of the conversation gets a signal; one that joins later gets it then. Else the conversation goes on.
 */
async function voicemailDetected(deps: DialerParts, call: CallDoc, what: "machine" | "beep"): Promise<void> {
  const action = voicemailActionOf(call);
  if (what === "machine" && call.holder === undefined && endsForVoicemail(call))
    await endCall(deps, call._id, "machine");
  else if (action === "leave_message" || (what === "machine" && action === "hangup"))
    await signalConversation(deps, call, what);
}

/** True for a step that reports voicemail on this very call. */
const isVoicemail = (call: CallDoc, step: CallProgress): step is CallProgress & { type: "machine" | "beep" } =>
  call.carrier_call_id === step.call_id &&
  isLive(call) &&
  (step.type === "machine" ? call.machine === "machine" : step.type === "beep");

/** The carrier's names of a call. */
const namesOf = ({ carrier_call_id, carrier_leg_id }: CallDoc): (string | undefined)[] => [
  carrier_call_id,
  carrier_leg_id,
];

const NEVER_RANG: readonly (string | undefined)[] = ["unknown", "not_dialled"];

/** True for a phone that rings although its attempt was given up or never begun. */
const isStray = (call: CallDoc, step: CallProgress): boolean =>
  step.type !== "ended" && (call.state === "VOID" || (call.state === "ENDED" && NEVER_RANG.includes(call.ended)));

async function afterTransition(deps: DialerParts, call: CallDoc, step: CallProgress): Promise<void> {
  if (step.type === "ended") {
    await finishCall(deps, call);
    return;
  }
  if (step.type === "ringing") {
    logCall(deps, "call.ringing", call, "the phone rings");
    crashPoint(deps.env, "K7");
  }
  if (step.type === "answered") {
    logCall(deps, "call.answered", call, "somebody or something answered");
    deps.background.run("expecting a recording", () => expectRecording(deps, call));
  }
  if (step.type === "media_lost")
    deps.log.warn(
      { call_ref: call._id, reason: step.reason },
      "the carrier could not connect the talk's sound; the call is ended",
    );
  if (call.hang_up !== undefined) await hangUpAtCarrier(deps, call); // the hang-up was requested before the carrier's name for the call was known
}

/** Applies one step the carrier reported, by callback or when polled. Returns what was odd about it, or null. */
export async function applyProgress(
  deps: DialerParts,
  provider: Provider,
  ref: string,
  step: CallProgress,
  received: Date,
): Promise<string | null> {
  const moved = await deps.calls.apply(progress(ref, step, momentOf(step.at, received), deps.clock.now()));
  const call = moved ?? (await deps.calls.find(ref));
  if (!call) return "unknown_call";
  if (isStray(call, step)) {
    deps.log.error(
      { call_ref: ref, ended: call.ended, state: call.state },
      "a call lives that was given up; it is ended",
    );
    await deps.carriers
      .of(provider)
      .hangUp(handleOf(call) ?? { call_id: step.call_id, leg_id: null }, step.type === "answered");
    return "stray_call";
  }
  if (moved) await afterTransition(deps, moved, step);
  else if (call.carrier_call_id !== undefined && !namesOf(call).includes(step.call_id)) return "other_call";
  // from the document, not from the transition: a repeat after a crash must still act
  if (isVoicemail(call, step)) await voicemailDetected(deps, call, step.type);
  if (step.type === "media_lost") await releaseIfLost(deps, call);
  return null;
}

/**
 * Tells the leads service that the phone of a callee who has been called for a while rings, which makes an event of it, once; after the answer it is told no more. From the document, not
 * from the transition: a repeat after a crash must still tell. Throws when it can't be reached.
 */
export async function tellRinging(deps: DialerParts, ref: string): Promise<void> {
  const call = await deps.calls.find(ref);
  if (call?.state !== "RINGING" || call.direction === "INBOUND" || call.carrier_call_id === undefined) return;
  // told with the call itself
  if (isUntold(call, deps.clock.now())) return;
  const { lead_id, claim_no, carrier_call_id: call_id } = call;
  await deps.bus.call("leads.annotate", { lead_id, claim_no, ringing: { call_id } });
}

/** Whether this says that a phone rings. */
export const tellsOfRinging = (progress: readonly CallProgress[]): boolean =>
  progress.some(({ type }) => type === "ringing");

/** Applies a stored callback and marks it so. Throws when something can't be reached; the sweep then comes back to it. */
export async function applyCallback(deps: DialerParts, stored: CarrierEventDoc): Promise<void> {
  const ref = parseCallRef(stored.ref)
    ? stored.ref
    : await deps.calls.refOfCarrier(stored.provider, stored.carrier_call_id);
  if (ref === null) {
    await deps.callbacks.markApplied(stored._id, "no_call_of_ours");
    return;
  } // of an inbound call that was blocked
  const event = { ...stored, ref };
  let odd: string | null = null;
  if (event.carrier_leg_id !== undefined)
    await deps.calls.apply(nameLeg(event.ref, event.carrier_call_id, event.carrier_leg_id));
  for (const step of event.progress)
    odd = (await applyProgress(deps, event.provider, event.ref, step, event.received_at)) ?? odd;
  if (event.recording) await recordingReported(deps, event.ref, event.carrier_call_id, event.recording);
  if (event.cost) await chargeReported(deps, event.ref, event.carrier_call_id, event.cost);
  if (tellsOfRinging(event.progress)) await tellRinging(deps, event.ref); // last: nothing else waits for it
  if (odd !== null)
    deps.log.warn(
      { call_ref: event.ref, provider: event.provider, kind: event.kind, odd },
      "a carrier's callback changed nothing",
    );
  await deps.callbacks.markApplied(event._id, odd);
}
