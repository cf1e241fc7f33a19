import { BASE_PATH } from "../../../shared/base-path.ts";
import { errorForLog } from "../../../shared/log.ts";
import { isLive } from "../call/call-state-machine.ts";
import { handleOf, type CallDoc } from "../call/calls.model.ts";
import type { CarrierRecording } from "../carriers/carrier-port.ts";
import { isOwnRecording } from "../media/media-target.ts";
import { CARRIER_LIMIT_MARGIN_SECONDS } from "../call/call-deadlines.ts";
import { callbackBase, type Works } from "../deps.ts";
import { addressTold, callOver, expect, neverCame, told } from "./recording-state-machine.ts";

/** A recording may outlast the talk's own limit by this much: the talk ends it. */
const RECORD_MARGIN_SECONDS = 60;
/** The carrier may not know yet that the call is answered: recording is asked for again after these pauses. */
const BEGIN_AGAIN_MS = [1_000, 4_000] as const;

/** Where a call's recording is downloaded. */
export const recordingUrl = ({ env }: Pick<Works, "env">, call_id: string): string =>
  `${env.PUBLIC_HTTP_URL}${BASE_PATH}/leads/recording/${encodeURIComponent(call_id)}`;

/** Puts the recording's address into the lead's record, or takes it back. Throws when leads can't be reached. */
export async function tellAddress(w: Works, call: CallDoc, known: boolean): Promise<void> {
  if (call.carrier_call_id === undefined) return;
  await w.bus.call("leads.annotate", {
    lead_id: call.lead_id,
    claim_no: call.claim_no,
    recording_url: known ? recordingUrl(w, call.carrier_call_id) : null,
  });
  await w.recordings.run(addressTold(call._id, known));
}

/** Has the carrier record a live call. That it won't is no fault of the call: it goes on without. */
async function begin(w: Works, ref: string): Promise<void> {
  let reason = "the call was over before it could be recorded";
  for (const pauseMs of [0, ...BEGIN_AGAIN_MS]) {
    if (pauseMs > 0) await w.clock.wait(pauseMs, w.leaving);
    const call = await w.calls.find(ref);
    const handle = call ? handleOf(call) : null;
    if (!call || !isLive(call) || call.provider === undefined || handle === null || w.stopping()) break;
    try {
      const limit_seconds = (call.order?.max_call_seconds ?? 0) + CARRIER_LIMIT_MARGIN_SECONDS + RECORD_MARGIN_SECONDS;
      await w.carriers
        .of(call.provider)
        .record(handle, { callback_base: callbackBase(w, call.provider), call_ref: ref, limit_seconds });
      return;
    } catch (error) {
      reason = error instanceof Error ? error.message : "a fault";
      w.log.warn({ call_ref: ref, error: errorForLog(error) }, "the carrier could not be told to record a call");
    }
  }
  await w.recordings.run(neverCame(ref, reason, w.clock.now()));
}

/** True where this call will have a recording from now on: whoever is told to record does so once the talk has joined, and so do we. */
function isRecorded(w: Works, call: CallDoc): boolean {
  if (call.order?.record !== true || call.provider === undefined) return false;
  if (isOwnRecording(w, call)) return call.holder !== undefined;
  const how = w.carriers.of(call.provider).capabilities.recording;
  return how === "dial" || (how === "command" && call.holder !== undefined);
}

/** After the end of a call: its recording is told of soon, or asked for. May be repeated. */
export async function afterTalk(w: Works, { _id, recording }: CallDoc): Promise<void> {
  if (recording?.state === "wanted" && recording.recording_id === undefined)
    await w.recordings.run(callOver(_id, w.clock.now(), recording.own ?? false));
}

/** After the answer: the recording is waited for, and the lead's record names its address at once, so that the report does so too. May be repeated. */
export async function expectRecording(w: Works, call: CallDoc): Promise<void> {
  if (call.provider === undefined || call.recording !== undefined || !isRecorded(w, call)) return;
  const isOurs = isOwnRecording(w, call);
  const moved = await w.recordings.run(expect(call._id, w.clock.now(), call.order?.max_call_seconds ?? 0, isOurs));
  if (!moved) return;
  const isCommanded = !isOurs && w.carriers.of(call.provider).capabilities.recording === "command";
  if (!isCommanded && !isLive(moved)) await afterTalk(w, moved); // the end came before this
  await tellAddress(w, moved, true);
  if (isCommanded) await begin(w, call._id);
}

/** What the carrier told of a recording: it is fetched at once, for some links die within minutes. */
export async function recordingTold(
  w: Works,
  ref: string,
  call_id: string,
  recording: CarrierRecording,
): Promise<void> {
  if (await w.recordings.run(told(ref, call_id, recording, w.clock.now()))) w.recorder.nudge();
}
