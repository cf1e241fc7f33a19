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
  /** Ends the recording, where there is one; its callback follows a little later. */
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
export const createRecordings = (deps: RecordingDeps): Recordings => new TelnyxRecordings(deps);

/** What recordings need: simulated time, and the callbacks that report them. */
interface RecordingDeps {
  time: SimTime;
  events: Events;
}

function shown(recording: Stored, download_urls: Record<string, string>): Record<string, unknown> {
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
    download_urls,
  };
}

class TelnyxRecordings implements Recordings {
  readonly #deps: RecordingDeps;
  readonly #stored = new Map<string, Stored>();
  readonly #links = new Map<string, { recording: Stored; diesAtMs: number }>();

  constructor(deps: RecordingDeps) {
    this.#deps = deps;
  }

  start(telnyxCall: TelnyxCall, settings: RecordSettings): string {
    telnyxCall.recorder ??= {
      id: randomUUID(),
      startedAt: new Date(),
      settings,
      recorder: recordLeg(telnyxCall.call),
    };
    return telnyxCall.recorder.id;
  }

  stop(telnyxCall: TelnyxCall): void {
    if (!telnyxCall.recorder) return;
    const { id, startedAt, settings, recorder } = telnyxCall.recorder;
    telnyxCall.recorder = null;
    const audio = recorder.stop();
    const recording: Stored = { id, telnyxCall, audio, settings, startedAt, endedAt: new Date(), ready: false };
    this.#stored.set(id, recording);
    dropOldest(this.#stored, MAX_KEPT);
    this.#deps.time.after(READY_AFTER_MS, () => this.#finish(recording));
  }

  show(id: string, connectionId: string): Reply {
    const recording = this.#stored.get(id);
    if (!recording?.ready || recording.telnyxCall.account.connectionId !== connectionId)
      return telnyxError(404, "10005", "Resource not found", "The requested resource or URL could not be found.");
    return { status: 200, body: { data: shown(recording, this.#linksOf(recording)) } };
  }

  list(query: URLSearchParams, connectionIds: readonly string[]): Reply {
    const wanted = (name: string, value: string): boolean => (query.get(`filter[${name}]`) ?? value) === value;
    return pageOf(
      [...this.#stored.values()]
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
        .map((recording) => shown(recording, this.#linksOf(recording))),
      query,
    );
  }

  download({ method, path }: Request): Reply | null {
    if (method !== "GET" || !path.startsWith(LINK_PATH)) return null;
    const link = this.#links.get(path.slice(LINK_PATH.length));
    if (!link || link.diesAtMs < this.#deps.time.elapsedMs()) return FORBIDDEN;
    return { status: 200, body: link.recording.audio.wav, headers: { "content-type": "audio/wav" } };
  }

  /** mp3 is asked for by its name alone: the simulator makes WAV files only. */
  #linksOf(recording: Stored): Record<string, string> {
    const { format } = recording.settings;
    const name = `${recording.id}-${randomBytes(8).toString("hex")}.${format}`;
    this.#links.set(name, { recording, diesAtMs: this.#deps.time.elapsedMs() + LINK_LIFE_MS });
    dropOldest(this.#links, MAX_LINKS);
    return { [format]: `${recording.telnyxCall.origin}${LINK_PATH}${name}` };
  }

  #finish(recording: Stored): void {
    recording.ready = true;
    const [from, to] = [moment(recording.startedAt), moment(recording.endedAt)];
    this.#deps.events.send(recording.telnyxCall, "call.recording.saved", {
      recording_id: recording.id,
      channels: recording.settings.channels,
      format: recording.settings.format,
      recording_started_at: from,
      recording_ended_at: to,
      start_time: from,
      end_time: to,
      recording_urls: this.#linksOf(recording),
      public_recording_urls: {},
    });
  }
}
