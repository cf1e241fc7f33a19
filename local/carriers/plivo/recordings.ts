import { randomUUID } from "node:crypto";
import type { Reply } from "../http/messages.ts";
import { recordLeg } from "../exchange/leg-recording.ts";
import type { Hook } from "../http/callback-sender.ts";
import type { SimTime } from "../exchange/simulated-time.ts";
import type { Callbacks } from "./callbacks.ts";
import type { PlivoCall, PlivoRecording } from "./plivo-call.ts";
import { whole } from "./call-resource.ts";

/** What a recording is asked for with. */
export interface RecordParams {
  timeLimitSeconds: number;
  format: "mp3" | "wav";
  stereo: boolean;
  hook: Hook | null;
}

/** The recordings of all accounts. */
export interface Recordings {
  /** Records the call from now until its end or the limit, then reports. */
  start(plivoCall: PlivoCall, params: RecordParams, apiId: string): PlivoRecording;
  stop(plivoCall: PlivoCall): boolean;
  get(accountId: string, id: string): PlivoRecording | undefined;
  /** One page of the account's recordings, newest first, those still being made among them. */
  list(accountId: string, query: URLSearchParams, apiId: string): Reply;
}

/** Plivo names its own host, whatever address it was asked at. */
const MEDIA = "https://media.plivo.com";
/** Making the file takes this long, simulated ms. */
const MAKING_MS = 1_000;
/** The oldest are forgotten beyond this many. */
const MAX_KEPT = 10_000;
const MAX_PAGE = 20;

function pageOf(found: readonly PlivoRecording[], query: URLSearchParams, apiId: string): Reply {
  const limit = Math.min(whole(query.get("limit"), MAX_PAGE) || MAX_PAGE, MAX_PAGE);
  const offset = whole(query.get("offset"), 0);
  const objects = found.slice(offset, offset + limit).map((recording) => {
    const { api_id: _api, ...shown } = recordingRecord(recording, apiId);
    return shown;
  });
  const meta = { limit, offset, total_count: found.length, next: null, previous: null };
  return { status: 200, body: { api_id: apiId, meta, objects } };
}

/** No recordings at first. */
export function createRecordings({ time, callbacks }: { time: SimTime; callbacks: Callbacks }): Recordings {
  const kept = new Map<string, PlivoRecording>();

  const finish = (recording: PlivoRecording, hook: Hook | null): void => {
    if (recording.call.recording === recording) recording.call.recording = null;
    recording.recorder.stop();
    time.after(MAKING_MS, () => {
      if (recording.done) return;
      recording.done = true;
      if (hook) callbacks.recorded(recording, hook);
    });
  };

  return {
    start(plivoCall, { timeLimitSeconds, format, hook }, apiId) {
      const { call, account } = plivoCall;
      const id = randomUUID();
      const recording: PlivoRecording = {
        id,
        call: plivoCall,
        apiId,
        startedAt: new Date(),
        recorder: recordLeg(call),
        url: `${MEDIA}/v1/Account/${account.authId}/Recording/${id}.${format}`,
        done: false,
      };
      kept.set(id, recording);
      const oldest = kept.keys().next();
      if (kept.size > MAX_KEPT && !oldest.done) kept.delete(oldest.value);
      plivoCall.recording = recording;
      // the limit is set by the service, which lives in real time
      const cancelLimit = time.after(timeLimitSeconds * 1000, () => finish(recording, hook), timeLimitSeconds * 1000);
      call.over.addEventListener(
        "abort",
        () => {
          cancelLimit();
          finish(recording, hook);
        },
        { once: true },
      );
      return recording;
    },
    stop(plivoCall) {
      const { recording } = plivoCall;
      recording?.recorder.stop();
      return recording !== null;
    },
    get(accountId, id) {
      const found = kept.get(id);
      return found?.call.account.authId === accountId ? found : undefined;
    },
    list(accountId, query, apiId) {
      const sid = query.get("call_uuid");
      const found = [...kept.values()]
        .filter(({ call }) => call.account.authId === accountId && (sid === null || call.call.order.sid === sid))
        .reverse();
      return pageOf(found, query, apiId);
    },
  };
}

/** A recording as the REST API shows it. */
export const recordingRecord = (
  { id, call, startedAt, url, recorder, done }: PlivoRecording,
  apiId: string,
): Record<string, unknown> => ({
  api_id: apiId,
  add_time: `${startedAt.toISOString().slice(0, 19).replace("T", " ")}+00:00`,
  call_uuid: call.call.order.sid,
  conference_name: null,
  recording_duration_ms: done ? (recorder.stop().seconds * 1000).toFixed(5) : null,
  recording_end_ms: null,
  recording_format: "wav",
  recording_id: id,
  recording_start_ms: String(startedAt.getTime()),
  recording_type: "call",
  recording_url: url,
  resource_uri: `/v1/Account/${call.account.authId}/Recording/${id}/`,
});

/** The file; null while it is recorded or made. */
export const recordingFile = ({ done, recorder }: PlivoRecording): Reply | null =>
  done ? { status: 200, body: recorder.stop().wav, headers: { "content-type": "audio/wav" } } : null;
