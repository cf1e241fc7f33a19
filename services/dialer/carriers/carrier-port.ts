import type { Readable } from "node:stream";
import type { CarrierEnd } from "../../../shared/contracts/records/attempt.ts";
import type { Prepared, XmlTurnReply } from "../../../shared/contracts/conversation.ts";
import type { RawCallback } from "../../../shared/contracts/dialer.ts";
import type { CarrierParty } from "../../../shared/hangup-source.ts";
import type { Env } from "../../../shared/process/env.ts";
import type { StreamDialect } from "../../../shared/contracts/records/stream-dialect.ts";

/** How long a dial request may take: longer ones count as "maybe placed". What is waited for after a lost answer is counted from it, so it is one for all carriers. */
export const DIAL_TIMEOUT_MS = 15_000;
/** How long any other request may take; asking and hanging up together fit into one reconciliation. */
export const ASK_TIMEOUT_MS = 8000;

/** The carriers there are adapters for. */
export type CarrierId = Exclude<Env["PROVIDER_ONE"], "none">;

/** AMD result as the carrier reports it. Fax machines count as `machine`. */
export type AnsweredBy = "human" | "machine" | "unknown";

/** Who ended a call, as carriers name them: the caller of an outbound call is our side, of an inbound one the person. */
export type HangupParty = CarrierParty | "caller";

/** One step of a call, in our words. `at`: the carrier's own time, null where it gives none (whole seconds at best). */
export type CallProgress = { call_id: string; at: string | null } & (
  | { type: "queued" }
  | { type: "ringing" }
  | { type: "answered" }
  | { type: "machine"; verdict: AnsweredBy }
  /** The voicemail greeting is over: a message is recorded from now on. */
  | { type: "beep" }
  /**
   * The carrier can't connect the media of the conversation, or they are over while the call goes on. Where the conversation has joined and lives it is
   * ignored: that sees it itself. `reason`: for people.
   */
  | { type: "media_lost"; reason: string }
  /** The carrier's session of a conversation that travels as text failed. `code`: the carrier's own. */
  | { type: "relay_failed"; code: string }
  /** `cause`: the network's own code for people to read; `seconds`: duration where known; `by`: who ended it, where the carrier says so; `said`: why, in the carrier's terms. */
  | {
      type: "ended";
      end: CarrierEnd;
      cause: string | null;
      seconds: number | null;
      by?: HangupParty | null;
      said?: CarrierWords;
    }
);

/** Why a call ended, in the carrier's own terms; only what it gave. `sip_code`: of the far end. */
export interface CarrierWords {
  sip_code?: number;
  carrier_code?: string;
  carrier_message?: string;
}

/** A call by the carrier's names: the one it was placed under, and the one of its live leg where that is another (Plivo); null while unknown. */
export interface CallHandle {
  call_id: string;
  leg_id: string | null;
}

/**
 * Media of an answered call: our WebSocket, its one-use token (the last part of the address), and how: `text`, the carrier speaking in this
 * manner, or `audio`, its audio stream.
 */
export interface MediaTarget {
  kind: Prepared["kind"];
  url: string;
  token: string;
  language: string;
  voice: string | null;
}

/** A request to ring a phone. Seconds are whole. */
export interface DialRequest {
  call_ref: string;
  to: string;
  from: string;
  /** How long the phone may ring. */
  ring_seconds: number;
  /** How long the call may last after the answer. */
  talk_seconds: number;
  media: MediaTarget;
  /** The carrier records the whole call, both sides apart, where it can be asked to in this request. */
  record: boolean;
  /** The carrier reports the end of a voicemail greeting too, for a message will be left. */
  await_beep: boolean;
  /** Address callbacks go to: `/<kind>/<call_ref>` is put behind it. */
  callback_base: string;
  /** Asked once the connection is there, right before the first byte leaves; false: nothing is sent, and the answer is `not_sent`. Absent: it may. */
  may_leave?: () => boolean;
}

/**
 * Result of a dial request. `not_placed`: nothing rang, for certain. `refused`: the carrier's final no to this number or request.
 * `uncertain`: it was sent, and whether the phone rings is unknown: it must never be sent again.
 * `not_sent`: `may_leave` said no, and no byte of the request left this process.
 * `credentials_refused`: the carrier does not know our account or its secret: no other request fares better until a person corrects them.
 */
export type DialAnswer =
  /** `queued_ms`: how long the carrier expects to keep the call waiting in its own queue. */
  | { kind: "placed"; call_id: string; queued_ms: number }
  | { kind: "not_placed"; retry_after_seconds: number | null; reason: string; credentials_refused?: true }
  | { kind: "refused"; invalid_number: boolean; carrier_code: string; reason: string }
  | { kind: "uncertain"; reason: string }
  | { kind: "not_sent" };

/** A call as the carrier shows it when asked: everything it went through, oldest step first. */
export interface CarrierCall {
  call_id: string;
  created_at: Date | null;
  live: boolean;
  progress: CallProgress[];
  cost: Price | null;
}

/** An amount of money in the currency's main unit, and the ISO code of the currency. */
export interface Price {
  amount: number;
  currency: string;
}

/** A recording as the carrier reports it. `url` null: there is none to fetch (absent, failed). */
export interface CarrierRecording {
  recording_id: string;
  url: string | null;
  seconds: number | null;
  channels: number | null;
}

/** What the caller did since the last document, for carriers that ask for a document after each turn. */
export interface CallerTurn {
  heard: string | null;
  digits: string | null;
}

/**
 * A translated callback. `sequence`: the carrier's own number of it, for detecting repeats; null where it has none. `leg_id`: the name of the
 * live leg, where the carrier has one beside the call's. `turn` is set for the kinds that are answered with what comes next; `recording` and
 * `cost` where the callback carries them.
 */
export interface Translated {
  call_id: string;
  leg_id: string | null;
  sequence: string | null;
  progress: CallProgress[];
  turn: CallerTurn | null;
  recording: CarrierRecording | null;
  cost: Price | null;
}

/** A translation with nothing in it but the call's name, to be overridden. */
export const bareTranslation = (call_id: string): Translated => ({
  call_id,
  leg_id: null,
  sequence: null,
  progress: [],
  turn: null,
  recording: null,
  cost: null,
});

/**
 * Kinds of callbacks; the word stands in the callback's path: `/carriers/<PROVIDER>/<kind>/<call_ref>`. `event`: everything of a carrier that sends all to one address.
 * `answer`, `turn`: asks for a document. `stream`: state of the conversation's audio stream. `transfer`: asks for the document of a transferred
 * call. `inbound`: an inbound call, `/carriers/<PROVIDER>/inbound/new` (the address set at the carrier's number or application).
 */
export const CALLBACK_KINDS = [
  "status",
  "amd",
  "relay-end",
  "recording",
  "event",
  "answer",
  "turn",
  "stream",
  "transfer",
  "inbound",
] as const;
export type CallbackKind = (typeof CALLBACK_KINDS)[number];

/** An inbound call. E.164; `from` null: withheld. */
export interface InboundCall {
  call_id: string;
  leg_id: string | null;
  from: string | null;
  to: string;
}

/**
 * Decision on an inbound call. `message`: what the caller hears first, in `language`. `connect`: to the conversation that waits at `media`; its callbacks go to `callback_base` with `call_ref`, as for
 * an outbound one.
 */
export type InboundDecision =
  | { kind: "reject"; message: string | null; language: string }
  | { kind: "redirect"; to: string; message: string | null; language: string }
  | {
      kind: "connect";
      call_ref: string;
      media: MediaTarget;
      callback_base: string;
      record: boolean;
      talk_seconds: number;
      greeting: XmlTurnReply | null;
    };

/** How a carrier reaches our side: its own speech over a WebSocket (text), or documents asked for after each turn. */
export type SpeechMode = "relay" | "turns";

/** What a carrier can do; the table in docs/carriers.md is compared with it and with what the suite has shown. */
export interface Capabilities {
  speech: SpeechMode;
  /** It detects voicemail (AMD). */
  machine_detection: boolean;
  /** It reports the end of a voicemail greeting. */
  beep: boolean;
  /** Recording: asked for in the dial request, by a command after the answer, or not at all. */
  recording: "dial" | "command" | "none";
  /** It reports who ended a call. */
  names_ender: boolean;
  /** It signs the upgrade of the WebSocket. */
  signs_upgrade: boolean;
  /** How DTMF is sent: by a command, or in the conversation's own channel. */
  dtmf: "command" | "media";
}

/** The document a carrier follows, or an empty answer. */
export interface AnswerDocument {
  content_type: string;
  body: string;
}

/** What a document is about: the callback's call and its path with query, as signed; addresses in the document begin with `callback_base`. */
export interface DocumentPlace {
  callback_base: string;
  call_ref: string;
  path: string;
}

/** What of an HTTP request its signature covers. */
export type SignedRequest = Pick<RawCallback, "method" | "path" | "headers" | "body">;

/** A recording being read from the carrier. `bytes` null: the carrier does not say how many. */
export interface RecordingStream {
  body: Readable;
  content_type: string;
  bytes: number | null;
}

/** One carrier. Every adapter passes the same suite; its words stay in its folder. */
export interface CarrierPort {
  readonly id: CarrierId;
  readonly capabilities: Capabilities;
  /** How its media stream works: passed to the conversation service with each call; absent: it has none. */
  readonly stream?: StreamDialect;
  /** Loads what is slow to load, so that no dial waits for it. */
  warm(): Promise<void>;
  /** Asks once, never twice; never throws. */
  dial(request: DialRequest): Promise<DialAnswer>;
  /** Ends a call; one that is over or unknown is no error. DEPENDENCY_DOWN when the carrier can't be reached. */
  hangUp(call: CallHandle, answered: boolean): Promise<void>;
  /** Connects a live call to another number. `callback`: where the carrier may ask for a document about it. DEPENDENCY_DOWN, CALL_REFUSED. */
  transfer(call: CallHandle, to: string, from: string, callback: { base: string; call_ref: string }): Promise<void>;
  /** Makes the carrier ask this address for the next document of a live call at once, whatever it does there; only carriers that are led by documents. DEPENDENCY_DOWN, CALL_REFUSED. */
  askAgain?(call: CallHandle, at: { base: string; call_ref: string; turn: number; language: string }): Promise<void>;
  /** Sends DTMF (0-9 * # w) to the callee, where capabilities.digits is "command". DEPENDENCY_DOWN, CALL_REFUSED. */
  sendDtmf(call: CallHandle, digits: string): Promise<void>;
  /** Begins to record the live call in two channels, where capabilities.recording is "command"; the callback gets its end. DEPENDENCY_DOWN, CALL_REFUSED. */
  record(call: CallHandle, how: { callback_base: string; call_ref: string; limit_seconds: number }): Promise<void>;
  /** Opens a recording for reading. RECORDING_NOT_FOUND when the carrier has it no more, RECORDING_NOT_READY when not yet, DEPENDENCY_DOWN. */
  openRecording(recording: CarrierRecording): Promise<RecordingStream>;
  /** The recordings the carrier has of a call, finished ones only (`url` null: it says that it made none). DEPENDENCY_DOWN when it can't be reached. */
  recordingsOf(call: CallHandle): Promise<CarrierRecording[]>;
  /** The call now; null: the carrier knows none of this id. DEPENDENCY_DOWN when it can't be reached. */
  fetch: (call: CallHandle) => Promise<CarrierCall | null>;
  /** The calls of an attempt whose answer was lost: by our reference where the carrier keeps it, else those between these numbers that were created in the span (both ends included, give or take the carrier's clock). DEPENDENCY_DOWN. */
  find(sought: { call_ref: string; to: string; from: string; since: Date; until: Date }): Promise<CarrierCall[]>;
  /** True where the account holds this number (E.164): calls may come in and go out over it. DEPENDENCY_DOWN when the carrier can't be asked. */
  holds(phone_number: string): Promise<boolean>;
  /** True when the carrier signed this request for this `ref`; `now` for carriers that sign the time. */
  verify(request: SignedRequest & Pick<RawCallback, "ref">, now: Date): boolean;
  /** True when the carrier signed this WebSocket upgrade, or when it signs none and the address's token must do. */
  verifyUpgrade(request: Pick<SignedRequest, "path" | "headers">): boolean;
  /** VALIDATION_FAILED when the callback lacks what every callback has. */
  translate(kind: CallbackKind, request: SignedRequest): Translated;
  /** What the carrier is answered to a callback of this kind; `reply` for those with a turn. */
  answerDocument(kind: CallbackKind, reply: XmlTurnReply | null, at: DocumentPlace): AnswerDocument;
  /** What ends the call politely where no conversation can be asked for the document of such a callback; null: that kind needs none. */
  farewellDocument(kind: CallbackKind, words: { sentence: string; language: string }): AnswerDocument | null;
  /** Reads an inbound call; null: this callback is not the beginning of one (a carrier that sends all to one address). VALIDATION_FAILED. */
  inbound(request: SignedRequest): InboundCall | null;
  /** Acts on an inbound call: by the document, or by commands and an empty document. DEPENDENCY_DOWN, CALL_REFUSED. */
  answerInbound(call: InboundCall, decision: InboundDecision): Promise<AnswerDocument>;
  /** For carriers that take commands: goes on with what settleInbound began (a message, then the end; the answer, then the transfer) when one of that call's callbacks says that it is time. To be called with every callback that was verified; others, and repeats, do nothing. DEPENDENCY_DOWN: the carrier is to call back again. */
  continueInbound?(request: SignedRequest): Promise<void>;
}

/** Address under which a provider's callbacks come in; `/<kind>/<call_ref>` is put behind it. */
export const callbackBase = ({ PUBLIC_HTTP_URL }: { PUBLIC_HTTP_URL: string }, provider: string): string =>
  `${PUBLIC_HTTP_URL}/carriers/${provider}`;
