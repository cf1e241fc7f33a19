import type { Clock } from "../time/clock.ts";
import type { Ids } from "../ids.ts";
import { localFolder } from "./local-folder.ts";
import type { Storage } from "./port.ts";
import { s3, type S3Options } from "./s3.ts";

/** The stores of recordings. */
export interface RecordingStores {
  local: Storage;
  /** The bucket, where one is configured; uploaded recordings stay readable when uploads are switched off. */
  cloud: Storage | null;
  /** New recordings are uploaded. */
  upload: boolean;
}

const EXTENSIONS: Readonly<Record<string, string>> = { "audio/wav": "wav", "audio/mpeg": "mp3" };

/** The key of a call's recording, by the day of the call so that folders stay small. */
export const recordingKey = (call_ref: string, day: Date, content_type: string): string =>
  `${day.toISOString().slice(0, 10).replaceAll("-", "/")}/${call_ref}.${EXTENSIONS[content_type] ?? "audio"}`;

/** Settings of the stores, from the environment of the service. */
export interface RecordingSettings {
  dir: string;
  upload: boolean;
  bucket: string | undefined;
  s3: Omit<S3Options, "bucket">;
}

/** The stores that the settings name. */
export const recordingStores = (
  { dir, upload, bucket, s3: how }: RecordingSettings,
  deps: { clock: Pick<Clock, "now">; ids: Pick<Ids, "uuid"> },
): RecordingStores => {
  const cloud = bucket === undefined ? null : s3({ bucket, ...how });
  return { local: localFolder({ dir, ...deps }), cloud, upload: upload && cloud !== null };
};
