import { Type, UpTo } from "../define.ts";

/** States of a call's recording. wanted: the call is recorded, or its recording waits at the carrier; fetching: a node reads it; stored: it is in our
 *  folder; uploaded: it is in the bucket; absent: there is none; failed: the carrier did not deliver it in all tries. */
export const RECORDING_STATES = ["wanted", "fetching", "stored", "uploaded", "absent", "failed"] as const;
export type RecordingState = (typeof RECORDING_STATES)[number];
/** Where a recording can be read. */
export const RECORDING_PLACES = ["local", "cloud"] as const;

/** Where the bytes of a recording are. */
export const StoredRecording = Type.Object({
  key: UpTo(300),
  content_type: UpTo(100),
  bytes: Type.Integer(),
  where: Type.Enum([...RECORDING_PLACES]),
});
