import { randomUUID } from "node:crypto";
import type { SoundFormat } from "../stream/audio-format.ts";
import { bytesOf, textIn as memberText } from "../stream/json-members.ts";
import { runStream, type StreamDeps } from "../stream/stream-session.ts";
import { type StreamCommand, type StreamDialect } from "../stream/stream-dialect.ts";
import { RequestError } from "./errors.ts";
import { moment, shownFrom, type Events } from "./callbacks.ts";
import type { StreamSettings, TelnyxCall } from "./telnyx-call.ts";

const CODECS: Readonly<Record<string, SoundFormat["codec"]>> = { PCMU: "pcmu", PCMA: "pcma", L16: "s16le" };
const NAMES: Readonly<Record<SoundFormat["codec"], string>> = { pcmu: "PCMU", pcma: "PCMA", s16le: "L16" };
const RATES = [8_000, 16_000, 24_000, 48_000] as const;
const TELEPHONE_RATE = 8_000;
/** Telnyx plays chunks of 20 ms to 30 s. */
const LEAST_CHUNK_MS = 20;
const MOST_CHUNK_MS = 30_000;
const MS_PER_SECOND = 1_000;
const ERROR_CODE = 100_002;

const invalid = (detail: string): never => {
  throw new RequestError("10015", "Bad Request", detail);
};

function word(fields: Record<string, unknown>, name: string, byDefault: string): string {
  const value = fields[name] ?? byDefault;
  return typeof value === "string" ? value : invalid(`${name} must be a string.`);
}

function codecIn(fields: Record<string, unknown>, name: string): SoundFormat["codec"] {
  const asked = word(fields, name, "PCMU");
  return (
    CODECS[asked === "default" ? "PCMU" : asked] ??
    invalid(`${name} must be one of ${Object.keys(CODECS).join(", ")} in this simulator.`)
  );
}

function rateIn(fields: Record<string, unknown>): SoundFormat["rate"] {
  const asked = fields["stream_bidirectional_sampling_rate"] ?? TELEPHONE_RATE;
  return (
    RATES.find((rate) => rate === asked) ??
    invalid(`stream_bidirectional_sampling_rate must be one of ${RATES.join(", ")} in this simulator.`)
  );
}

/** The stream's settings in a request; null when it asks for none. What we hear has the codec of `stream_codec`, what is played that of the bidirectional one. Throws RequestError. */
export function streamIn(fields: Record<string, unknown>): StreamSettings | null {
  if (fields["stream_url"] === undefined) return null;
  const url = word(fields, "stream_url", "");
  if (!URL.canParse(url) || !/^wss?:$/.test(new URL(url).protocol))
    throw new RequestError("90046", "Invalid stream URL", "The stream_url must be a WebSocket address.");
  const track = word(fields, "stream_track", "inbound_track");
  if (track !== "inbound_track") invalid("stream_track must be inbound_track in this simulator.");
  const asked = word(fields, "stream_bidirectional_mode", "mp3");
  const mode = asked === "mp3" || asked === "rtp" ? asked : invalid("stream_bidirectional_mode must be mp3 or rtp.");
  const codec = codecIn(fields, "stream_codec");
  const back = codecIn(fields, "stream_bidirectional_codec");
  const rate = rateIn(fields);
  if (back !== "s16le" && rate !== TELEPHONE_RATE)
    invalid("stream_bidirectional_sampling_rate of PCMU and PCMA is 8000.");
  // L16 towards the application has the rate that was asked for, too
  return {
    url,
    mode,
    toAgent: { codec, rate: codec === "s16le" ? rate : TELEPHONE_RATE },
    fromAgent: { codec: back, rate },
  };
}

function soundIn(media: unknown, { mode, fromAgent }: StreamSettings): StreamCommand | string {
  if (mode !== "rtp") return "media is played in stream_bidirectional_mode rtp only, here";
  const bytes = bytesOf(memberText(media, "payload"));
  if (!bytes) return "media.payload is not base64";
  const ms = (bytes.length * MS_PER_SECOND) / (fromAgent.rate * (fromAgent.codec === "s16le" ? 2 : 1));
  return ms >= LEAST_CHUNK_MS && ms <= MOST_CHUNK_MS
    ? { do: "sound", bytes }
    : `media.payload holds ${Math.round(ms)} ms, it must be 20 ms to 30 s`;
}

function commandOf(message: Record<string, unknown>, settings: StreamSettings): StreamCommand | string {
  const { event } = message;
  if (event === "media") return soundIn(message["media"], settings);
  if (event === "clear") return { do: "clear" };
  if (event !== "mark") return `unknown event ${JSON.stringify(event)}`;
  const name = memberText(message["mark"], "name");
  return name === null ? "mark.name is missing" : { do: "mark", name };
}

/** Telnyx's words on a media stream. https://developers.telnyx.com/docs/voice/programmable-voice/media-streaming */
function telnyxDialect(
  { call, account, sessionId, settings: { clientState } }: TelnyxCall,
  settings: StreamSettings,
): StreamDialect {
  const streamId = randomUUID();
  const { toAgent } = settings;
  const whose = { user_id: account.connectionId, call_control_id: call.order.sid };
  return {
    id: streamId,
    url: settings.url,
    toAgent,
    fromAgent: settings.fromAgent,
    reportsClearedMarks: true,
    mayShuffle: true,
    headers: { "user-agent": "telnyx-media-streaming" },
    greeting: () => ({ event: "connected", version: "1.0.0" }),
    start: ({ sequence }) => ({
      event: "start",
      sequence_number: String(sequence),
      start: {
        ...whose,
        call_session_id: sessionId,
        from: shownFrom(call),
        to: call.order.to,
        client_state: clientState,
        tags: [],
        custom_parameters: {},
        media_format: { encoding: NAMES[toAgent.codec], sample_rate: toAgent.rate, channels: 1 },
      },
      stream_id: streamId,
    }),
    media: (payload, { sequence, chunk, ms }) =>
      `{"event":"media","sequence_number":"${sequence}","media":{"track":"inbound","chunk":"${chunk}","timestamp":"${ms}","payload":"${payload}"},"stream_id":"${streamId}"}`,
    digit: (digit, { sequence }) => ({
      event: "dtmf",
      stream_id: streamId,
      occurred_at: moment(new Date()),
      sequence_number: String(sequence),
      dtmf: { digit },
    }),
    mark: (name, { sequence }) => ({
      event: "mark",
      sequence_number: String(sequence),
      mark: { name },
      stream_id: streamId,
    }),
    cleared: () => null,
    error: (detail) => ({
      event: "error",
      payload: { code: ERROR_CODE, title: "malformed_frame", detail },
      stream_id: streamId,
    }),
    stop: ({ sequence }) => ({ event: "stop", sequence_number: String(sequence), stop: whose, stream_id: streamId }),
    read: (message) => commandOf(message, settings),
  };
}

/** Streams the call's sound until the call, or the stream, is over; another stream takes its place. The socket's end does not end the call. */
export async function stream(
  { events, ...parts }: StreamDeps & { events: Events },
  telnyxCall: TelnyxCall,
  settings: StreamSettings,
): Promise<void> {
  const { call } = telnyxCall;
  telnyxCall.streaming.abort();
  telnyxCall.streaming = new AbortController();
  const words = telnyxDialect(telnyxCall, settings);
  const leave = AbortSignal.any([call.over, telnyxCall.streaming.signal]);
  const facts = { stream_id: words.id, stream_params: { stream_url: settings.url, track: "inbound_track" } };
  const end = await runStream(parts, call, words, leave, {
    opened: () => events.send(telnyxCall, "streaming.started", facts),
  });
  if (end.error !== undefined) {
    const { sid, to, from } = call.order;
    parts.ledger.write({ kind: "warning", call_sid: sid, to, from, message: end.error });
    events.send(telnyxCall, "streaming.failed", {
      ...facts,
      failure_reason: end.opened ? "connection_lost" : "connection_failed",
    });
  }
  if (end.opened) events.send(telnyxCall, "streaming.stopped", facts);
}
