import type { CarrierEnd } from "../../../shared/contracts/attempt.ts";
import type { RawCallback } from "../../../shared/contracts/dialer.ts";

/** Who or what picked up, as the carrier's own detector sees it. Fax machines count as machines. */
export type AnsweredBy = "human" | "machine" | "unknown";

/** One step of a call, in our words. `at`: the carrier's own time, null where it gives none (seconds at best: voice.md 1.1). */
export type CallProgress = { call_id: string; at: string | null } & (
  | { type: "queued" }
  | { type: "ringing" }
  | { type: "answered" }
  | { type: "machine"; verdict: AnsweredBy }
  /** `cause`: the network's own code for people to read; `seconds`: talk time where known. */
  | { type: "ended"; end: CarrierEnd; cause: string | null; seconds: number | null }
);

/** A request to ring a phone. Seconds are whole. */
export interface DialRequest {
  call_ref: string;
  to: string;
  from: string;
  /** How long the phone may ring. */
  ring_seconds: number;
  /** How long the call may last after the answer. */
  talk_seconds: number;
  /** Where the carrier connects the answered call to, and how it is to speak there. */
  media: { url: string; language: string; voice: string | null };
  /** Address callbacks go to: `/<kind>/<call_ref>` is put behind it. */
  callback_base: string;
}

/**
 * What became of a dial request. `not_placed`: nothing rang, for certain. `refused`: the carrier's final no to this number or request.
 * `uncertain`: it was sent, and nobody can tell whether the phone rings: it must never be sent again.
 */
export type DialAnswer =
  /** `queued_ms`: how long the carrier expects to keep the call waiting in its own queue. */
  | { kind: "placed"; call_id: string; queued_ms: number }
  | { kind: "not_placed"; retry_after_seconds: number | null; reason: string }
  | { kind: "refused"; invalid_number: boolean; carrier_code: string; reason: string }
  | { kind: "uncertain"; reason: string };

/** A call as the carrier shows it when asked: everything it went through, oldest step first. */
export interface CarrierCall {
  call_id: string;
  created_at: Date | null;
  live: boolean;
  progress: CallProgress[];
  cost: { amount: number; currency: string } | null;
}

/** A callback put into our words. `sequence`: the carrier's own number of it, for telling repeats; null where it has none. */
export interface Translated { call_id: string; sequence: string | null; progress: CallProgress[] }

/** Kinds of callbacks that dial requests ask for; the word stands in the callback's path. */
export const CALLBACK_KINDS = ["status", "amd", "relay-end"] as const;
export type CallbackKind = (typeof CALLBACK_KINDS)[number];

/** The document a carrier follows, or an empty answer. */
export interface AnswerDocument { content_type: string; body: string }

/** What of an HTTP request its signature covers. */
export type SignedRequest = Pick<RawCallback, "method" | "path" | "headers" | "body">;

/** One carrier. Every adapter passes the same suite; its words stay in its folder. */
export interface CarrierPort {
  readonly id: string;
  readonly capabilities: { /** The carrier does speech itself. */ relay: boolean; /** It tells machines from people. */ machine_detection: boolean };
  /** Loads what is slow to load, so that no dial waits for it. */
  warm(): Promise<void>;
  /** Asks once, never twice; never throws. */
  dial(request: DialRequest): Promise<DialAnswer>;
  /** Ends a call; one that is over or unknown is no fault. DEPENDENCY_DOWN when the carrier can't be reached. */
  hangUp(call_id: string, answered: boolean): Promise<void>;
  /** Connects a live call to another number. DEPENDENCY_DOWN, CALL_REFUSED. */
  transfer(call_id: string, to: string, from: string): Promise<void>;
  /** The call now; null: the carrier knows none of this id. DEPENDENCY_DOWN when it can't be reached. */
  fetch(call_id: string): Promise<CarrierCall | null>;
  /** Calls between these numbers that were created in the span (both ends included, give or take the carrier's clock). DEPENDENCY_DOWN. */
  find(sought: { to: string; from: string; since: Date; until: Date }): Promise<CarrierCall[]>;
  /** True when the carrier signed this request. */
  verify(request: SignedRequest): boolean;
  /** True when the carrier signed this WebSocket upgrade. */
  verifyUpgrade(request: Pick<SignedRequest, "path" | "headers">): boolean;
  /** VALIDATION_FAILED when the callback lacks what every callback has. */
  translate(kind: CallbackKind, request: SignedRequest): Translated;
  /** What the carrier is answered to a callback of this kind. */
  answerDocument(kind: CallbackKind): AnswerDocument;
}
