import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { fail } from "../../../shared/errors.ts";
import { isLive } from "../call/call-state-machine.ts";
import type { CallDoc } from "../call/calls.model.ts";
import type { DialerParts } from "../deps.ts";
import { isOwnRecording } from "../media/media-target.ts";
import { ownKept, uploaded } from "./recording-state-machine.ts";

/** Where the recording of a call is; null: there is no such call. */
export async function recordingOf(
  deps: Pick<DialerParts, "recordings">,
  call_id: string,
): Promise<ResultOf<"dialer.recordingOf">> {
  const call: CallDoc | null = await deps.recordings.ofCarrierCall(call_id);
  if (!call) return { recording: null };
  const { recording, lead_id } = call;
  if (!recording) {
    const state = isLive(call) && call.order?.record === true ? "wanted" : "absent";
    return { recording: { lead_id, state, key: null, content_type: null, bytes: null, where: null } };
  }
  const { state, key = null, content_type = null, bytes = null } = recording;
  const where = state === "uploaded" ? "cloud" : state === "stored" ? "local" : null;
  return { recording: { lead_id, state, key, content_type, bytes, where } };
}

/** A recording of our own is in the local folder, or in the bucket: from here on it is handled like any other. */
export async function ownRecorded(
  deps: DialerParts,
  { call_ref, ...kept }: ParamsOf<"dialer.recorded">,
  state: "stored" | "uploaded",
): Promise<ResultOf<"dialer.recorded">> {
  if (!kept.key.endsWith(`/${call_ref}.wav`)) fail("VALIDATION_FAILED", "This is no key of a recording of this call.");
  const call = await deps.calls.find(call_ref);
  if (!call) return { wanted: false };
  // who recorded it when it began counts, not who would today
  const isOurs = call.recording === undefined ? isOwnRecording(deps, call) : call.recording.own === true;
  if (!isOurs) return { wanted: false };
  if (await deps.recordings.apply(ownKept(call_ref, state, kept, deps.clock.now()))) {
    const { bytes, content_type } = kept;
    deps.log.info({ event: "recording.stored", call_ref, bytes, content_type }, "a recording of our own is stored");
    deps.wakeRecordings();
    return { wanted: true };
  }
  const there = (await deps.calls.find(call_ref))?.recording;
  if (there?.key !== kept.key) return { wanted: false };
  // handed over in the folder before, with an answer that was lost: the bucket has it whole, as if it had been uploaded from there
  if (state === "uploaded" && there.state === "stored" && (await deps.recordings.apply(uploaded(call_ref))) !== null) {
    await deps.stores.local.remove(kept.key);
    return { wanted: true };
  }
  return { wanted: there.state === state };
}
