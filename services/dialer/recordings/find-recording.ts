import { errorForLog } from "../../../shared/process/log.ts";
import { handleOf } from "../call/calls.model.ts";
import type { DialerParts } from "../deps.ts";
import { recordingReported } from "./expect-recording.ts";
import { pollFailed, notFound, absent } from "./recording-state-machine.ts";
import type { RecordedCall } from "./recordings.repository.ts";

const NO_CALL = "The carrier never named the call.";

/** Polls the carrier for an unreported recording: its callback may be lost. A recording found is handled like a reported one. */
export async function findRecording(deps: DialerParts, call: RecordedCall, lease_until: Date): Promise<void> {
  const {
    _id,
    provider,
    recording: { looks = 0, tries },
  } = call;
  const handle = handleOf(call);
  if (provider === undefined || handle === null) {
    await deps.recordings.apply(absent(_id, NO_CALL, deps.clock.now()));
    return;
  }
  try {
    const all = await deps.carriers.of(provider).recordingsOf(handle);
    const found = all.find(({ url }) => url !== null) ?? all[0];
    if (found === undefined) {
      await deps.recordings.apply(notFound(_id, lease_until, looks, deps.clock.now()));
      return;
    }
    deps.log.info(
      { call_ref: _id, looks: looks + 1, made: found.url !== null },
      "the carrier was asked for a recording it had not told of, and knows what became of it",
    );
    await recordingReported(deps, _id, handle.call_id, found);
  } catch (error) {
    deps.log.warn(
      { call_ref: _id, tries: tries + 1, error: errorForLog(error) },
      "the carrier could not be asked for a recording; it is asked again",
    );
    await deps.recordings.apply(
      pollFailed(_id, lease_until, tries, error instanceof Error ? error.message : "an error", deps.clock.now()),
    );
  }
}
