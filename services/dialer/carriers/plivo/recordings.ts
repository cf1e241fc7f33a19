import { fail } from "../../../../shared/errors.ts";
import type { CallHandle, CarrierRecording, RecordingStream } from "../carrier-port.ts";
import { recordingIn, recordsIn } from "./call-records.ts";
import { unreachable } from "../carrier-errors.ts";
import { isMissing, type PlivoRest } from "./rest.ts";

/** Recordings of one call that are read: there should be one. */
const MAX_LISTED = 20;

/** Opens a recording; a file that is not there is still being made as long as Plivo knows of it. */
export async function openRecording(
  rest: PlivoRest,
  recording_id: string,
  url: string | null,
): Promise<RecordingStream> {
  const opened = url === null ? null : await rest.open(url);
  if (opened) return opened;
  const missing = (): never => fail("RECORDING_NOT_FOUND", "The carrier has no such recording.");
  if (url === null) return missing();
  await rest
    .get(`Recording/${encodeURIComponent(recording_id)}/`)
    .catch((error: unknown) => (isMissing(error) ? missing() : unreachable(error)));
  return fail("RECORDING_NOT_READY", "The carrier knows the recording, but its file is not there yet.");
}

/** The call's recordings that Plivo has finished; it files them under the leg. */
export async function recordingsOf(rest: PlivoRest, { call_id, leg_id }: CallHandle): Promise<CarrierRecording[]> {
  const call_uuid = leg_id ?? call_id;
  const listing = await rest
    .get("Recording/", { call_uuid, limit: String(MAX_LISTED), offset: "0" })
    .catch((error: unknown) => (isMissing(error) ? {} : unreachable(error)));
  // Plivo ignores an unknown filter: another call's recording must never be taken for ours
  return recordsIn(listing)
    .filter((record) => record["call_uuid"] === call_uuid)
    .flatMap((record) => recordingIn(record) ?? []);
}
