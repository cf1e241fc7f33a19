import { randomUUID } from "node:crypto";
import type { SoundFormat } from "../stream/audio-format.ts";
import { bytesOf, memberOf, textIn } from "../stream/json-members.ts";
import type { StreamCommand, StreamDialect } from "../stream/stream-dialect.ts";
import type { PlivoCall } from "./plivo-call.ts";
import { sign } from "./signature.ts";

/** `<Stream>` as asked for. https://www.plivo.com/docs/voice/xml/audio-stream */
export interface StreamSettings {
  url: string;
  bidirectional: boolean;
  /** The next element waits for the stream's end. */
  keepCallAlive: boolean;
  format: SoundFormat;
  extraHeaders: Record<string, string>;
  statusCallback: string | null;
  statusMethod: string;
  timeoutSeconds: number;
}

const FORMATS: Readonly<Record<string, SoundFormat>> = {
  "audio/x-mulaw;rate=8000": { codec: "pcmu", rate: 8_000 },
  "audio/x-l16;rate=8000": { codec: "s16le", rate: 8_000 },
  "audio/x-l16;rate=16000": { codec: "s16le", rate: 16_000 },
};
const MAX_HEADERS_BYTES = 512;
const MAX_TIMEOUT_SECONDS = 86_400;
const ENCODINGS: Readonly<Record<SoundFormat["codec"], string>> = {
  pcmu: "audio/x-mulaw",
  pcma: "audio/x-alaw",
  s16le: "audio/x-l16",
};

/** `name=value` pairs, of letters and digits; a string is what is wrong. */
function headersIn(text: string): Record<string, string> | string {
  if (text === "") return {};
  if (Buffer.byteLength(text) > MAX_HEADERS_BYTES) return `extraHeaders of <Stream> takes ${MAX_HEADERS_BYTES} bytes`;
  const pairs = text.split(",").map((pair) => /^\s*([A-Za-z0-9]+)=([A-Za-z0-9]+)\s*$/.exec(pair));
  const found = pairs.flatMap((pair) => (pair ? [[pair[1] ?? "", pair[2] ?? ""] as const] : []));
  return found.length === pairs.length
    ? Object.fromEntries(found)
    : "extraHeaders of <Stream> must be name=value, of letters and digits, with commas between";
}

/** Reads the element; a string is what is wrong with it. */
export function streamIn(attributes: Readonly<Record<string, string>>, url: string): StreamSettings | string {
  const {
    bidirectional = "false",
    keepCallAlive = "false",
    contentType = "audio/x-l16;rate=8000",
    extraHeaders = "",
    audioTrack = "inbound",
    statusCallbackUrl,
    statusCallbackMethod = "POST",
    streamTimeout = String(MAX_TIMEOUT_SECONDS),
  } = attributes;
  if (!URL.canParse(url) || !/^wss?:$/.test(new URL(url).protocol))
    return `<Stream> needs a wss:// address, not "${url}"`;
  if (![bidirectional, keepCallAlive].every((flag) => flag === "true" || flag === "false"))
    return "bidirectional and keepCallAlive of <Stream> must be true or false";
  if (!["inbound", "outbound", "both"].includes(audioTrack))
    return `audioTrack="${audioTrack}" of <Stream> must be inbound, outbound or both`;
  if (bidirectional === "true" && audioTrack !== "inbound")
    return "audioTrack of a bidirectional <Stream> must be inbound";
  const format = FORMATS[contentType.replaceAll(" ", "")];
  if (!format) return `contentType="${contentType}" of <Stream> must be one of ${Object.keys(FORMATS).join(", ")}`;
  const headers = headersIn(extraHeaders);
  if (typeof headers === "string") return headers;
  const timeoutSeconds = Number(streamTimeout);
  if (!Number.isSafeInteger(timeoutSeconds) || timeoutSeconds < 1 || timeoutSeconds > MAX_TIMEOUT_SECONDS)
    return `streamTimeout="${streamTimeout}" of <Stream> must be a whole number from 1 to ${MAX_TIMEOUT_SECONDS}`;
  return {
    url,
    bidirectional: bidirectional === "true",
    keepCallAlive: keepCallAlive === "true",
    format,
    extraHeaders: headers,
    timeoutSeconds,
    statusCallback: statusCallbackUrl ?? null,
    statusMethod: statusCallbackMethod,
  };
}

function soundIn(media: unknown, format: SoundFormat): StreamCommand | string {
  const type = textIn(media, "contentType");
  const rate = Number(memberOf(media, "sampleRate"));
  if (type !== ENCODINGS[format.codec] || rate !== format.rate)
    return `playAudio is ${String(type)} at ${rate}, the stream is ${ENCODINGS[format.codec]} at ${format.rate}`;
  const bytes = bytesOf(textIn(media, "payload"));
  return bytes ? { do: "sound", bytes } : "playAudio has no base64 payload";
}

/** What an application's message asks for. */
function commandOf(
  message: Record<string, unknown>,
  id: string,
  { bidirectional, format }: StreamSettings,
): StreamCommand | string {
  if (!bidirectional) return "the stream is not bidirectional";
  switch (message["event"]) {
    case "playAudio":
      return soundIn(message["media"], format);
    case "checkpoint": {
      const name = textIn(message, "name");
      if (message["streamId"] !== id) return "checkpoint has not this stream's streamId";
      return name === null ? "checkpoint has no name" : { do: "mark", name };
    }
    case "clearAudio":
      return message["streamId"] === id ? { do: "clear" } : "clearAudio has not this stream's streamId";
    case "sendDTMF": {
      const digits = textIn(message, "dtmf");
      return digits !== null && /^[0-9*#wW]+$/.test(digits) ? { do: "keys", digits } : "sendDTMF: dtmf must be keys";
    }
    default:
      return `unknown event ${JSON.stringify(message["event"])}`;
  }
}

/** Plivo's words on an audio stream. https://www.plivo.com/docs/voice/concepts/audio-streaming */
export function plivoDialect({ call, account }: PlivoCall, settings: StreamSettings): StreamDialect {
  const streamId = randomUUID();
  const nonce = randomUUID();
  const { url, format } = settings;
  const extra = JSON.stringify(settings.extraHeaders);
  const quoted = JSON.stringify(extra);
  return {
    id: streamId,
    url,
    toAgent: format,
    fromAgent: format,
    reportsClearedMarks: false,
    mayShuffle: false,
    headers: {
      "user-agent": "Plivo",
      "x-plivo-signature-v3": sign(account.authToken, url, undefined, nonce),
      "x-plivo-signature-v3-nonce": nonce,
    },
    greeting: () => null,
    start: ({ sequence }) => ({
      sequenceNumber: sequence - 1,
      event: "start",
      start: {
        callId: call.order.sid,
        streamId,
        accountId: account.authId,
        tracks: ["inbound"],
        mediaFormat: { encoding: ENCODINGS[format.codec], sampleRate: format.rate },
      },
      extra_headers: extra,
    }),
    media: (payload, { sequence, chunk }) =>
      `{"sequenceNumber":${sequence - 1},"streamId":"${streamId}","event":"media","media":{"track":"inbound","timestamp":"${Date.now()}","chunk":${chunk},"payload":"${payload}"},"extra_headers":${quoted}}`,
    digit: (digit, { sequence }) => ({
      event: "dtmf",
      sequenceNumber: sequence - 1,
      streamId,
      dtmf: { track: "inbound", digit, timestamp: String(Date.now()) },
      extra_headers: extra,
    }),
    mark: (name, { sequence }) => ({ sequenceNumber: sequence - 1, event: "playedStream", streamId, name }),
    cleared: ({ sequence }) => ({ sequenceNumber: sequence - 1, event: "clearedAudio", streamId }),
    error: (description, { sequence }) => ({
      sequenceNumber: sequence - 1,
      event: "incorrectPayload",
      streamId,
      reason: description,
    }),
    stop: () => null, // the socket's end is the stream's
    read: (message) => commandOf(message, streamId, settings),
  };
}
