import type { CarrierEnd } from "../../../../shared/contracts/records/attempt.ts";
import {
  bareTranslation,
  type AnsweredBy,
  type CallbackKind,
  type CallProgress,
  type CarrierRecording,
  type CarrierWords,
  type SignedRequest,
  type Translated,
} from "../carrier-port.ts";
import { timeOf, wholeOf } from "../json.ts";
import { malformed, queryOf, saidIn } from "../signed-request.ts";

const ENDS: Record<string, CarrierEnd> = {
  completed: "completed",
  busy: "busy",
  "no-answer": "no_answer",
  failed: "failed",
  canceled: "canceled",
};
const STEPS: Record<string, "queued" | "ringing" | "answered"> = {
  queued: "queued",
  initiated: "queued",
  ringing: "ringing",
  "in-progress": "answered",
};
/** SIP 603: the callee pressed "decline", which Twilio reports as busy. */
const DECLINED = "603";

/** Twilio's AnsweredBy (human, machine_start, machine_end_…, fax, unknown) in our words; null when detection has not decided. */
export function answeredBy(word: string | null): AnsweredBy | null {
  if (word === null || word === "") return null;
  if (word === "human") return "human";
  return word.startsWith("machine") || word === "fax" ? "machine" : "unknown";
}

/** Where a call is, from Twilio's CallStatus; null for a word we do not know, which changes nothing. */
export function stepOf(
  status: string,
  at: string | null,
  call_id: string,
  more: { sip: string | null; seconds: number | null; said?: CarrierWords },
): CallProgress | null {
  const step = STEPS[status];
  if (step) return { call_id, at, type: step };
  const end = ENDS[status];
  if (!end) return null;
  return {
    call_id,
    at,
    type: "ended",
    end: end === "busy" && more.sip === DECLINED ? "rejected" : end,
    cause: more.sip === null ? null : `sip ${more.sip}`,
    seconds: more.seconds,
    ...(more.said === undefined ? {} : { said: more.said }),
  };
}

/** Why a call ended: the SIP code, and Twilio's own code and words, which it sends of failures (https://www.twilio.com/docs/api/errors); "0" is none. */
function wordsOf(form: URLSearchParams): CarrierWords {
  const [sip, code] = [wholeOf(form.get("SipResponseCode")), form.get("ErrorCode")];
  const words = form.get("ErrorMessage");
  return {
    ...(sip === null ? {} : { sip_code: sip }),
    ...(code === null || code === "0" ? {} : { carrier_code: code }),
    ...(words === null ? {} : { carrier_message: words }),
  };
}

/** The callback's fields. */
export const formOf = ({ method, path, body }: SignedRequest): URLSearchParams =>
  saidIn(method === "GET" ? queryOf(path) : new URLSearchParams(body));

/** The call a callback is about. VALIDATION_FAILED when it names none. */
export function callIdOf(form: URLSearchParams): string {
  const call_id = form.get("CallSid") ?? "";
  if (!/^CA[0-9a-f]{32}$/i.test(call_id))
    malformed(
      "The callback names no call: CallSid is missing or malformed.",
      "CallSid",
      "must be CA and 32 hex digits",
    );
  return call_id;
}

/** The AMD result as steps. With DetectMessageEnd it comes when the voicemail greeting is over. */
function detected(form: URLSearchParams, call_id: string): CallProgress[] {
  const word = form.get("AnsweredBy");
  const verdict = answeredBy(word);
  if (verdict === null) return [];
  return [
    { call_id, at: null, type: "machine", verdict },
    ...(word?.startsWith("machine_end") === true ? [{ call_id, at: null, type: "beep" } as const] : []),
  ];
}

/** A recording's end: made, or absent where there was nothing to record. */
function recordingOf(form: URLSearchParams): CarrierRecording | null {
  const recording_id = form.get("RecordingSid") ?? "";
  if (!/^RE[0-9a-f]{32}$/i.test(recording_id))
    malformed(
      "The callback names no recording: RecordingSid is missing or malformed.",
      "RecordingSid",
      "must be RE and 32 hex digits",
    );
  const status = form.get("RecordingStatus");
  if (status === "in-progress") return null;
  return {
    recording_id,
    url: status === "completed" ? form.get("RecordingUrl") : null,
    seconds: wholeOf(form.get("RecordingDuration")),
    channels: wholeOf(form.get("RecordingChannels")),
  };
}

const MAX_CODE_CHARS = 16;

/** Why a ConversationRelay session failed (https://www.twilio.com/docs/voice/twiml/connect/conversationrelay, action callback). */
const relayCodeOf = (form: URLSearchParams): string =>
  (form.get("ErrorCode") ?? "").replaceAll(/\D/g, "").slice(0, MAX_CODE_CHARS) || "RELAY_FAILED";

/** Translates a status, AMD, recording, or end of relay or stream callback. */
export function translate(kind: CallbackKind, request: SignedRequest): Translated {
  const form = formOf(request);
  const call_id = callIdOf(form);
  if (kind === "amd") return { ...bareTranslation(call_id), progress: detected(form, call_id) };
  if (kind === "recording") return { ...bareTranslation(call_id), recording: recordingOf(form) };
  const step = stepOf(form.get("CallStatus") ?? "", timeOf(form.get("Timestamp")), call_id, {
    sip: form.get("SipResponseCode"),
    seconds: wholeOf(form.get("CallDuration")),
    said: wordsOf(form),
  });
  // only the documents of an inbound call report its end: a number need not have a status address
  if (kind === "relay-end" || kind === "stream") {
    const failed = form.get("SessionStatus") === "failed";
    const ended: CallProgress[] = [
      ...(failed ? [{ call_id, at: null, type: "relay_failed" as const, code: relayCodeOf(form) }] : []),
      ...(step?.type === "ended" && form.get("Direction") === "inbound" ? [step] : []),
    ];
    // a stream that ends while the call goes on: after the conversation, or because it could not be connected
    return {
      ...bareTranslation(call_id),
      progress:
        kind === "stream" && step?.type === "answered"
          ? [{ call_id, at: step.at, type: "media_lost", reason: "the stream is over while the call goes on" }]
          : ended,
    };
  }
  return { ...bareTranslation(call_id), sequence: form.get("SequenceNumber"), progress: step ? [step] : [] };
}
