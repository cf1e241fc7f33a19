import { Readable } from "node:stream";
import { codeOf, fail } from "../../../shared/errors.ts";
import { errorForLog } from "../../../shared/log.ts";
import { recordingKey } from "../../../shared/storage/recordings.ts";
import type { Works } from "../deps.ts";
import { audioType, MAX_RECORDING_BYTES } from "./audio-type.ts";
import {
  beginFetch,
  fetchFailed,
  FETCH_LIMIT_MS,
  stored,
  type FetchFault,
  type KeptRecording,
} from "./recording-state-machine.ts";
import type { RecordedCall } from "./recordings.repository.ts";

const tooLarge = (): never => fail("BODY_TOO_LARGE", `The recording is larger than ${MAX_RECORDING_BYTES} bytes.`);

/** The source's bytes, as long as there are not too many; its faults in our words. */
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
async function bring(
  w: Works,
  { _id, created_at, provider, recording }: RecordedCall,
  over: AbortSignal,
): Promise<{ key: string; bytes: number; content_type: string }> {
  if (provider === undefined || recording.recording_id === undefined)
    return fail("RECORDING_NOT_FOUND", "Nothing is known of the recording.");
  const { recording_id, url = null, seconds = null, channels = null } = recording;
  const source = await w.carriers.of(provider).openRecording({ recording_id, url, seconds, channels });
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
    const bytes = await w.stores.local.put(
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

function faultOf(w: Works, error: unknown): FetchFault {
  const reason = error instanceof Error ? error.message : "a fault";
  if (w.stopping()) return { kind: "stopping", reason };
  const code = codeOf(error);
  return { kind: code === "RECORDING_NOT_FOUND" ? "none" : code === "BODY_TOO_LARGE" ? "never" : "again", reason };
}

/** One try to fetch a recording, within the lease; what became of it is in the document. */
export async function fetchRecording(w: Works, call: RecordedCall, lease_until: Date): Promise<void> {
  const begun: { recording?: KeptRecording } | null = await w.recordings.run(beginFetch(call._id, lease_until));
  if (!begun?.recording) return;
  const ours = { ...call, recording: begun.recording };
  const done = new AbortController();
  const late = new AbortController();
  void w.clock.wait(FETCH_LIMIT_MS, done.signal).then(() => late.abort());
  try {
    const kept = await bring(w, ours, AbortSignal.any([w.leaving, late.signal]));
    await w.recordings.run(stored(call._id, lease_until, kept, w.clock.now()));
    w.log.info(
      { event: "recording.stored", call_ref: call._id, bytes: kept.bytes, content_type: kept.content_type },
      "a recording is stored",
    );
  } catch (error) {
    w.log.warn(
      { call_ref: call._id, tries: ours.recording.tries, error: errorForLog(error) },
      "a recording could not be fetched",
    );
    await w.recordings.run(fetchFailed(call._id, lease_until, ours.recording.tries, faultOf(w, error), w.clock.now()));
  } finally {
    done.abort();
  }
}
