import {
  bareTranslation,
  type AnsweredBy,
  type CallbackKind,
  type CallProgress,
  type CarrierRecording,
  type InboundCall,
  type SignedRequest,
  type Translated,
} from "../carrier-port.ts";
import { causeOf, dollarsOf, endOf, partyOf, timeOf, wordsOf } from "./hangup-causes.ts";
import { parsed, wholeOf } from "../json.ts";
import { isRecord } from "../../../../shared/json.ts";
import { malformed, queryOf, saidIn } from "../signed-request.ts";

/** The call's name in the query of a recording's address: Plivo's own callback names the leg only. */
export const CALL_FIELD = "call";

/** The WebSocket of a conversation over audio, in the query of the answer's address. */
export const STREAM_FIELD = "stream";

/** Longest name of a call or recording that is believed. */
const ID = /^[0-9A-Za-z-]{8,64}$/;
const NUMBER = /^\+?([1-9]\d{6,14})$/;

type Fields = URLSearchParams;

/** A WebSocket's address as it stands in the query: in letters that no signature can read in two ways. */
export const streamValue = (url: string): string => Buffer.from(url, "utf8").toString("base64url");

/** The WebSocket that an answer's address names; null: the call is XML-driven. */
export function streamIn(path: string): string | null {
  const value = queryOf(path).get(STREAM_FIELD);
  return value === null ? null : Buffer.from(value, "base64url").toString("utf8");
}

/** Recording callbacks may carry their fields as one JSON text called `response`. */
function unpacked(form: Fields): Fields {
  const packed = form.get("response");
  if (packed === null || form.has("record_url")) return form;
  const fields = parsed(packed);
  return isRecord(fields)
    ? new URLSearchParams(Object.entries(fields).map(([name, value]): [string, string] => [name, String(value ?? "")]))
    : form;
}

const fieldsOf = ({ method, path, body }: SignedRequest): Fields =>
  saidIn(method === "GET" ? queryOf(path) : unpacked(new URLSearchParams(body)));

const idOf = (fields: Fields, ...names: string[]): string | null => {
  const id = names.map((name) => fields.get(name)).find((value) => value !== null);
  return id !== undefined && id !== null && ID.test(id) ? id : null;
};

/**
 * The call by Plivo's names: a placed one goes by its request, the leg has a name of its own; an inbound call goes by its leg. VALIDATION_FAILED
 * when there is none.
 */
function namesOf(fields: Fields, path: string): { call_id: string; leg_id: string | null } {
  const leg = idOf(fields, "CallUUID", "call_uuid");
  const request = idOf(fields, "RequestUUID", "ALegRequestUUID") ?? idOf(queryOf(path), CALL_FIELD);
  const call_id = request ?? leg;
  if (call_id === null)
    malformed(
      "The callback names no call: CallUUID and RequestUUID are missing or malformed.",
      "CallUUID",
      "must name a call",
    );
  return { call_id, leg_id: request === null ? null : leg };
}

const VERDICTS: Record<string, AnsweredBy> = { true: "machine", false: "human" };

/** State of the call by its CallStatus; empty for an unknown word. An end implies the answer before it, whose own callback may be late or lost. */
function stepsOf(fields: Fields, call_id: string): CallProgress[] {
  const status = (fields.get("CallStatus") ?? "").toLowerCase();
  if (fields.get("Event") === "MachineDetection") return machineOf(fields, call_id);
  if (status === "queued" || status === "initiated") return [{ call_id, at: null, type: "queued" }];
  if (status === "ringing" || status === "early-media") return [{ call_id, at: null, type: "ringing" }];
  const answered_at = timeOf(fields.get("AnswerTime"));
  if (status === "in-progress") return [{ call_id, at: answered_at, type: "answered" }];
  const name = fields.get("HangupCauseName") ?? fields.get("HangupCause");
  const seconds = wholeOf(fields.get("Duration")) ?? wholeOf(fields.get("BillDuration"));
  // an inbound call ends as "completed" also where it was not answered
  const answered = status === "completed" && (answered_at !== null || seconds !== 0);
  const hangup = {
    status: status === "completed" && !answered ? "cancel" : status,
    code: wholeOf(fields.get("HangupCauseCode")),
    name,
    answered,
  };
  const end = endOf(hangup);
  if (end === null) return [];
  const over: CallProgress = {
    call_id,
    at: timeOf(fields.get("EndTime")),
    type: "ended",
    end,
    cause: causeOf(hangup),
    seconds: answered ? seconds : null,
    by: partyOf(fields.get("HangupSource"), hangup.code),
    said: wordsOf(hangup),
  };
  return answered && answered_at !== null ? [{ call_id, at: answered_at, type: "answered" }, over] : [over];
}

function machineOf(fields: Fields, call_id: string): CallProgress[] {
  const said = fields.get("Machine");
  return said === null
    ? []
    : [{ call_id, at: null, type: "machine", verdict: VERDICTS[said.toLowerCase()] ?? "unknown" }];
}

/** A recording as the Record API reports it (record_url, recording_id, …), or the Record element (RecordUrl, RecordingID, …). */
function recordingOf(fields: Fields): CarrierRecording | null {
  const recording_id = idOf(fields, "recording_id", "RecordingID");
  if (recording_id === null) return null;
  const url = fields.get("record_url") ?? fields.get("RecordUrl");
  return {
    recording_id,
    url,
    seconds: wholeOf(fields.get("recording_duration") ?? fields.get("RecordingDuration")),
    channels: null,
  };
}

const said = (text: string | null): string | null => text?.trim() || null;

/** A callback of Plivo in our words. */
export function translate(kind: CallbackKind, request: SignedRequest): Translated {
  const fields = fieldsOf(request);
  const { call_id, leg_id } = namesOf(fields, request.path);
  const about = { ...bareTranslation(call_id), leg_id };
  if (kind === "recording") return { ...about, recording: recordingOf(fields) };
  if (kind === "amd") return { ...about, progress: machineOf(fields, call_id) };
  if (kind === "turn")
    return { ...about, turn: { heard: said(fields.get("Speech")), digits: said(fields.get("Digits")) } };
  if (kind === "transfer") return about;
  if (kind === "stream")
    return {
      ...about,
      progress:
        fields.get("Event") === "DroppedStream"
          ? [{ call_id, at: null, type: "media_lost", reason: "the stream was dropped" }]
          : [],
    };
  const told = { ...about, progress: stepsOf(fields, call_id), cost: dollarsOf(fields.get("TotalCost")) };
  return kind === "answer" && streamIn(request.path) === null ? { ...told, turn: { heard: null, digits: null } } : told;
}

/** A number in E.164; null for one that is none (anonymous, a SIP address). */
const e164 = (text: string | null): string | null => {
  const [, digits] = NUMBER.exec(text?.trim() ?? "") ?? [];
  return digits === undefined ? null : `+${digits}`;
};

/** An inbound call; null where the callback reports its end. VALIDATION_FAILED. */
export function inboundOf(request: SignedRequest): InboundCall | null {
  const fields = fieldsOf(request);
  const { call_id, leg_id } = namesOf(fields, request.path);
  if (fields.get("Direction") === "outbound" || stepsOf(fields, call_id).some((step) => step.type === "ended"))
    return null;
  const to = e164(fields.get("To"));
  if (to === null)
    malformed("The call names none of our numbers: To is missing or no phone number.", "To", "must be a phone number");
  return { call_id, leg_id, from: e164(fields.get("From")), to };
}
