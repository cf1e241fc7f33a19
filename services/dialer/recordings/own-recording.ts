import type { ParamsOf, ResultOf } from "../../../shared/bus.ts";
import { fail } from "../../../shared/errors.ts";
import { isOwnRecording } from "../media/media-target.ts";
import type { Works } from "../deps.ts";
import { ownStored } from "./recording-state-machine.ts";

/** A talk that we recorded ourselves is in the folder: from here on its recording goes the road of all others. */
export async function ownRecorded(
  w: Works,
  { call_ref, ...kept }: ParamsOf<"dialer.recorded">,
): Promise<ResultOf<"dialer.recorded">> {
  if (!kept.key.endsWith(`/${call_ref}.wav`)) fail("VALIDATION_FAILED", "This is no key of a recording of this call.");
  const call = await w.calls.find(call_ref);
  if (!call) return { wanted: false };
  // whoever recorded it when it began counts, not who would today
  const isOurs = call.recording === undefined ? isOwnRecording(w, call) : call.recording.own === true;
  if (!isOurs) return { wanted: false };
  if (await w.recordings.run(ownStored(call_ref, kept, w.clock.now()))) {
    w.log.info(
      { event: "recording.stored", call_ref, bytes: kept.bytes, content_type: kept.content_type },
      "a recording of our own is stored",
    );
    w.recorder.nudge();
    return { wanted: true };
  }
  const there = (await w.calls.find(call_ref))?.recording;
  return { wanted: there?.state === "stored" && there.key === kept.key };
}
