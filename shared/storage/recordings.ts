import type { ProcessDeps } from "../process/process-deps.ts";
import { localFolder } from "./local-folder.ts";
import type { Bucket, Storage } from "./port.ts";
import { s3 } from "./s3.ts";

/** The stores of recordings. */
export interface RecordingStores {
  local: Storage;
  /** The bucket, where one is configured; uploaded recordings stay readable when uploads are switched off. */
  cloud: Bucket | null;
  /** New recordings are uploaded. */
  upload: boolean;
}

const EXTENSIONS: Readonly<Record<string, string>> = { "audio/wav": "wav", "audio/mpeg": "mp3" };

const dayFolder = (day: Date): string => day.toISOString().slice(0, 10).replaceAll("-", "/");

/** The key of a call's recording, by the day of the call so that folders stay small. */
export const recordingKey = (call_ref: string, day: Date, content_type: string): string =>
  `${dayFolder(day)}/${call_ref}.${EXTENSIONS[content_type] ?? "audio"}`;

/** The same of a recording that we make ourselves, which so never takes the place of the carrier's. */
export const ownRecordingKey = (call_ref: string, day: Date): string => `${dayFolder(day)}/own/${call_ref}.wav`;

/** What the stores are made of. */
export interface RecordingStoresDeps extends Pick<ProcessDeps, "clock"> {
  env: Pick<
    ProcessDeps["env"],
    | "RECORDINGS_DIR"
    | "UPLOAD_CALL_RECORDINGS_TO_CLOUD"
    | "S3_BUCKET"
    | "S3_REGION"
    | "S3_ENDPOINT"
    | "S3_ACCESS_KEY_ID"
    | "S3_SECRET_ACCESS_KEY"
  >;
  ids: Pick<ProcessDeps["ids"], "uuid">;
}

/** The stores that the environment names. */
export function recordingStores({ env, clock, ids }: RecordingStoresDeps): RecordingStores {
  const cloud =
    env.S3_BUCKET === undefined
      ? null
      : s3({
          bucket: env.S3_BUCKET,
          region: env.S3_REGION,
          endpoint: env.S3_ENDPOINT,
          access_key_id: env.S3_ACCESS_KEY_ID,
          secret_access_key: env.S3_SECRET_ACCESS_KEY,
        });
  const upload = env.UPLOAD_CALL_RECORDINGS_TO_CLOUD && cloud !== null;
  return { local: localFolder({ dir: env.RECORDINGS_DIR, clock, ids }), cloud, upload };
}
