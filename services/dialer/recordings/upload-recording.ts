import { errorForLog } from "../../../shared/process/log.ts";
import type { DialerParts } from "../deps.ts";
import { lost, uploaded, uploadFailed } from "./recording-state-machine.ts";
import type { RecordedCall } from "./recordings.repository.ts";

/** One try to bring a stored recording into the bucket. The local copy goes when the bucket has it whole; until then it is what is served. */
export async function uploadRecording(
  deps: DialerParts,
  { _id, recording: { key, bytes, content_type, tries, own = false } }: RecordedCall,
): Promise<void> {
  const { local, cloud } = deps.stores;
  if (cloud === null || key === undefined || bytes === undefined || content_type === undefined) return;
  try {
    const opened = await local.open(key);
    if (opened === null) {
      await deps.recordings.apply(lost(_id, deps.clock.now(), own));
      return;
    }
    await cloud.put(key, opened.body, content_type, bytes);
  } catch (error) {
    deps.log.warn(
      { call_ref: _id, tries: tries + 1, error: errorForLog(error) },
      "a recording could not be uploaded; it is served from the folder meanwhile",
    );
    await deps.recordings.apply(
      uploadFailed(_id, tries, error instanceof Error ? error.message : "an error", deps.clock.now()),
    );
    return;
  }
  if ((await deps.recordings.apply(uploaded(_id))) === null) return;
  deps.log.info({ event: "recording.uploaded", call_ref: _id, bytes }, "a recording is in the bucket");
  await local.remove(key).catch((error: unknown) => {
    deps.log.warn(
      { call_ref: _id, error: errorForLog(error) },
      "the local copy of an uploaded recording could not be removed",
    );
  });
}
