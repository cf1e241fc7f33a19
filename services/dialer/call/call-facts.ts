import { plusSeconds } from "../../../shared/time/clock.ts";
import type {
  AttemptFacts,
  CarrierEnd,
  ConversationFacts,
  HangupSource,
} from "../../../shared/contracts/records/attempt.ts";
import type { CallEndEvidence } from "../../../shared/contracts/dialer.ts";
import { hangupSourceOf, type CarrierParty, type HangUpReason } from "../../../shared/hangup-source.ts";
import type { CallDoc } from "./calls.model.ts";
import { CARRIER_LIMIT_MARGIN_SECONDS } from "./call-deadlines.ts";

/** Why we hung up before a conversation, as the lead's record says it. Hang-ups that are part of a normal end are not listed. */
const SAID: Partial<Record<HangUpReason, { code: string; message: string }>> = {
  window_closed: {
    code: "WINDOW_CLOSED",
    message: "The calling window closed before the call was answered and joined; the call was ended.",
  },
  baton_lost: { code: "BATON_LOST", message: "The lead went on without this attempt; the call was ended." },
  media_missing: {
    code: "MEDIA_MISSING",
    message: "The call was answered, but the carrier never connected its media; the call was ended.",
  },
  media_failed: {
    code: "MEDIA_FAILED",
    message:
      "The call was answered, but the carrier could not connect its sound to the conversation service; the call was ended.",
  },
  not_begun: {
    code: "NOT_BEGUN",
    message: "The call was answered, but its conversation could not begin in time; it was ended with a goodbye.",
  },
  aborted: { code: "ABORTED", message: "The lead was aborted; the call was ended." },
  overdue: { code: "CALL_OVERDUE", message: "The call outlived its longest length; it was ended." },
};

const LOST = { code: "CONVERSATION_LOST", message: "The process that led the talk went silent; the call was ended." };

/** The error of an attempt whose conversation lost its lease owner. */
export const conversationLost = (): Record<string, unknown> => ({ ...LOST });

/** Ends of an inbound call that only say that the caller left before a conversation. */
const LEFT_EARLY: readonly CarrierEnd[] = ["no_answer", "busy", "rejected", "canceled"];

function endOf(call: CallDoc): CarrierEnd {
  const said = call.ended ?? "unknown";
  const ended = call.direction === "INBOUND" && LEFT_EARLY.includes(said) ? "completed" : said;
  if (ended !== "completed") return ended;
  const limit = (call.order?.max_call_seconds ?? Infinity) + CARRIER_LIMIT_MARGIN_SECONDS;
  if ((call.talk_seconds ?? 0) >= limit) return "time_limit";
  // answered outside the window: the customer did not end a conversation
  return call.hang_up === "window_closed" && call.holder === undefined ? "canceled" : ended;
}

/** The answer time: as reported, else the end less the duration. */
function answeredAt(call: CallDoc): Date | null {
  if (call.answered_at) return call.answered_at;
  return call.ended === "completed" && call.ended_at && call.talk_seconds !== undefined
    ? plusSeconds(call.ended_at, -call.talk_seconds)
    : null;
}

/** The carrier's word of who ended it, the person being the callee whoever called. A caller who leaves before the answer needs no word. */
function carrierParty({ direction, ended, ended_by }: CallDoc): CarrierParty | null {
  const inbound = direction === "INBOUND";
  if (ended_by === "caller") return inbound ? "callee" : "we";
  if (ended_by === "callee") return inbound ? "we" : "callee";
  return ended_by ?? (inbound && ended !== undefined && LEFT_EARLY.includes(ended) ? "callee" : null);
}

/** What is known of a call's end, our own requests only as far as they came before it. */
export const endEvidenceOf = (call: CallDoc): CallEndEvidence => ({
  end: call.ended === undefined ? null : endOf(call),
  carrier: carrierParty(call),
  asked: call.media_end === undefined ? (call.hang_up ?? null) : null,
  ...(call.media_fault === undefined ? {} : { media_fault: call.media_fault }),
});

/** An error by which a conversation was cut off says nothing of who ended the call. */
const CUT_OFF = "TALK_CUT_OFF";
const isCutOff = ({ errors }: ConversationFacts): boolean => errors.some((error) => error["code"] === CUT_OFF);

/** Who ended a call. `talk`: what its conversation left, null where there was none. */
export function callHangupSource(call: CallDoc, talk: ConversationFacts | null): HangupSource {
  const { end, ...evidence } = endEvidenceOf(call);
  return hangupSourceOf({
    ...evidence,
    end: end ?? "unknown",
    answered: answeredAt(call) !== null || call.holder !== undefined || talk !== null,
    media: call.media_end ?? null,
    talk: talk === null || isCutOff(talk) ? null : talk.ended_by,
  });
}

/** Ends that are no clean run, and what the lead's record says of them where nothing else is known. */
const FAILED_ENDS: Partial<Record<CarrierEnd, { code: string; message: string }>> = {
  failed: { code: "CALL_FAILED", message: "The carrier reported that the call failed." },
  rejected: { code: "CALL_REJECTED", message: "The callee's side rejected the call." },
  invalid_number: { code: "INVALID_NUMBER", message: "The carrier reported that the number can't be called." },
  unknown: { code: "PLACEMENT_UNKNOWN", message: "The carrier could not say what became of the call." },
};

/** What went wrong with a call, with what the carrier said of it; null on a clean run. */
function errorOf(call: CallDoc): Record<string, unknown> | null {
  const error = call.error ?? (call.hang_up ? SAID[call.hang_up] : undefined) ?? FAILED_ENDS[endOf(call)];
  if (!error) return null;
  return { ...error, ...call.said, ...(call.cause === undefined ? {} : { cause: call.cause }) };
}

/** All facts of an ended call, for leads to judge. `talk`: the conversation's facts, null when no media joined. */
export function factsOf(call: CallDoc, talk: ConversationFacts | null): AttemptFacts {
  return {
    ended: endOf(call),
    call_id: call.carrier_call_id ?? null,
    started_at: (call.placed_at ?? call.created_at).toISOString(),
    answered_at: answeredAt(call)?.toISOString() ?? null,
    ended_at: call.ended_at?.toISOString() ?? null,
    machine: call.machine === "machine",
    talk,
    dropped_as: null,
    error: errorOf(call),
    ...(call.ended === "not_dialled" ? {} : { hangup_source: callHangupSource(call, talk) }),
    pre_check_results: [],
  };
}

/** A carrier's whole seconds can put a step up to this long before or after our own clock's instant; within it ours is taken. */
const CARRIER_CLOCK_GRAIN_MS = 2000;

/** When a step happened: the carrier's time for reports that come late, ours for those that come at once (it is finer). Never later than `received`. */
export function momentOf(carrier_time: string | null, received: Date): Date {
  const said = carrier_time === null ? received : new Date(carrier_time);
  return said.getTime() < received.getTime() - CARRIER_CLOCK_GRAIN_MS ? said : received;
}
