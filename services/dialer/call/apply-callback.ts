import type { Provider } from "../../../shared/contracts/configuration.ts";
import { crashPoint } from "../../../shared/crash.ts";
import { parseCallRef } from "../../../shared/ids.ts";
import { endsForMachine, isLive, machineAction, nameLeg, progress } from "./call-state-machine.ts";
import { handleOf, type CallDoc } from "./calls.model.ts";
import type { CarrierEventDoc } from "./carrier-events.model.ts";
import type { CallProgress } from "../carriers/carrier-port.ts";
import { ended, stopTalk } from "./close-call.ts";
import { costTold } from "../billing/charge.ts";
import { momentOf } from "./call-facts.ts";
import { cutLine, endCall } from "./call-control.ts";
import { refOfCarrierCall } from "../inbound/connect-inbound.ts";
import { expectRecording, recordingTold } from "../recordings/expect-recording.ts";
import { logCall, type Works } from "../deps.ts";

/**
 * A machine answered, or its greeting is over. Hung up on: a talk that began is stopped by its own node, else the call is ended here. For a message: the node that talks is
 * told; one that joins later hears of it then. Else the talk goes on.
 */
async function machineAnswered(w: Works, call: CallDoc, what: "machine" | "beep"): Promise<void> {
  const action = machineAction(call);
  if (what === "machine" && call.holder === undefined && endsForMachine(call)) await endCall(w, call._id, "machine");
  else if (action === "leave_message" || (what === "machine" && action === "hangup")) await stopTalk(w, call, what);
}

/** True for a step that tells of a machine on this very call. */
const isMachine = (call: CallDoc, step: CallProgress): step is CallProgress & { type: "machine" | "beep" } =>
  call.carrier_call_id === step.call_id &&
  isLive(call) &&
  (step.type === "machine" ? call.machine === "machine" : step.type === "beep");

const NEVER_RANG: readonly (string | undefined)[] = ["unknown", "not_dialled"];

/** True for a phone that rings although its attempt was given up or never begun. */
const isStray = (call: CallDoc, step: CallProgress): boolean =>
  step.type !== "ended" && (call.state === "VOID" || (call.state === "ENDED" && NEVER_RANG.includes(call.ended)));

async function afterMove(w: Works, call: CallDoc, step: CallProgress): Promise<void> {
  if (step.type === "ended") {
    await ended(w, call);
    return;
  }
  if (step.type === "ringing") {
    logCall(w, "call.ringing", call, "the phone rings");
    crashPoint(w.env, "K7");
  }
  if (step.type === "answered") {
    logCall(w, "call.answered", call, "somebody or something answered");
    w.background.run("expecting a recording", () => expectRecording(w, call));
  }
  if (step.type === "media_lost")
    w.log.warn(
      { call_ref: call._id, reason: step.reason },
      "the carrier could not connect the talk's sound; the call is ended",
    );
  if (call.hang_up !== undefined) await cutLine(w, call); // the wish came before the carrier's name for the call
}

/** Applies one step the carrier reported, by callback or when asked. Gives what was odd about it, or null. */
export async function applyStep(
  w: Works,
  provider: Provider,
  ref: string,
  step: CallProgress,
  received: Date,
): Promise<string | null> {
  const moved = await w.calls.run(progress(ref, step, momentOf(step.at, received), w.clock.now()));
  const call = moved ?? (await w.calls.find(ref));
  if (!call) return "unknown_call";
  if (isStray(call, step)) {
    w.log.error({ call_ref: ref, ended: call.ended, state: call.state }, "a call lives that was given up; it is ended");
    await w.carriers
      .of(provider)
      .hangUp(handleOf(call) ?? { call_id: step.call_id, leg_id: null }, step.type === "answered");
    return "stray_call";
  }
  if (moved) await afterMove(w, moved, step);
  else if (call.carrier_call_id !== undefined && call.carrier_call_id !== step.call_id) return "other_call";
  // from the document, not from the move: a repeat after a crash must still act
  if (isMachine(call, step)) await machineAnswered(w, call, step.type);
  return null;
}

/** Applies a stored callback and marks it so. Throws when something can't be reached; the sweep then comes back to it. */
export async function applyEvent(w: Works, stored: CarrierEventDoc): Promise<void> {
  const ref = parseCallRef(stored.ref)
    ? stored.ref
    : await refOfCarrierCall(w, stored.provider, stored.carrier_call_id);
  if (ref === null) {
    await w.events.applied(stored._id, "no_call_of_ours");
    return;
  } // of a call to us that was blocked
  const event = { ...stored, ref };
  let odd: string | null = null;
  if (event.carrier_leg_id !== undefined)
    await w.calls.run(nameLeg(event.ref, event.carrier_call_id, event.carrier_leg_id));
  for (const step of event.progress)
    odd = (await applyStep(w, event.provider, event.ref, step, event.received_at)) ?? odd;
  if (event.recording) await recordingTold(w, event.ref, event.carrier_call_id, event.recording);
  if (event.cost) await costTold(w, event.ref, event.carrier_call_id, event.cost);
  if (odd !== null)
    w.log.warn(
      { call_ref: event.ref, provider: event.provider, kind: event.kind, odd },
      "a carrier's callback changed nothing",
    );
  await w.events.applied(event._id, odd);
}
