import type { DialRequest } from "../carrier-port.ts";
import { talkDocument } from "./documents.ts";

/** The dial request as Twilio's SDK takes it. The document goes inline: no round trip at the answer. */
export function dialParams({
  call_ref,
  to,
  from,
  ring_seconds,
  talk_seconds,
  media,
  callback_base,
  record,
  await_beep,
}: DialRequest) {
  const at = (kind: string) => `${callback_base}/${kind}/${call_ref}`;
  return {
    to,
    from,
    twiml: talkDocument(media, at),
    statusCallback: at("status"),
    statusCallbackMethod: "POST",
    statusCallbackEvent: ["initiated", "ringing", "answered", "completed"],
    timeout: ring_seconds,
    timeLimit: talk_seconds,
    machineDetection: await_beep ? "DetectMessageEnd" : "Enable",
    asyncAmd: "true",
    asyncAmdStatusCallback: at("amd"),
    asyncAmdStatusCallbackMethod: "POST",
    ...(record
      ? {
          record: true,
          recordingChannels: "dual",
          trim: "do-not-trim",
          recordingStatusCallback: at("recording"),
          recordingStatusCallbackMethod: "POST",
          recordingStatusCallbackEvent: ["completed", "absent"],
        }
      : {}),
  };
}
