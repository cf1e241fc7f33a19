import type { CarrierEnd, EndedBy, HangupSource } from "./contracts/records/attempt.ts";

/** Why we ended a call ourselves. The first four are part of a normal course, the others say that something went wrong. */
export const HANG_UP_REASONS = [
  /** The conversation, or the end of its attempt, asked for it. */ "asked",
  /** Voicemail answered, and is hung up on. */ "machine",
  /** The calling window closed before the call was answered and joined. */ "window_closed",
  /** The lead was aborted. */ "aborted",
  /** The lead went on without this attempt. */ "baton_lost",
  /** The carrier never connected its media. */ "media_missing",
  /** The carrier could not connect its media. */ "media_failed",
  /** The conversation could not begin in time: the callee heard a goodbye. */ "not_begun",
  /** The call outlived its longest length. */ "overdue",
  /** The process that led the conversation is gone. */ "conversation_lost",
  /** The conversation can't go on: its models fail, or a step of ours did. */ "conversation_failed",
  /** Speech synthesis or recognition is gone. */ "speech_failed",
  /** The process that led the conversation shut down. */ "shutdown",
] as const;
export type HangUpReason = (typeof HANG_UP_REASONS)[number];

/** Reasons of ours that are part of a normal course. */
export const NORMAL_REASONS: readonly string[] = [
  "asked",
  "machine",
  "window_closed",
  "aborted",
] satisfies HangUpReason[];

/** What follows from who ended an answered call: the rows of the table in docs/reliability.md, each with the contract's word (metaData.call_ended_by). */
export const CALL_ENDED_BY = {
  callee: "customer",
  agent: "agent",
  timeout: "timeout",
  "we, in the normal course": "agent",
  "we, for another reason": "error",
  carrier: "error",
  unknown: "error",
} as const satisfies Record<string, EndedBy>;

/** The row of an end. */
export function endRowOf({ by, reason }: HangupSource): keyof typeof CALL_ENDED_BY {
  if (by !== "we") return by;
  return reason !== null && NORMAL_REASONS.includes(reason) ? "we, in the normal course" : "we, for another reason";
}

/** Who ended the call by the carrier's own word. `callee`: the person, also one who called us. `we`: our request, our document, or our side of the media. */
export const CARRIER_PARTIES = ["callee", "we", "timeout", "carrier"] as const;
export type CarrierParty = (typeof CARRIER_PARTIES)[number];

/** How the carrier's side of the media ended before any end of ours: closed in order, broken off, or lost while this process stood still, which says nothing. */
export const MEDIA_ENDS = ["closed", "broken", "lost"] as const;
export type MediaEnd = (typeof MEDIA_ENDS)[number];

/** What is known of a call's end. */
export interface HangupEvidence {
  /** The call was answered. */
  answered: boolean;
  /** How the carrier's side ended. */
  end: CarrierEnd;
  /** The carrier's word of who ended it; null: it gives none, or none has come. */
  carrier: CarrierParty | null;
  /** Our request that came before the end. */
  asked: HangUpReason | null;
  /** What the conversation saw of the media; null: nothing, or it had ended the call by then. */
  media: MediaEnd | null;
  /** How the conversation ended; null: there was none, or it was cut off. */
  talk: EndedBy | null;
}

const by = (party: HangupSource["by"], reason: HangUpReason | null = null): HangupSource => ({ by: party, reason });

/** Who ended a call that nobody answered, by how the carrier says it ended. A canceled one is ours where we asked for it. */
const UNANSWERED: Record<CarrierEnd, HangupSource["by"]> = {
  no_answer: "timeout",
  time_limit: "timeout",
  busy: "callee",
  rejected: "callee",
  invalid_number: "carrier",
  failed: "carrier",
  canceled: "unknown",
  completed: "unknown",
  unknown: "unknown",
  not_dialled: "we",
};

function ofUnanswered({ end, carrier, asked }: HangupEvidence): HangupSource {
  if (carrier !== null && carrier !== "we") return by(carrier);
  const party = UNANSWERED[end];
  if (asked !== null && (party === "unknown" || party === "we")) return by("we", asked);
  return carrier === "we" && party === "unknown" ? by("we") : by(party);
}

/**
 * Who ended a call, from evidence alone: what nothing speaks for is `unknown`. The conversation's own end counts first, for the call only ended after it;
 * then the carrier's word; then what we asked for before the end; then what the media showed. Pure.
 */
export function hangupSourceOf(evidence: HangupEvidence): HangupSource {
  const { answered, end, carrier, asked, media, talk } = evidence;
  if (!answered) return ofUnanswered(evidence);
  if (talk === "agent" || talk === "timeout") return by(talk);
  if (carrier === "we") return by("we", asked);
  if (carrier !== null) return by(carrier);
  if (end === "time_limit") return by("timeout");
  if (asked !== null) return by("we", asked);
  if (media === "closed" || media === "broken") return by(media === "closed" ? "callee" : "carrier");
  return talk === "error" ? by("we", "conversation_failed") : by("unknown");
}
