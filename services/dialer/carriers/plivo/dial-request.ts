import { LANGUAGE_FIELD } from "../../../../shared/phrases.ts";
import type { DialRequest, MediaTarget } from "../carrier-port.ts";
import { STREAM_FIELD, streamValue } from "./callbacks.ts";

/** A number as Plivo takes it: without the plus. */
export const bare = (number: string): string => number.replace(/^\+/, "");

/**
 * The address asked at the answer. It carries the conversation's one-use token, or its audio WebSocket: Plivo signs addresses whole, so no other
 * party can name another.
 */
const answerQuery = ({ kind, token, url, language }: MediaTarget): string =>
  `${kind === "audio" ? `${STREAM_FIELD}=${streamValue(url)}` : `media=${encodeURIComponent(token)}`}&${LANGUAGE_FIELD}=${encodeURIComponent(language)}`;

/** The dial request. The document is asked for at the answer. */
export function dialBody({
  call_ref,
  to,
  from,
  ring_seconds,
  talk_seconds,
  media,
  callback_base,
}: DialRequest): Record<string, unknown> {
  const at = (kind: string) => `${callback_base}/${kind}/${call_ref}`;
  return {
    from: bare(from),
    to: bare(to),
    answer_url: `${at("answer")}?${answerQuery(media)}`,
    answer_method: "POST",
    ring_url: at("status"),
    ring_method: "POST",
    hangup_url: at("status"),
    hangup_method: "POST",
    ring_timeout: ring_seconds,
    time_limit: talk_seconds,
    machine_detection: "true",
    machine_detection_url: at("amd"),
    machine_detection_method: "POST",
  };
}
