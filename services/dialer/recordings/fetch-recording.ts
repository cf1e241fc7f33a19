import { Readable } from "node:stream";
import { startDeadline } from "../../../shared/time/deadline.ts";
import { codeOf, fail } from "../../../shared/errors.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { recordingKey } from "../../../shared/storage/recordings.ts";
import type { DialerParts } from "../deps.ts";
import { beginFetch, fetchFailed, FETCH_LIMIT_MS, stored, type FetchFailure } from "./recording-state-machine.ts";
import type { StoredRecording } from "../call/calls.model.ts";
import type { RecordedCall } from "./recordings.repository.ts";

/** Longest recording that is taken: two hours and more of uncompressed stereo speech. */
const MAX_RECORDING_BYTES = 500_000_000;

const AUDIO = /^audio\/[a-z0-9.+-]{1,60}$/;
/** Content types of storages for files of unknown kind. */
const UNTOLD: readonly string[] = ["application/octet-stream", "binary/octet-stream", ""];
const SAME: Record<string, string> = {
  "audio/x-wav": "audio/wav",
  "audio/wave": "audio/wav",
  "audio/vnd.wave": "audio/wav",
  "audio/mp3": "audio/mpeg",
  "audio/x-mpeg": "audio/mpeg",
};

const bare = (content_type: string): string => (content_type.split(";")[0] ?? "").trim().toLowerCase();

/** What its first bytes say a file is. */
function known(head: Buffer): string | null {
  if (head.toString("latin1", 0, 4) === "RIFF" && head.toString("latin1", 8, 12) === "WAVE") return "audio/wav";
  const isMp3 = head.toString("latin1", 0, 3) === "ID3" || (head[0] === 0xff && ((head[1] ?? 0) & 0xe0) === 0xe0);
  return isMp3 ? "audio/mpeg" : null;
}

/** The content type a recording is kept with; null for what is no audio: an error page, a log-in form. */
export function audioType(content_type: string, head: Buffer): string | null {
  const said = bare(content_type);
  if (AUDIO.test(said)) return SAME[said] ?? said;
  return UNTOLD.includes(said) ? known(head) : null;
}

const tooLarge = (): never => fail("BODY_TOO_LARGE", `The recording is larger than ${MAX_RECORDING_BYTES} bytes.`);

/** The source's bytes, as long as there are not too many; its errors in our words. */
async function* bounded(first: Buffer, rest: AsyncIterator<unknown>): AsyncGenerator<Buffer> {
  let bytes = first.length;
  yield first;
  for (;;) {
    const { done, value } = await rest
      .next()
      .catch(() => fail("DEPENDENCY_DOWN", "The carrier broke the recording off."));
    if (done) return;
    if (!Buffer.isBuffer(value)) fail("DEPENDENCY_DOWN", "The carrier sent no bytes.");
    bytes += value.length;
    if (bytes > MAX_RECORDING_BYTES) tooLarge();
    yield value;
  }
}

/** Reads the recording from the carrier into our folder. */
async function download(
  deps: DialerParts,
  { _id, created_at, provider, recording }: RecordedCall,
  over: AbortSignal,
): Promise<{ key: string; bytes: number; content_type: string }> {
  if (provider === undefined || recording.recording_id === undefined)
    return fail("RECORDING_NOT_FOUND", "Nothing is known of the recording.");
  const { recording_id, url = null, seconds = null, channels = null } = recording;
  const source = await deps.carriers.of(provider).openRecording({ recording_id, url, seconds, channels });
  const cut = (): void => {
    source.body.destroy();
  };
  if (over.aborted) cut();
  over.addEventListener("abort", cut, { once: true });
  try {
    if (source.bytes !== null && source.bytes > MAX_RECORDING_BYTES) tooLarge();
    const parts: AsyncIterator<unknown> = source.body[Symbol.asyncIterator]();
    const { done, value: first } = await parts
      .next()
      .catch(() => fail("DEPENDENCY_DOWN", "The carrier broke the recording off."));
    if (done === true || !Buffer.isBuffer(first) || first.length === 0)
      fail("RECORDING_NOT_READY", "The carrier's recording is empty still.");
    const content_type =
      audioType(source.content_type, first) ?? fail("DEPENDENCY_DOWN", "The carrier sent something that is no audio.");
    const key = recordingKey(_id, created_at, content_type);
    const bytes = await deps.stores.local.put(
      key,
      Readable.from(bounded(first, parts), { objectMode: false }),
      content_type,
      source.bytes,
    );
    return { key, bytes, content_type };
  } finally {
    over.removeEventListener("abort", cut);
    source.body.destroy();
  }
}

function failureOf({ leaving }: DialerParts, error: unknown): FetchFailure {
  const reason = error instanceof Error ? error.message : "an error";
  if (leaving.aborted) return { kind: "stopping", reason };
  const code = codeOf(error);
  return { kind: code === "RECORDING_NOT_FOUND" ? "none" : code === "BODY_TOO_LARGE" ? "never" : "again", reason };
}

/** One try to fetch a recording, within the lease; what became of it is in the document. */
export async function fetchRecording(deps: DialerParts, call: RecordedCall, lease_until: Date): Promise<void> {
  const begun: { recording?: StoredRecording } | null = await deps.recordings.apply(beginFetch(call._id, lease_until));
  if (!begun?.recording) return;
  const ours = { ...call, recording: begun.recording };
  const deadline = startDeadline(deps.clock, FETCH_LIMIT_MS, deps.leaving);
  try {
    const kept = await download(deps, ours, deadline.signal);
    await deps.recordings.apply(stored(call._id, lease_until, kept, deps.clock.now()));
    deps.log.info(
      { event: "recording.stored", call_ref: call._id, bytes: kept.bytes, content_type: kept.content_type },
      "a recording is stored",
    );
  } catch (error) {
    deps.log.warn(
      { call_ref: call._id, tries: ours.recording.tries, error: errorForLog(error) },
      "a recording could not be fetched",
    );
    await deps.recordings.apply(
      fetchFailed(call._id, lease_until, ours.recording.tries, failureOf(deps, error), deps.clock.now()),
    );
  } finally {
    deadline.clear();
  }
}
