import type { CallProgress, CarrierCall, CarrierRecording } from "../carrier-port.ts";
import { causeOf, dollarsOf, endOf, partyOf, timeOf, wordsOf } from "./hangup-causes.ts";
import { listOf, textOf, wholeOf } from "../json.ts";
import { isRecord } from "../../../../shared/json.ts";
import type { Answer } from "./rest.ts";

/** A call as Plivo shows it, with the name of its leg; null: it has none yet. `call.call_id` is the request's name where Plivo shows it. */
export interface SeenCall {
  leg_id: string | null;
  call: CarrierCall;
}

const dateOf = (iso: string | null): Date | null => (iso === null ? null : new Date(iso));

/** A call that is over (RetrieveCallResponse, an object of ListAllCallsResponse). Its record no longer names the request: `call_id` does. */
export function endedCall(record: Answer, call_id: string): SeenCall {
  const answered_at = timeOf(record["answer_time"]);
  const hangup = {
    status: textOf(record["call_state"]),
    code: wholeOf(record["hangup_cause_code"]),
    name: textOf(record["hangup_cause_name"]),
    answered: answered_at !== null,
  };
  const end =
    endOf({ ...hangup, status: answered_at === null ? hangup.status : null }) ??
    endOf({ ...hangup, status: null }) ??
    "failed";
  const seconds = answered_at === null ? null : (wholeOf(record["bill_duration"]) ?? wholeOf(record["call_duration"]));
  const progress: CallProgress[] = answered_at === null ? [] : [{ call_id, at: answered_at, type: "answered" }];
  const by = partyOf(textOf(record["hangup_source"]), hangup.code);
  const at = timeOf(record["end_time"]);
  progress.push({ call_id, at, type: "ended", end, cause: causeOf(hangup), seconds, by, said: wordsOf(hangup) });
  return {
    leg_id: textOf(record["call_uuid"]),
    call: {
      call_id,
      created_at: dateOf(timeOf(record["initiation_time"])),
      live: false,
      progress,
      cost: dollarsOf(record["total_amount"]),
    },
  };
}

/** A call under way (GetLiveCallResponse). */
export function liveCall(record: Answer, asked_id: string): SeenCall {
  const leg_id = textOf(record["call_uuid"]) ?? asked_id;
  const call_id = textOf(record["request_uuid"]) ?? leg_id;
  const type = record["call_status"] === "in-progress" ? "answered" : "ringing";
  return {
    leg_id,
    call: {
      call_id,
      created_at: dateOf(timeOf(record["session_start"])),
      live: true,
      progress: [{ call_id, at: null, type }],
      cost: null,
    },
  };
}

/** A call that waits in Plivo's own queue (GetQueuedCallResponse). */
export function queuedCall(record: Answer, asked_id: string): SeenCall {
  const call_id = textOf(record["request_uuid"]) ?? asked_id;
  return {
    leg_id: null,
    call: { call_id, created_at: null, live: true, progress: [{ call_id, at: null, type: "queued" }], cost: null },
  };
}

/** The names in a listing of live or queued calls. */
export const namesIn = (listing: Answer): string[] =>
  listOf(listing["calls"]).filter((name) => typeof name === "string");

/** The records in a listing of calls that are over. */
export const recordsIn = (listing: Answer): Answer[] => listOf(listing["objects"]).filter(isRecord);

/** True when the record's numbers are these; Plivo writes them with or without the plus. */
export function isBetween(record: Answer, from: string, to: string): boolean {
  const digits = (value: unknown): string => (typeof value === "string" ? value.replace(/\D/g, "") : "");
  return (
    digits(record["from"] ?? record["from_number"]) === digits(from) &&
    digits(record["to"] ?? record["to_number"]) === digits(to)
  );
}

/** A recording of a listing; null while it is still being made: Plivo gives its length (as text, "3000.00000") when it is done. */
export function recordingIn(record: Answer): CarrierRecording | null {
  const [recording_id, url] = [textOf(record["recording_id"]), textOf(record["recording_url"])];
  const ms = Number(record["recording_duration_ms"] ?? Number.NaN);
  return recording_id === null || url === null || !(ms > 0)
    ? null
    : { recording_id, url, seconds: Math.round(ms / 1000), channels: null };
}
