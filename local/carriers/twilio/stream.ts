import { randomBytes } from "node:crypto";
import type { StreamCommand, StreamDialect } from "../stream/stream-dialect.ts";
import type { SoundFormat } from "../stream/audio-format.ts";
import { bytesOf, textIn } from "../stream/json-members.ts";
import { sign } from "./signature.ts";
import type { TwilioCall } from "./twilio-call.ts";

/** `<Stream>` in `<Connect>` as asked for. https://www.twilio.com/docs/voice/twiml/stream */
export interface StreamSettings {
  url: string;
  name: string | null;
  parameters: Record<string, string>;
  statusCallback: string | null;
  statusMethod: string;
}

const FORMAT: SoundFormat = { codec: "pcmu", rate: 8_000 };

/** What is wrong with a stream's address, with Twilio's code; null when nothing is. Only the path may carry anything. */
export function urlComplaint(url: string): string | null {
  if (!URL.canParse(url) || !/^wss?:$/.test(new URL(url).protocol))
    return `11100: url="${url}" of <Stream> is no wss:// address`;
  return new URL(url).search === ""
    ? null
    : "31920: the url of <Stream> must not have a query string: pass <Parameter>s instead";
}

/** What an application's message asks for. */
function commandOf(message: Record<string, unknown>, streamSid: string): StreamCommand | string {
  const { event } = message;
  if (message["streamSid"] !== streamSid)
    return `31951: the message has not this stream's streamSid (event ${JSON.stringify(event)})`;
  if (event === "clear") return { do: "clear" };
  if (event === "mark") {
    const name = textIn(message["mark"], "name");
    return name === null ? "31951: mark.name is missing" : { do: "mark", name };
  }
  if (event !== "media") return `31951: unknown event ${JSON.stringify(event)}`;
  const bytes = bytesOf(textIn(message["media"], "payload"));
  return bytes ? { do: "sound", bytes } : "31951: media.payload is not base64";
}

/** Twilio's words on a media stream. https://www.twilio.com/docs/voice/media-streams/websocket-messages */
export function twilioDialect({ call, account }: TwilioCall, { url, parameters }: StreamSettings): StreamDialect {
  const streamSid = `MZ${randomBytes(16).toString("hex")}`;
  const [accountSid, callSid] = [account.sid, call.order.sid];
  return {
    id: streamSid,
    url,
    toAgent: FORMAT,
    fromAgent: FORMAT,
    reportsClearedMarks: true,
    mayShuffle: false,
    headers: { "x-twilio-signature": sign(account.authToken, url), "user-agent": "TwilioProxy/1.1" },
    greeting: () => ({ event: "connected", protocol: "Call", version: "1.0.0" }),
    start: ({ sequence }) => ({
      event: "start",
      sequenceNumber: String(sequence),
      start: {
        accountSid,
        streamSid,
        callSid,
        tracks: ["inbound"],
        mediaFormat: { encoding: "audio/x-mulaw", sampleRate: FORMAT.rate, channels: 1 },
        customParameters: parameters,
      },
      streamSid,
    }),
    media: (payload, { sequence, chunk, ms }) =>
      `{"event":"media","sequenceNumber":"${sequence}","media":{"track":"inbound","chunk":"${chunk}","timestamp":"${ms}","payload":"${payload}"},"streamSid":"${streamSid}"}`,
    digit: (digit, { sequence }) => ({
      event: "dtmf",
      streamSid,
      sequenceNumber: String(sequence),
      dtmf: { track: "inbound_track", digit },
    }),
    mark: (name, { sequence }) => ({ event: "mark", sequenceNumber: String(sequence), streamSid, mark: { name } }),
    cleared: () => null,
    error: () => null, // Twilio's debugger is told, the socket is not
    stop: ({ sequence }) => ({
      event: "stop",
      sequenceNumber: String(sequence),
      streamSid,
      stop: { accountSid, callSid },
    }),
    read: (message) => commandOf(message, streamSid),
  };
}
