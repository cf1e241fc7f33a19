import type { ProcessDeps } from "../../../shared/process-deps.ts";
import { recordingStores, type RecordingStores } from "../../../shared/storage/recordings.ts";

/** Where this deployment keeps recordings. */
export function storesOf(ground: ProcessDeps): RecordingStores {
  const {
    RECORDINGS_DIR,
    UPLOAD_CALL_RECORDINGS_TO_CLOUD,
    S3_BUCKET,
    S3_REGION,
    S3_ENDPOINT,
    S3_ACCESS_KEY_ID,
    S3_SECRET_ACCESS_KEY,
  } = ground.env;
  const s3 = {
    region: S3_REGION,
    endpoint: S3_ENDPOINT,
    access_key_id: S3_ACCESS_KEY_ID,
    secret_access_key: S3_SECRET_ACCESS_KEY,
  };
  return recordingStores(
    { dir: RECORDINGS_DIR, upload: UPLOAD_CALL_RECORDINGS_TO_CLOUD, bucket: S3_BUCKET, s3 },
    ground,
  );
}
