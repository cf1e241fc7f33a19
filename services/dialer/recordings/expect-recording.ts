import { BASE_PATH } from "../../../shared/base-path.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { isLive } from "../call/call-state-machine.ts";
import { handleOf, type CallDoc } from "../call/calls.model.ts";
import { callbackBase, type CarrierRecording } from "../carriers/carrier-port.ts";
import { isOwnRecording } from "../media/media-target.ts";
import { CARRIER_LIMIT_MARGIN_SECONDS } from "../call/call-deadlines.ts";
import type { DialerParts } from "../deps.ts";
import { placedOf } from "../call/tell-placed.ts";
import type { RecordingState } from "../../../shared/contracts/records/recording-states.ts";
import { addressTakenBack, callOver, expect, absent, reported } from "./recording-state-machine.ts";

/** A recording may outlast the conversation's own limit by this much: the conversation ends it. */
const RECORD_MARGIN_SECONDS = 60;
/** The carrier may not know yet that the call is answered: recording is asked for again after these pauses. */
const BEGIN_AGAIN_MS = [1_000, 4_000] as const;

/** In these states there is a recording, or there will be. */
const PROMISED: readonly RecordingState[] = ["wanted", "fetching", "stored", "uploaded"];

/** Where a call's recording is downloaded. */
export const recordingUrl = ({ env }: Pick<DialerParts, "env">, call_id: string): string =>
  `${env.PUBLIC_HTTP_URL}${BASE_PATH}/leads/recording/${encodeURIComponent(call_id)}`;

/** Where the recording of an answered call will be, or is; undefined: none is expected. */
export function addressOf(deps: DialerParts, call: CallDoc): string | undefined {
  const { carrier_call_id, holder, recording } = call;
  // of a call that its conversation has just joined the recording may not be written yet
  const isToBe = recording ? PROMISED.includes(recording.state) : holder !== undefined && isRecorded(deps, call);
  return carrier_call_id !== undefined && isToBe ? recordingUrl(deps, carrier_call_id) : undefined;
}

/** Puts the recording's address into the lead's record; null: takes it back. Throws when leads can't be reached. */
async function noteAddress(deps: DialerParts, call: CallDoc, recording_url: string | null): Promise<void> {
  const { lead_id, claim_no } = call;
  await deps.bus.call("leads.annotate", { lead_id, claim_no, recording_url });
}

/** There is no recording after all: the lead's record names none any more. Throws when leads can't be reached. */
export async function takeAddressBack(deps: DialerParts, call: CallDoc): Promise<void> {
  await noteAddress(deps, call, null);
  await deps.recordings.apply(addressTakenBack(call._id));
}

/** Makes the carrier record a live call. A refusal is no error of the call: it goes on without. */
async function startRecording(deps: DialerParts, ref: string): Promise<void> {
  let reason = "the call was over before it could be recorded";
  for (const pauseMs of [0, ...BEGIN_AGAIN_MS]) {
    if (pauseMs > 0) await deps.clock.wait(pauseMs, deps.leaving);
    const call = await deps.calls.find(ref);
    const handle = call ? handleOf(call) : null;
    if (!call || !isLive(call) || call.provider === undefined || handle === null || deps.leaving.aborted) break;
    try {
      const limit_seconds = (call.order?.max_call_seconds ?? 0) + CARRIER_LIMIT_MARGIN_SECONDS + RECORD_MARGIN_SECONDS;
      await deps.carriers
        .of(call.provider)
        .record(handle, { callback_base: callbackBase(deps.env, call.provider), call_ref: ref, limit_seconds });
      return;
    } catch (error) {
      reason = error instanceof Error ? error.message : "an error";
      deps.log.warn({ call_ref: ref, error: errorForLog(error) }, "the carrier could not be told to record a call");
    }
  }
  await deps.recordings.apply(absent(ref, reason, deps.clock.now()));
}

/** True where this call will have a recording from now on: recording by command starts once the conversation has joined, and so does ours. */
function isRecorded(deps: DialerParts, call: CallDoc): boolean {
  if (call.order?.record !== true) return false;
  if (isOwnRecording(deps, call)) return call.holder !== undefined;
  if (call.provider === undefined) return false;
  const how = deps.carriers.of(call.provider).capabilities.recording;
  return how === "dial" || (how === "command" && call.holder !== undefined);
}

/** After the end of a call: its recording is reported soon, or polled. Idempotent. */
export async function afterCall(deps: DialerParts, { _id, recording }: CallDoc): Promise<void> {
  if (recording?.state === "wanted" && recording.recording_id === undefined)
    await deps.recordings.apply(callOver(_id, deps.clock.now(), recording.own ?? false));
}

/**
 * After the answer: the recording is expected. The lead's record names its address before the lead ends, so that the webhook event does so too: by the write of the
 * call's answer or end where we called (`placedOf`), else by one of its own. Idempotent.
 */
export async function expectRecording(deps: DialerParts, call: CallDoc): Promise<void> {
  if (call.recording !== undefined || !isRecorded(deps, call)) return;
  const isOurs = isOwnRecording(deps, call);
  const moved = await deps.recordings.apply(
    expect(call._id, deps.clock.now(), call.order?.max_call_seconds ?? 0, isOurs),
  );
  if (!moved) return;
  const isCommanded =
    !isOurs && call.provider !== undefined && deps.carriers.of(call.provider).capabilities.recording === "command";
  if (!isCommanded && !isLive(moved)) await afterCall(deps, moved); // the end came before this
  const address = addressOf(deps, moved);
  if (placedOf(moved) === undefined && address !== undefined) await noteAddress(deps, moved, address);
  if (isCommanded) await startRecording(deps, call._id);
}

/** The carrier reported a recording: it is fetched at once, for some links die within minutes. */
export async function recordingReported(
  deps: DialerParts,
  ref: string,
  call_id: string,
  recording: CarrierRecording,
): Promise<void> {
  if (await deps.recordings.apply(reported(ref, call_id, recording, deps.clock.now()))) deps.wakeRecordings();
}
