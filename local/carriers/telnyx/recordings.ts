import { randomBytes, randomUUID } from "node:crypto";
import type { Reply, Request } from "../http/messages.ts";
import { recordLeg, type LegRecording } from "../exchange/leg-recording.ts";
import type { SimTime } from "../exchange/simulated-time.ts";
import { telnyxError } from "./errors.ts";
import { pageOf } from "./call-list.ts";
import { moment, shownFrom, type Events } from "./callbacks.ts";
import type { RecordSettings, TelnyxCall } from "./telnyx-call.ts";

/** Recordings of calls: made, told of, listed, and downloaded by links that die. */
export interface Recordings {
  /** Begins to record; does nothing where it is recorded already. Gives the recording's id. */
  start(telnyxCall: TelnyxCall, settings: RecordSettings): string;
  /** Ends the recording, where there is one; it is told of a little later. */
  stop(telnyxCall: TelnyxCall): void;
  /** `GET /v2/recordings/{id}` of this account. */
  show(id: string, connectionId: string): Reply;
  /** `GET /v2/recordings` of these connections: finished ones, newest first. */
  list(query: URLSearchParams, connectionIds: readonly string[]): Reply;
  /** Answers a link; null when the request is for something else. */
  download(request: Request): Reply | null;
}

interface Stored {
  id: string;
  telnyxCall: TelnyxCall;
  audio: LegRecording;
  settings: RecordSettings;
  startedAt: Date;
  endedAt: Date;
  ready: boolean;
}

/** A recording is ready this long after its end, simulated ms. */
const READY_AFTER_MS = 1_500;
/** Links live ten minutes, simulated. */
const LINK_LIFE_MS = 600_000;
/** The oldest are forgotten beyond these. */
const MAX_KEPT = 1_000;
const MAX_LINKS = 10_000;
const LINK_PATH = "/telnyx-recordings/";
const FORBIDDEN = {
  status: 403,
  body: "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>",
  headers: { "content-type": "application/xml" },
};

const dropOldest = <T>(map: Map<string, T>, most: number): void => {
  const oldest = map.keys().next();
  if (map.size > most && !oldest.done) map.delete(oldest.value);
};

/** No recordings yet. */
export function createRecordings({ time, events }: { time: SimTime; events: Events }): Recordings {
  const stored = new Map<string, Stored>();
  const links = new Map<string, { recording: Stored; diesAtMs: number }>();

  /** mp3 is asked for by its name alone: the simulator makes WAV files only. */
  const linksOf = (recording: Stored): Record<string, string> => {
    const name = `${recording.id}-${randomBytes(8).toString("hex")}.${recording.settings.format}`;
    links.set(name, { recording, diesAtMs: time.elapsedMs() + LINK_LIFE_MS });
    dropOldest(links, MAX_LINKS);
    return { [recording.settings.format]: `${recording.telnyxCall.origin}${LINK_PATH}${name}` };
  };
  const finish = (recording: Stored): void => {
    recording.ready = true;
    const [from, to] = [moment(recording.startedAt), moment(recording.endedAt)];
    events.send(recording.telnyxCall, "call.recording.saved", {
      recording_id: recording.id,
      channels: recording.settings.channels,
      format: recording.settings.format,
      recording_started_at: from,
      recording_ended_at: to,
      start_time: from,
      end_time: to,
      recording_urls: linksOf(recording),
      public_recording_urls: {},
    });
  };

  const shown = (recording: Stored): Record<string, unknown> => {
    const { id, telnyxCall, settings, startedAt, endedAt, audio } = recording;
    return {
      record_type: "recording",
      id,
      call_control_id: telnyxCall.call.order.sid,
      call_leg_id: telnyxCall.legId,
      call_session_id: telnyxCall.sessionId,
      connection_id: telnyxCall.account.connectionId,
      channels: settings.channels,
      source: "call",
      status: "completed",
      initiated_by: "OutboundAPI",
      from: shownFrom(telnyxCall.call),
      to: telnyxCall.call.order.to,
      duration_millis: audio.seconds * 1000,
      recording_started_at: moment(startedAt),
      recording_ended_at: moment(endedAt),
      created_at: moment(startedAt),
      updated_at: moment(endedAt),
      download_urls: linksOf(recording),
    };
  };

  return {
    start(telnyxCall, settings) {
      telnyxCall.recorder ??= {
        id: randomUUID(),
        startedAt: new Date(),
        settings,
        recorder: recordLeg(telnyxCall.call),
      };
      return telnyxCall.recorder.id;
    },
    stop(telnyxCall) {
      if (!telnyxCall.recorder) return;
      const { id, startedAt, settings, recorder } = telnyxCall.recorder;
      telnyxCall.recorder = null;
      const recording: Stored = {
        id,
        telnyxCall,
        audio: recorder.stop(),
        settings,
        startedAt,
        endedAt: new Date(),
        ready: false,
      };
      stored.set(id, recording);
      dropOldest(stored, MAX_KEPT);
      time.after(READY_AFTER_MS, () => finish(recording));
    },
    show(id, connectionId) {
      const recording = stored.get(id);
      if (!recording?.ready || recording.telnyxCall.account.connectionId !== connectionId)
        return telnyxError(404, "10005", "Resource not found", "The requested resource or URL could not be found.");
      return { status: 200, body: { data: shown(recording) } };
    },
    list(query, connectionIds) {
      const wanted = (name: string, value: string): boolean => (query.get(`filter[${name}]`) ?? value) === value;
      return pageOf(
        [...stored.values()]
          .filter(
            ({ ready, telnyxCall: { account, call, legId, sessionId } }) =>
              ready &&
              connectionIds.includes(account.connectionId) &&
              wanted("connection_id", account.connectionId) &&
              wanted("call_control_id", call.order.sid) &&
              wanted("call_leg_id", legId) &&
              wanted("call_session_id", sessionId),
          )
          .reverse()
          .map(shown),
        query,
      );
    },
    download({ method, path }) {
      if (method !== "GET" || !path.startsWith(LINK_PATH)) return null;
      const link = links.get(path.slice(LINK_PATH.length));
      if (!link || link.diesAtMs < time.elapsedMs()) return FORBIDDEN;
      return { status: 200, body: link.recording.audio.wav, headers: { "content-type": "audio/wav" } };
    },
  };
}
